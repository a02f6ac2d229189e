"""The running lab, for all tests of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.images.engine import EngineError, prepare
from tests.lab import access, containers, lab
from tests.lab.site import LabSite, read_site


@pytest.fixture(scope="session")
def site() -> Iterator[LabSite]:
    """Return the site of a running lab, and leave the machine as it was found."""
    try:
        prepare()
        was_up = bool(containers.ids())
        lab.up(print)
    except (EngineError, FileNotFoundError) as error:
        pytest.skip(f"this machine cannot run the lab: {error}")
    yield read_site()
    if not was_up:
        lab.down(print)


@pytest.fixture
def head(site: LabSite) -> Callable[[str], str]:
    """Return `head(command)`: what the command prints on the controller, which must succeed."""

    def run(command: str) -> str:
        done = access.run(site.controllers[0], command)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    return run
