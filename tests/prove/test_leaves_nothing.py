"""Whatever ends prove or render, it leaves no program running and no file behind."""

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

RENDER = [*PROVE[:3], "render", str(REPO / "inventory" / "next-gen"), "--out"]


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


def ended(started: set[int]) -> None:
    """Wait until all of these processes are gone."""
    deadline = time.monotonic() + 10
    while any(running(child) for child in started):
        left = [Path(f"/proc/{child}/stat").read_text()[:60] for child in started if running(child)]
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


@pytest.fixture(autouse=True)
def _heeded() -> None:
    """Have signals end programs that are started, also where the tests run under nohup."""
    for number in (signal.SIGHUP, signal.SIGINT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


ENDINGS = pytest.mark.parametrize(
    ("how", "status"),
    [
        (signal.SIGTERM, 143),
        (signal.SIGHUP, 129),
        (signal.SIGINT, 130),
        (signal.SIGKILL, -signal.SIGKILL),
    ],
)


@ENDINGS
def test_render_that_is_ended(how: signal.Signals, status: int, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [*RENDER, str(out)]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while len(started := children(process.pid)) < 2:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(0.3)  # Python drops what a signal raises in the moment after a fork
    process.send_signal(how)
    assert process.wait(timeout=30) == status
    ended(started)
    assert not out.exists()
    if how == signal.SIGKILL:  # the next rendering clears up
        small = [*RENDER[:-2], str(REPO / "inventory" / "lab"), "--out", str(out)]
        subprocess.run(small, check=True, capture_output=True)
        assert list(tmp_path.iterdir()) == [out]
    else:
        assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.cpu_count() == 1, reason="one processor renders in one process")
def test_a_rendering_process_that_is_ended(tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = subprocess.Popen([*RENDER, str(out)], cwd=tmp_path, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while len(started := children(process.pid)) < 2:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(min(started), signal.SIGKILL)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 2
    assert b"error: a process that rendered was ended from outside" in said
    ended(started)
    assert list(tmp_path.iterdir()) == []


@ENDINGS
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
    ended(started)
    if how != signal.SIGKILL:
        assert list(tmp_path.iterdir()) == []
