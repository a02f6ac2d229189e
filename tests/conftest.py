"""Fixtures for every test."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import settings

from fireflyer.design import design
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric

REPO = Path(__file__).parents[1]
# A busy machine is no fault of the code, so no example has a deadline. Where others wait for
# the result, the same examples are tried each time.
settings.register_profile("any", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "any")
MakeSite = Callable[..., Path]
"""Called with a base site and changes by dotted key, it returns a site folder."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that rewrites golden files."""
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden/")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Return `check(path, text)`: text must equal the file at tests/golden/path."""

    def check(path: str, text: str) -> None:
        file = REPO / "tests" / "golden" / path
        if request.config.getoption("--update-golden"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        assert text == file.read_text(), f"{path} changed; if meant: pytest --update-golden"

    return check


def changed(intent: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Set dotted keys of an intent; a value of None removes the key."""
    for key, value in changes.items():
        *parents, last = key.split(".")
        found: Any = intent
        for part in parents:
            found = found[int(part)] if isinstance(found, list) else found[part]
        if value is None:
            del found[last]
        elif isinstance(found, list):
            found[int(last)] = value
        else:
            found[last] = value
    return intent


def make_site_in(folder: Path, base: str, changes: Mapping[str, Any], name: str = "site") -> Path:
    """Write a site folder: the intent of `base` with changes."""
    source = REPO / "inventory" / base / "group_vars" / "all" / "cluster.yml"
    intent = changed(yaml.safe_load(source.read_text()), changes)
    site = folder / name
    target = site / "group_vars" / "all" / "cluster.yml"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(yaml.safe_dump(intent, sort_keys=False))
    return site


@pytest.fixture
def make_site(tmp_path: Path) -> MakeSite:
    """Return a maker of sites in a folder of this test."""

    def make(base: str, changes: Mapping[str, Any] | None = None, name: str = "site") -> Path:
        return make_site_in(tmp_path, base, changes or {}, name)

    return make


@pytest.fixture(scope="session")
def fire_flyer_2() -> Fabric:
    """Return the fabric of Fire-Flyer 2."""
    return design(load_site(REPO / "inventory" / "fire-flyer-2"))


@pytest.fixture(scope="session")
def lab() -> Fabric:
    """Return the fabric of the lab."""
    return design(load_site(REPO / "inventory" / "lab"))
