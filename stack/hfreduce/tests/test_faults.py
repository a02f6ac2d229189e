"""Ranks that die, hang, disagree or leave: every other rank gets an error that names it."""

from __future__ import annotations

import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jobs import SECRET, SLOWNESS, Job

SILENCE_S = 2.0
PATIENCE_S = 4.0 * SLOWNESS
LAYOUTS = [(4, 4), (4, 2), (3, 1)]


def _train_on(pipe: Any) -> None:
    import hfreduce

    with hfreduce.Communicator() as job:
        array = np.ones(500_000, np.float32)
        job.allreduce(array)
        pipe.send(("said", "running"))
        for _ in range(100_000):
            job.allreduce(array, "avg")


@pytest.mark.parametrize(("ranks", "local"), LAYOUTS)
@pytest.mark.parametrize("victim", [0, 2])
def test_a_killed_rank_is_named(ranks: int, local: int, victim: int) -> None:
    job = Job(_train_on, ranks, local, silence_s=SILENCE_S)
    job.wait_for("running")
    time.sleep(0.2)
    killed_s = time.monotonic()
    os.kill(job.processes[victim].pid, signal.SIGKILL)
    outcomes = job.outcomes(30)
    for rank, outcome in enumerate(outcomes):
        if rank != victim:
            assert re.search(rf"rank {victim}\b", outcome.error), (rank, outcome.error)
            assert "ended without closing" in outcome.error or "lost" in outcome.error
    assert time.monotonic() - killed_s < PATIENCE_S + SILENCE_S
    assert _left_behind() == []


@pytest.mark.parametrize(("ranks", "local"), LAYOUTS)
def test_a_stopped_rank_is_named(ranks: int, local: int) -> None:
    job = Job(_train_on, ranks, local, silence_s=SILENCE_S)
    job.wait_for("running")
    os.kill(job.processes[1].pid, signal.SIGSTOP)
    try:
        time.sleep(SILENCE_S + PATIENCE_S)
    finally:
        os.kill(job.processes[1].pid, signal.SIGCONT)
    outcomes = job.outcomes(30)
    for rank, outcome in enumerate(outcomes):
        assert outcome.error.startswith("HFReduceError"), (rank, outcome.error)
        if rank != 1:
            assert "rank 1" in outcome.error, (rank, outcome.error)
            assert "has not been heard for 2 s" in outcome.error


def _disagree(pipe: Any, kind: str) -> None:
    import hfreduce

    with hfreduce.Communicator() as job:
        odd = job.rank == job.world_size - 1
        job.barrier()
        if kind == "count":
            job.allreduce(np.ones(1001 if odd else 1000))
        elif kind == "dtype":
            job.allreduce(np.ones(1000, np.float64 if odd else np.float32))
        elif kind == "operation":
            job.allreduce(np.ones(1000), "max" if odd else "sum")
        elif kind == "order":
            for name in ("b", "a") if odd else ("a", "b"):
                job.allreduce(np.ones(1000), name=name)
        elif kind == "large":
            job.allreduce(np.ones(3_000_000 if odd else 10))
        elif kind == "leaves" and not odd:
            job.allreduce(np.ones(1000))


@pytest.mark.parametrize(("ranks", "local"), LAYOUTS)
@pytest.mark.parametrize("kind", ["count", "dtype", "operation", "order", "large"])
def test_ranks_that_disagree_are_named(ranks: int, local: int, kind: str) -> None:
    outcomes = Job(_disagree, ranks, local, arguments=(kind,), silence_s=SILENCE_S).outcomes(30)
    for outcome in outcomes:
        assert re.search(
            r"rank \d+ called allreduce\(.*\) as operation 1, rank \d+ called allreduce",
            outcome.error,
        ), outcome.error
        last = ranks - 1 if local == 1 or local == ranks else ranks - local
        assert re.search(rf"rank ({last}|{ranks - 1})\b", outcome.error), outcome.error


@pytest.mark.parametrize(("ranks", "local"), LAYOUTS)
def test_a_rank_that_left_is_named(ranks: int, local: int) -> None:
    outcomes = Job(_disagree, ranks, local, arguments=("leaves",), silence_s=SILENCE_S).outcomes(30)
    for outcome in outcomes[:-1]:
        assert f"rank {ranks - 1} closed its communicator after 1 operations" in outcome.error
    assert outcomes[-1].error == ""


def _sleeps(pipe: Any) -> None:
    import hfreduce

    job = hfreduce.Communicator()
    if job.rank == 2:
        time.sleep(6)
    job.allreduce(np.ones(10))


@pytest.mark.parametrize(("ranks", "local"), LAYOUTS)
def test_a_rank_that_does_not_come_to_an_operation_is_named(ranks: int, local: int) -> None:
    outcomes = Job(_sleeps, ranks, local, timeout_s=2.5, silence_s=SILENCE_S).outcomes(30)
    for outcome in outcomes[:2]:
        assert (
            "operation 0 did not end within the timeout of 2.5 s: rank 2 has not entered it"
            in outcome.error
        )


def _raises(pipe: Any) -> None:
    import hfreduce

    with hfreduce.Communicator() as job:
        job.barrier()
        if job.rank == 1:
            raise ZeroDivisionError("a bug of the model")
        job.allreduce(np.ones(10))


def test_an_error_of_one_rank_reaches_all() -> None:
    outcomes = Job(_raises, 4, 2, silence_s=SILENCE_S).outcomes(30)
    assert outcomes[1].error == "ZeroDivisionError: a bug of the model"
    for rank in (0, 2, 3):
        assert outcomes[rank].error == (
            "HFReduceError: rank 1 ended the job: ZeroDivisionError: a bug of the model"
        )


def _comes_late(pipe: Any, absent: int) -> None:
    import hfreduce

    if int(os.environ["RANK"]) == absent:
        time.sleep(8)
        return
    hfreduce.Communicator()


@pytest.mark.parametrize(("ranks", "local", "absent"), [(2, 2, 1), (3, 1, 2), (4, 2, 3)])
def test_a_rank_that_never_comes_is_named(ranks: int, local: int, absent: int) -> None:
    outcomes = Job(_comes_late, ranks, local, arguments=(absent,), timeout_s=2).outcomes(30)
    node = absent // local * local
    assert re.search(
        rf"ranks? ({node}, )?{absent}\b|rank {absent} of this node",
        outcomes[0 if local == 1 or node == 0 else node].error,
    ), outcomes


def _joins(pipe: Any) -> float:
    import hfreduce

    with hfreduce.Communicator() as job:
        array = np.array([1.0])
        job.allreduce(array)
        return float(array[0])


def test_a_wrong_secret_keeps_a_rank_out() -> None:
    job = Job(_joins, 1, 1)
    assert [o.error for o in job.outcomes()] == [""]
    wrong = Job(_with_own_secret, 2, 1, timeout_s=3)
    errors = [outcome.error for outcome in wrong.outcomes(30)]
    assert "rank 1 did not come to" in errors[0]
    assert "is the secret the same?" in errors[1]


def _with_own_secret(pipe: Any) -> None:
    os.environ["HFREDUCE_SECRET"] = SECRET + os.environ["RANK"]
    _joins(pipe)


def _fuzzed(pipe: Any) -> float:
    if os.environ["RANK"] == "1":
        _fuzz(int(os.environ["MASTER_PORT"]) + 5)
    return _joins(pipe)


def _fuzz(port: int) -> None:
    """Connect as no rank would, before the right one comes."""
    noise = random.Random(0)
    kept = []
    for attempt in range(150):
        for _ in range(200):
            try:
                stranger = socket.create_connection(("127.0.0.1", port), timeout=5)
                break
            except ConnectionRefusedError:
                time.sleep(0.05)
        if attempt % 3 == 0:
            stranger.sendall(noise.randbytes(noise.randrange(0, 200)))
        elif attempt % 3 == 1:
            stranger.sendall(bytes(32) + b"\xff\xff\xff\xff" + noise.randbytes(100))
        if attempt % 5 == 0 and len(kept) < 20:
            kept.append(stranger)  # open and silent
        else:
            stranger.close()


def test_strangers_at_the_rendezvous_do_no_harm() -> None:
    outcomes = Job(_fuzzed, 2, 1).outcomes(60)
    assert [(o.value, o.error) for o in outcomes] == [(2.0, ""), (2.0, "")]


def _left_behind() -> list[str]:
    return [name.name for name in Path("/dev/shm").iterdir() if "hfreduce" in name.name]


def test_launch_ends_all_when_one_fails() -> None:
    program = "import os, time; r = int(os.environ['RANK']); r == 1 and os._exit(7); time.sleep(60)"
    started_s = time.monotonic()
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "hfreduce.launch",
            "--ranks-per-node",
            "3",
            "--",
            sys.executable,
            "-c",
            program,
        ],
        check=False,
        timeout=30,
    )
    assert done.returncode == 7
    assert time.monotonic() - started_s < 10


def test_check_prints_what_the_roles_read() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "hfreduce.launch",
            "--ranks-per-node",
            "2",
            "--port",
            "29950",
            "--",
            sys.executable,
            "-m",
            "hfreduce.check",
            "--bytes",
            "1M",
            "--json",
        ],
        check=False,
        timeout=60,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert '"correct": true' in done.stdout
    assert '"bytes": 1048576' in done.stdout
