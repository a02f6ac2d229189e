"""Run a command and say what it took."""

from __future__ import annotations

import contextlib
import os
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SAMPLE_S = 0.02
"""Between looks at the memory of a run; a shorter peak is missed."""


@dataclass(frozen=True, slots=True)
class Run:
    """What one run of a command took."""

    wall_s: float
    cpu_s: float
    """User and system, of all its processes."""
    memory_mib: float
    """Most that all its processes had at once, shared pages counted once; 0 if not looked at."""


def run(command: Sequence[str], folder: Path | None = None, *, memory: bool = False) -> Run:
    """Run a command to its end; its output goes nowhere.

    Raises:
        SystemExit: the command failed.
    """
    start = time.monotonic()
    here = Path.cwd()
    if folder is not None:
        os.chdir(folder)
    try:
        child = os.posix_spawn(
            command[0],
            list(command),
            dict(os.environ),
            file_actions=[(os.POSIX_SPAWN_OPEN, n, os.devnull, os.O_WRONLY, 0) for n in (1, 2)],
            setsid=True,
        )
    finally:
        os.chdir(here)
    peak = 0.0
    while True:
        done, status, usage = os.wait4(child, os.WNOHANG if memory else 0)
        if done:
            break
        peak = max(peak, _memory_mib(child))
        time.sleep(SAMPLE_S)
    wall_s = time.monotonic() - start
    if code := os.waitstatus_to_exitcode(status):
        raise SystemExit(f"{' '.join(command)} failed with status {code}")
    return Run(wall_s, usage.ru_utime + usage.ru_stime, peak)


def median(runs: Sequence[Run]) -> Run:
    """Return the median of the times and the most of the memory."""
    return Run(
        statistics.median(run.wall_s for run in runs),
        statistics.median(run.cpu_s for run in runs),
        max(run.memory_mib for run in runs),
    )


def load() -> str:
    """Return the load average of the last minute, to be printed beside every figure."""
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"


def _memory_mib(session: int) -> float:
    """Return the proportional set size of a session's processes."""
    total = 0
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                rollup = (entry / "smaps_rollup").read_text()
                total += int(rollup.partition("\nPss:")[2].split()[0])
    return total / 1024
