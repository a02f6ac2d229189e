"""Time the whole commands against their limits: `python -m tests.bench.render`.

Prints figures and asserts nothing: the machine may be busy.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.bench.measure import Run, load, median, run
from tests.conftest import REPO, make_site_in

RUNS = 5
LIMITS: dict[str, tuple[str, float, float]] = {
    "plan fire-flyer-2": ("plan", 2.0, 300.0),
    "render fire-flyer-2": ("render", 1.0, 300.0),
    "render next-gen": ("render", 5.0, 500.0),
    "prove fire-flyer-2": ("prove", 60.0, 1024.0),
}
"""Verb, seconds of wall time and MiB of memory, interpreter start and files included."""
RATIO_LIMIT = 2.2
"""Of the time for a fabric to that for its half."""
HALF: dict[str, Any] = {
    "cluster.fabric.planes": 2,
    "cluster.compute.nodes": 2048,
    "cluster.addresses.roce": ["10.16.0.0/16", "10.17.0.0/16"],
}
"""Two of next-gen's planes with half its nodes: half of every count."""


def main() -> None:
    """Print a row for each command, and what doubling a fabric costs."""
    program = str(Path(sys.executable).with_name("fireflyer"))
    print(load())
    print(f"{'command':<22}{'runs':>5}{'wall s':>8}{'of limit':>10}{'CPU s':>8}", end="")
    print(f"{'MiB':>7}{'of limit':>10}")
    with tempfile.TemporaryDirectory() as folder:

        def timed(verb: str, site: Path, runs: int, *, memory: bool) -> Run:
            out = str(Path(folder) / "out" / site.name)
            options = {"render": ["--out", out], "prove": ["--artefacts", out]}.get(verb, [])
            command = [program, verb, str(site), *options]
            return median([run(command, memory=memory) for _ in range(runs)])

        for name, (verb, limit_s, limit_mib) in LIMITS.items():
            site = REPO / "inventory" / name.split()[1]
            runs = 1 if verb == "prove" else RUNS
            found = timed(verb, site, runs, memory=False)
            most = timed(verb, site, 1, memory=True).memory_mib
            print(
                f"{name:<22}{runs:>5}{found.wall_s:>8.2f}{found.wall_s / limit_s:>10.2f}"
                f"{found.cpu_s:>8.2f}{most:>7.0f}{most / limit_mib:>10.2f}"
            )
        half = make_site_in(Path(folder), "next-gen", HALF, name="half")
        small = timed("render", half, RUNS, memory=False)
        large = timed("render", REPO / "inventory" / "next-gen", RUNS, memory=False)
    ratio = large.wall_s / small.wall_s
    print(
        f"doubling: {small.wall_s:.2f} s to {large.wall_s:.2f} s, a ratio of {ratio:.2f},"
        f" {ratio / RATIO_LIMIT:.2f} of the limit"
    )
    print(load())


if __name__ == "__main__":
    main()
