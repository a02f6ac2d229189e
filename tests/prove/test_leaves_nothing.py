"""Whatever ends prove, it leaves no program running and no file behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.conftest import REPO

PROVE = [sys.executable, "-m", "fireflyer.cli", "prove", str(REPO / "inventory" / "fire-flyer-2")]


def children(pid: int) -> set[int]:
    """Return the processes below one."""
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found |= {child} | children(child)
    return found


def running(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    ("how", "status"),
    [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)],
)
def test_prove_that_is_ended(how: signal.Signals, status: int, tmp_path: Path) -> None:
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    process = subprocess.Popen(PROVE, env=environment, cwd=tmp_path, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while len(started := children(process.pid)) < 2:  # ibsim and OpenSM
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(how)
    assert process.wait(timeout=30) == status
    deadline = time.monotonic() + 10
    while any(running(child) for child in started):
        left = [Path(f"/proc/{child}/stat").read_text()[:60] for child in started if running(child)]
        assert time.monotonic() < deadline, left
        time.sleep(0.05)
    if how != signal.SIGKILL:
        assert list(tmp_path.iterdir()) == []
