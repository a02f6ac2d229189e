"""A process forked from a rank is none: it ends at once, and hides nothing of its parent's end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from jobs import SLOWNESS, Job, free_port

_RANK = """
import os, sys, hfreduce
job = hfreduce.Communicator()
job.barrier()
child = os.fork()
if not child:
    try:
        job.barrier()
    except hfreduce.HFReduceError as error:
        print(error, flush=True)
    sys.exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
job.barrier()
"""


def test_a_forked_child_ends_at_once() -> None:
    common = os.environ | {
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
    }
    began_s = time.monotonic()
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", _RANK],
            env=common | {"RANK": str(rank)},
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        for rank in range(2)
    ]
    try:
        told = [rank.communicate(timeout=15 * SLOWNESS)[0] for rank in ranks]
    finally:
        for rank in ranks:
            if rank.poll() is None:
                os.killpg(rank.pid, signal.SIGKILL)
    assert [rank.returncode for rank in ranks] == [0, 0]
    for text in told:
        error, status = text.splitlines()
        assert "was forked from a rank and is none itself" in error
        assert status == "3"
    assert time.monotonic() - began_s < 10 * SLOWNESS


def _forks_and_runs(pipe: Any, path: str) -> None:
    """Have a forked child outlive rank 1."""
    import hfreduce

    job = hfreduce.Communicator()
    job.barrier()
    if job.rank == 1:
        child = os.fork()
        if not child:
            time.sleep(30)
            os._exit(0)
        Path(path).write_text(str(child))
    pipe.send(("said", "forked"))
    while True:
        job.allreduce(np.ones(1000))


def test_a_forked_child_does_not_hide_a_death(tmp_path: Path) -> None:
    job = Job(_forks_and_runs, 3, 3, silence_s=6, arguments=[str(tmp_path / "child")])
    job.wait_for("forked")
    child = int((tmp_path / "child").read_text())
    time.sleep(0.3)
    killed_s = time.monotonic()
    try:
        os.kill(job.processes[1].pid, signal.SIGKILL)
        for rank in (0, 2):
            assert job._pipes[rank].poll(20), f"rank {rank} was not told"
            assert "rank 1 ended without closing" in job._pipes[rank].recv()[1]
        told_s = time.monotonic() - killed_s
    finally:
        os.kill(child, signal.SIGKILL)
        job.kill()
    assert told_s < 2 * SLOWNESS, f"the others were told after {told_s:.2f} s"
