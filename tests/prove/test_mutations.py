"""Random edits of rendered files, of a fixed seed: what is read, what the hash alone sees."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.mutations.bench import Tree, outcomes, trees

OTHERS = ("eos", "frr", "nvue", "sonic")
"""Systems of Ethernet switches: their readers have a bench of their own here."""
NETBOX = "exports/netbox/"


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Tree]:
    return trees(tmp_path_factory.mktemp("mutations"))


def test_fresh_trees_have_no_finding(rendered: Mapping[str, Tree]) -> None:
    assert {name: tree.before for name, tree in rendered.items() if tree.before} == {}


def test_edits_that_change_a_meaning_are_found(rendered: Mapping[str, Tree]) -> None:
    found = list(outcomes(rendered, seed=11, count=300))
    assert [o for o in found if o.seen in ("missed", "broken")] == []
    read = [o for o in found if o.seen == "reading"]
    assert len(read) >= 0.95 * len(found), [o for o in found if o.seen != "reading"]


def test_harmless_edits_are_not_reported(rendered: Mapping[str, Tree]) -> None:
    found = list(outcomes(rendered, seed=12, count=100, harmless=True))
    assert [o for o in found if o.seen != "quiet"] == []
