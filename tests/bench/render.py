"""Time the whole commands against their limits: `python -m tests.bench.render`.

Prints figures and asserts nothing: the machine may be busy.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.conftest import REPO

SITE = str(REPO / "inventory" / "fire-flyer-2")
RUNS = 5
LIMITS = {"plan": (2.0, 300.0), "render": (2.0, 300.0), "prove": (60.0, 1024.0)}
"""Seconds of wall time and MiB of memory."""


def measure(command: list[str]) -> tuple[float, float]:
    """Return the wall time in seconds and the peak memory in MiB of one run."""
    start = time.monotonic()
    child = os.posix_spawn(
        command[0],
        command,
        dict(os.environ),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ],
    )
    _, status, usage = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"{' '.join(command)} failed")
    return time.monotonic() - start, usage.ru_maxrss / 1024


def main() -> None:
    """Print a row for each verb."""
    program = str(Path(sys.executable).with_name("fireflyer"))
    print(f"{'verb':<8}{'runs':>5}{'wall s':>9}{'of limit':>10}{'MiB':>8}{'of limit':>10}")
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/out"
        for verb, (limit_s, limit_mib) in LIMITS.items():
            options = {"render": ["--out", out], "prove": ["--artefacts", out]}.get(verb, [])
            runs = 1 if verb == "prove" else RUNS
            found = [measure([program, verb, SITE, *options]) for _ in range(runs)]
            wall = statistics.median(seconds for seconds, _ in found)
            memory = max(mib for _, mib in found)
            print(
                f"{verb:<8}{runs:>5}{wall:>9.2f}{wall / limit_s:>10.2f}"
                f"{memory:>8.0f}{memory / limit_mib:>10.2f}"
            )


if __name__ == "__main__":
    main()
