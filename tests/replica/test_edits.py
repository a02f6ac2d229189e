"""The edits of the mutation bench beside these tests, `tests.mutations_replica`, still fit."""

from __future__ import annotations

import ast

import pytest
from tests.mutations_replica.edits import HARMLESS, MEANING
from tests.stacks import PULUMI


def test_there_are_enough_edits_and_each_is_another() -> None:
    assert len(MEANING) >= 60
    assert len(set(MEANING + HARMLESS)) == len(MEANING + HARMLESS)


@pytest.mark.parametrize("edit", MEANING + HARMLESS)
def test_an_edit_fits_the_program(edit: tuple[str, str, str]) -> None:
    file, old, new = edit
    text = (PULUMI / "infra" / file).read_text()
    assert text.count(old) == 1
    ast.parse(text.replace(old, new))
