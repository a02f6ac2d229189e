"""The pages name what there is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel
from tests.conftest import REPO

from fireflyer.load.typed import record_in
from fireflyer.model.intent import Cluster
from fireflyer.model.replica import ReplicaFile

PAGES = sorted([REPO / "README.md", REPO / "CONTRIBUTING.md", *(REPO / "docs").rglob("*.md")])


def keys(record: type[BaseModel]) -> Iterator[str]:
    """Yield every key of an intent."""
    for name, field in record.model_fields.items():
        yield name
        if (inner := record_in(field.annotation)) is not None:
            yield from keys(inner)


def test_every_key_of_an_intent_is_explained() -> None:
    page = (REPO / "docs" / "intent.md").read_text()
    assert [key for key in keys(Cluster) if f"`{key}`" not in page] == []


def test_every_key_of_a_replica_is_explained() -> None:
    page = (REPO / "docs" / "replica.md").read_text()
    page = re.sub(r"```.*?```", "", page, flags=re.DOTALL)
    named = set(re.findall(r"[a-z_]+", " ".join(re.findall(r"`[^`]+`", page))))
    assert [key for key in keys(ReplicaFile) if key not in named] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target
