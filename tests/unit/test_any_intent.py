"""What `plan` accepts, `render` accepts; what is invalid is refused: intents of every shape."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from tests.any_intent import CATALOGUE, as_text, intents, written
from tests.invalid_intent import invalid_texts

from fireflyer.cli import main

EVERY = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@pytest.fixture(scope="module", autouse=True)
def catalogue_read_once() -> Iterator[None]:
    """Do not read the hardware files for every example: they are the same."""
    with patch("fireflyer.load.site.load_catalogue", lambda: CATALOGUE):
        yield


def run(*arguments: str) -> tuple[int, str, str]:
    """Run a verb in this process; what it prints comes back."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main(arguments)
    return status, out.getvalue(), err.getvalue()


@settings(max_examples=200, suppress_health_check=EVERY)
@given(intents())
def test_a_valid_intent_is_planned_and_rendered(cluster: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        site = written(Path(folder), as_text(cluster))
        status, _, said = run("plan", str(site))
        assert status == 0, said
        status, _, said = run("render", str(site), "--out", f"{folder}/tree")
        assert status == 0, said
        assert (Path(folder) / "tree" / "manifest.json").is_file()


@settings(max_examples=200, suppress_health_check=EVERY)
@given(invalid_texts())
def test_an_invalid_intent_is_refused_and_nothing_is_written(fault: tuple[str, bytes]) -> None:
    kind, text = fault
    with tempfile.TemporaryDirectory() as folder:
        site = written(Path(folder), text)
        before = sorted(Path(folder).rglob("*"))
        status, out, said = run("render", str(site), "--out", f"{folder}/tree")
        assert (status, out) == (2, ""), f"{kind}: {said}"
        assert sorted(Path(folder).rglob("*")) == before
    *errors, end = said.splitlines()
    assert end == f"{len(errors)} problem(s); nothing was written"
    for line in errors:
        assert line.startswith(f"error: {site}/group_vars/all/cluster.yml:"), line
