"""A browser for the tests of the report, and pages to open in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.report.chromium import BINARY, Page, chromium

from fireflyer.model.fabric import Fabric
from fireflyer.render import report

WritePage = Callable[[Fabric], Path]


@pytest.fixture(scope="session")
def page() -> Iterator[Page]:
    """Return a tab of a headless Chromium."""
    if BINARY is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    with chromium() as opened:
        opened.size(1440, 1000)
        yield opened


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> WritePage:
    """Return `write(fabric)`, which renders a fabric's report once and returns its file."""
    folder = tmp_path_factory.mktemp("report")

    def write(fabric: Fabric) -> Path:
        file = folder / f"{fabric.intent.name}.html"
        if not file.exists():
            file.write_text(report.files(fabric)["report.html"])
        return file

    return write
