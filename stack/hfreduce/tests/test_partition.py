"""Cables pulled, and ranks killed, where every node has its own network: see test_faults too."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from multiprocessing import resource_tracker
from pathlib import Path
from threading import Timer
from typing import Any

import namespaces
import numpy as np
import pytest
from hfreduce.tree import double_tree
from jobs import SLOWNESS, Job, Outcome
from namespaces import Nodes

pytestmark = pytest.mark.skipif(bool(namespaces.missing()), reason=namespaces.missing())

SILENCE_S = 2.0
PATIENCE_S = 4.0 * SLOWNESS


def _stream(pipe: Any, size: int) -> None:
    import hfreduce

    with hfreduce.Communicator() as job:
        arrays = [np.ones(size, np.float32) for _ in range(4)]
        job.allreduce(arrays[0])
        pipe.send(("said", "running"))
        for _ in range(100_000):
            works = [job.allreduce(array, "avg", wait=False) for array in arrays]
            for work in works:
                work.wait()


def _left() -> set[str]:
    """Return what outlives a job: shared memory, and its ranks and namespaces' holders."""
    shared = {str(file) for file in Path("/dev/shm").glob("*hfreduce*")}
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    mapped = {line for line in Path("/proc/self/maps").read_text().split() if "memfd" in line}
    return shared | set(children) | mapped


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    resource_tracker.ensure_running()  # a process of Python's that stays
    before = _left()
    yield
    assert _left() <= before


def _broken(
    nodes: Nodes, ranks: int, local: int, size: int, how: Any, threshold: str = "inf"
) -> list[Outcome]:
    job = Job(
        _stream,
        ranks,
        local,
        arguments=(size,),
        silence_s=SILENCE_S,
        timeout_s=60,
        environment={"UCX_RNDV_THRESH": threshold},
        nodes=nodes,
    )
    try:
        job.wait_for("running")
        time.sleep(0.5)
        at_s = time.monotonic()
        how(job)
        outcomes = job.outcomes(30)
    finally:
        job.kill()
    for outcome in outcomes:
        assert outcome.after_s < at_s - job.started_s + SILENCE_S + PATIENCE_S, outcomes
        if outcome.exit_code != -signal.SIGKILL:
            assert outcome.error.startswith("HFReduceError"), outcomes
            assert outcome.exit_code == 0, outcomes
    return outcomes


SIZES = pytest.mark.parametrize(
    ("size", "threshold"),
    [
        (300_000, "inf"),
        pytest.param(300_000, "8k", marks=pytest.mark.full),
        pytest.param(100, "inf", marks=pytest.mark.full),
    ],
)
"""Elements, and from how many bytes on UCX asks the receiver first."""


@SIZES
@pytest.mark.parametrize("end", ["unplug", pytest.param("switch_off", marks=pytest.mark.full)])
def test_a_node_without_its_cable(end: str, size: int, threshold: str) -> None:
    with Nodes(3) as nodes:
        outcomes = _broken(nodes, 6, 2, size, lambda _job: getattr(nodes, end)(2), threshold)
    for rank, outcome in enumerate(outcomes):
        other = "[0-3]" if rank in (4, 5) else "[45]"
        assert re.search(rf"rank {other}\b", outcome.error), outcomes


@SIZES
@pytest.mark.parametrize("at_rank_0", [False, pytest.param(True, marks=pytest.mark.full)])
def test_two_nodes_that_do_not_hear_each_other(at_rank_0: bool, size: int, threshold: str) -> None:
    edges = [set(edge) for tree in double_tree(4) for edge in enumerate(tree) if -1 not in edge]
    one, other = next(edge for edge in edges if (0 in edge) == at_rank_0)
    with Nodes(4) as nodes:
        outcomes = _broken(nodes, 4, 1, size, lambda _job: nodes.part(one, other), threshold)
    assert re.search(rf"rank {other}\b", outcomes[one].error), outcomes
    assert re.search(rf"rank {one}\b", outcomes[other].error), outcomes


def _all_name(victim: int, outcomes: list[Outcome]) -> None:
    for rank, outcome in enumerate(outcomes):
        if rank != victim:
            assert re.search(rf"rank {victim}\b", outcome.error), outcomes


@pytest.mark.full
@pytest.mark.parametrize("victim", [0, 2, 3])
def test_a_killed_rank(victim: int) -> None:
    with Nodes(2) as nodes:
        _all_name(victim, _broken(nodes, 4, 2, 300_000, lambda job: job.processes[victim].kill()))


@pytest.mark.full
@pytest.mark.parametrize("victim", [0, 2, 3])
def test_a_stopped_rank(victim: int) -> None:
    def stop(job: Job) -> None:
        pid = job.processes[victim].pid
        os.kill(pid, signal.SIGSTOP)
        Timer(SILENCE_S + 2, os.kill, (pid, signal.SIGCONT)).start()

    with Nodes(2) as nodes:
        _all_name(victim, _broken(nodes, 4, 2, 300_000, stop))


def _meet(pipe: Any, late: int) -> None:
    import hfreduce

    pipe.send(("said", "here"))
    if int(os.environ["RANK"]) == late:
        time.sleep(2)
    with hfreduce.Communicator() as job:
        job.barrier()


@pytest.mark.parametrize("victim", [2, *(pytest.param(n, marks=pytest.mark.full) for n in (0, 3))])
def test_a_rank_that_is_killed_while_ranks_meet(victim: int) -> None:
    with Nodes(3) as nodes:
        job = Job(_meet, 5, 2, arguments=(4,), silence_s=SILENCE_S, timeout_s=12, nodes=nodes)
        try:
            job.wait_for("here")
            time.sleep(1)
            job.processes[victim].kill()
            outcomes = job.outcomes(30)
        finally:
            job.kill()
    _all_name(victim, outcomes)
