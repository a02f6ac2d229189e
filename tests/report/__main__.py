"""Time the opening of each site's report: `python -m tests.report [SITE...]`.

Prints figures and asserts nothing: the machine may be busy.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.conftest import REPO
from tests.report.chromium import BINARY, Page, chromium

from fireflyer.design import design
from fireflyer.load import load_site
from fireflyer.render import report

SITES = ("lab", "fire-flyer-2", "fire-flyer-roce", "three-layer-1600", "next-gen")
RUNS = 5


def timed(page: Page, file: Path, view: str) -> float:
    """Return the median time in seconds from asking for a page to having it drawn."""
    found = []
    for _ in range(RUNS):
        start = time.monotonic()
        page.open(file, view)
        page.run("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        found.append(time.monotonic() - start)
    return statistics.median(found)


def main(sites: list[str]) -> None:
    """Print a row for each site."""
    if BINARY is None:
        raise SystemExit("chromium is not installed: apt-get install chromium")
    views = ("fabric", "racks", "cables")
    print(f"{'site':<18}{'render CPU s':>14}{'KiB':>8}" + "".join(f"{v + ' s':>10}" for v in views))
    with tempfile.TemporaryDirectory() as folder, chromium() as page:
        page.size(1440, 1000)
        for site in sites:
            fabric = design(load_site(REPO / "inventory" / site))
            start = time.process_time()
            text = report.files(fabric)["report.html"]
            spent = time.process_time() - start
            file = Path(folder) / f"{site}.html"
            file.write_text(text)
            times = "".join(f"{timed(page, file, view):>10.2f}" for view in views)
            print(f"{site:<18}{spent:>14.2f}{len(text.encode()) / 1024:>8.0f}{times}")


if __name__ == "__main__":
    main(sys.argv[1:] or list(SITES))
