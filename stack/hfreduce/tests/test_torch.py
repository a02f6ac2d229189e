"""The backend under torch.distributed, and the hook under DistributedDataParallel."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
from jobs import Job, run

torch = pytest.importorskip("torch")


def _start(backend: str) -> None:
    import hfreduce.torch  # noqa: F401 - it registers the backend
    import torch.distributed as dist

    os.environ |= {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    torch.set_num_threads(1)
    dist.init_process_group(backend)


def _collectives(_pipe: Any) -> None:
    import torch.distributed as dist

    _start("hfreduce")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    tensor = torch.arange(1000.0) + rank
    dist.all_reduce(tensor)
    assert torch.equal(tensor, torch.arange(1000.0) * ranks + ranks * (ranks - 1) / 2)
    tensor = torch.full((3, 4), float(rank)).t()  # not in one piece
    work = dist.all_reduce(tensor, dist.ReduceOp.MAX, async_op=True)
    work.wait()
    assert (tensor == ranks - 1).all()
    tensor = torch.full((5,), rank + 1, dtype=torch.int32)  # not HFReduce's: Gloo's
    dist.all_reduce(tensor, dist.ReduceOp.PRODUCT)
    assert (tensor == [0, 1, 2, 6, 24][ranks]).all()
    flags = torch.tensor([rank == 1, True])
    dist.broadcast(flags, 1)
    assert flags.tolist() == [True, True]
    total = torch.ones(7)
    dist.reduce(total, 0)
    assert rank or (total == ranks).all()
    gathered = [torch.zeros(2) for _ in range(ranks)]
    dist.all_gather(gathered, torch.full((2,), float(rank)))
    assert [int(each[0]) for each in gathered] == list(range(ranks))
    dist.barrier()
    dist.destroy_process_group(dist.group.WORLD)


@pytest.mark.parametrize("ranks", [2, 4])
def test_collectives(ranks: int) -> None:
    run(_collectives, ranks, ranks)


def _train(backend: str) -> list[float]:
    import hfreduce.torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(20, 300), torch.nn.ReLU(), torch.nn.Linear(300, 1))
    model = model.double()
    replica = DistributedDataParallel(model, bucket_cap_mb=0.01)
    if backend != "gloo":
        replica.register_comm_hook(dist.group.WORLD, hfreduce.torch.allreduce_hook)
    optimizer = torch.optim.SGD(replica.parameters(), lr=0.01)
    losses = []
    for _ in range(5):
        data = torch.randn(8 * ranks, 20, generator=torch.Generator().manual_seed(0)).double()
        wanted = data.sum(1, keepdim=True)
        optimizer.zero_grad()
        mine, goal = data.chunk(ranks)[rank], wanted.chunk(ranks)[rank]
        loss = torch.nn.functional.mse_loss(replica(mine), goal)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            losses.append(float(torch.nn.functional.mse_loss(model(data), wanted)))
    return losses


def _data_parallel(_pipe: Any, backend: str) -> list[float]:
    import torch.distributed as dist

    _start(backend)
    losses = _train(backend)
    dist.destroy_process_group(dist.group.WORLD)
    return losses


def test_training_reaches_the_losses_of_gloo() -> None:
    ours = run(_data_parallel, 2, 2, "hfreduce")
    theirs = run(_data_parallel, 2, 2, "gloo")
    assert ours[0] == ours[1]
    assert ours[0] == pytest.approx(theirs[0], rel=1e-9)
    assert ours[0][-1] < ours[0][0]


def _dies(pipe: Any) -> None:
    import torch.distributed as dist

    _start("hfreduce")
    pipe.send(("said", "running"))
    while True:
        dist.all_reduce(torch.ones(100_000))


def test_a_killed_rank_is_named() -> None:
    job = Job(_dies, 3, 3, silence_s=2)
    job.wait_for("running")
    os.kill(job.processes[2].pid, signal.SIGKILL)
    for outcome in job.outcomes(30)[:2]:
        assert "rank 2 ended without closing" in outcome.error
