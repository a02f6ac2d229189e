"""What ranks do in the tests of the torch backend."""

from __future__ import annotations

import copy
import io
import os
import pickle
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from jobs import SLOWNESS


def start(backend: str = "hfreduce", **named: Any) -> Any:
    """Make the default group, and return torch."""
    import hfreduce.torch  # noqa: F401 - it registers the backend
    import torch
    import torch.distributed as dist

    os.environ |= {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    torch.set_num_threads(1)
    dist.init_process_group(backend, **named)
    return torch


def newer_names(_pipe: Any) -> None:
    """The names of torch 2.13, by functions and on the group."""
    torch = start()
    import torch.distributed as dist
    import torch.distributed._functional_collectives as funcol
    from torch._C import _distributed_c10d as c10d

    group = dist.group.WORLD
    assert group is not None
    rank, ranks = dist.get_rank(), dist.get_world_size()
    mine = torch.full((2,), float(rank))
    wanted = [float(each) for each in range(ranks) for _ in range(2)]
    every = torch.arange(2.0 * ranks) + rank
    part = sum(torch.arange(2.0 * ranks) + each for each in range(ranks)).chunk(ranks)[rank]

    out = torch.zeros(2 * ranks)
    dist.all_gather_into_tensor(out, mine)
    assert out.tolist() == wanted
    for name in ("all_gather_single", "_allgather_base"):
        out.zero_()
        getattr(group, name)(out, mine, c10d.AllgatherOptions()).wait()
        assert out.tolist() == wanted, name
    got = torch.zeros(2)
    dist.reduce_scatter_tensor(got, every.clone())
    assert torch.equal(got, part)
    for name in ("reduce_scatter_single", "_reduce_scatter_base"):
        got.zero_()
        getattr(group, name)(got, every.clone(), c10d.ReduceScatterOptions()).wait()
        assert torch.equal(got, part), name
    swapped = torch.zeros(ranks)
    given = torch.arange(float(ranks)) + 10 * rank
    dist.all_to_all_single(swapped, given)
    assert swapped.tolist() == [10.0 * each + rank for each in range(ranks)]
    for name in ("all_to_all_single", "alltoall_base"):
        swapped.zero_()
        getattr(group, name)(swapped, given, [], [], c10d.AllToAllOptions()).wait()
        assert swapped.tolist() == [10.0 * each + rank for each in range(ranks)], name

    assert funcol.all_reduce(mine, "sum", group).tolist() == [ranks * (ranks - 1) / 2] * 2
    assert funcol.all_gather_tensor(mine, 0, group).tolist() == wanted
    assert torch.equal(funcol.reduce_scatter_tensor(every, "sum", 0, group) + 0, part)
    assert (funcol.broadcast(mine, ranks - 1, group) + 0).tolist() == [ranks - 1.0] * 2
    whole = funcol.all_to_all_single(given, None, None, group) + 0
    assert whole.tolist() == [10.0 * each + rank for each in range(ranks)]
    both = funcol.all_reduce_coalesced([mine, every], "sum", group)
    assert (both[0] + 0).tolist() == [ranks * (ranks - 1) / 2] * 2
    group.allreduce(mine).wait()
    group.broadcast(mine, 0).wait()
    assert mine.tolist() == [ranks * (ranks - 1) / 2] * 2
    assert {each.type for each in group._device_types} == {"cpu", "cuda"}
    dist.destroy_process_group()


def mixed_backends(_pipe: Any, backend: str, ours: str) -> None:
    """Each device's backend is the one that was named for it."""
    torch = start(backend)
    import torch.distributed as dist

    group: Any = dist.group.WORLD
    submit, entered = group.communicator.submit, []
    group.communicator.submit = lambda *given, **named: (
        entered.append(given[0]) or submit(*given, **named)  # type: ignore[func-returns-value]
    )
    tensor = torch.ones(3)
    dist.all_reduce(tensor)
    assert tensor.tolist() == [dist.get_world_size()] * 3
    assert len(entered) == (ours == "cpu"), "the processor's tensors went to the wrong backend"
    assert group._hold([torch.ones(1)]) == (ours == "cpu")
    assert group._ours == {ours}
    assert dist.distributed_c10d._world.pg_backend_config[group] == backend
    dist.barrier()
    dist.destroy_process_group()


def foreign_backend(_pipe: Any) -> None:
    """A backend that cannot stand beside HFReduce is refused by name."""
    torch = start("cpu:hfreduce,cuda:ucc")
    import torch.distributed as dist

    try:
        dist.all_reduce(torch.ones(1))
    finally:  # rank 0 serves the store, and the others may still be connecting
        store, ranks = dist.distributed_c10d._get_default_store(), dist.get_world_size()
        store.set(f"refused/{dist.get_rank()}", "")
        if dist.get_rank() == 0:
            store.wait([f"refused/{rank}" for rank in range(ranks)])


def callbacks_that_wait(_pipe: Any) -> list[float]:
    """Callbacks call collectives and wait, while the program goes on with its own."""
    torch = start()
    import torch.distributed as dist

    rank, ranks = dist.get_rank(), dist.get_world_size()

    def again(done: Any) -> Any:
        time.sleep(0.01 * rank)  # ranks come here at different times
        tensor = done.value()[0]
        dist.all_reduce(tensor)
        gathered = [torch.zeros_like(tensor) for _ in range(ranks)]
        dist.all_gather(gathered, tensor)
        inner = dist.all_reduce(tensor, async_op=True).get_future().then(lambda f: f.value()[0] * 2)
        return inner.wait()

    futures = []
    for at in range(4):
        work = dist.all_reduce(torch.full((3,), float(at)), async_op=True)
        if rank == 0:
            time.sleep(0.02)  # complete before then(), on this rank only
        futures.append(work.get_future().then(again).then(lambda f: f.value() + 1))
    other = torch.ones(1)
    dist.all_reduce(other)
    assert other.item() == ranks
    values = [float(each.wait()[0]) for each in futures]
    assert values == [2.0 * at * ranks**3 + 1 for at in range(4)], values
    dist.destroy_process_group()
    return values


def power_sgd(_pipe: Any, backend: str) -> list[float]:
    """Train with torch's PowerSGD hook, in one bucket and in several."""
    torch = start(backend)
    import torch.distributed as dist
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
    from torch.nn.parallel import DistributedDataParallel

    losses = []
    for bucket_mb in (25, 0.002) if backend == "hfreduce" else (25,):
        torch.manual_seed(1)
        model = torch.nn.Sequential(*(torch.nn.Linear(24, 24) for _ in range(4))).double()
        replica = DistributedDataParallel(model, bucket_cap_mb=bucket_mb)
        state = powerSGD_hook.PowerSGDState(
            None, 2, start_powerSGD_iter=2, min_compression_rate=0.5
        )
        replica.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
        optimizer = torch.optim.SGD(replica.parameters(), lr=0.05)
        generator = torch.Generator().manual_seed(dist.get_rank())
        for _ in range(5):
            data = torch.randn(8, 24, generator=generator).double()
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(replica(data), data)
            loss.backward()
            optimizer.step()
        total = torch.stack([parameter.detach().sum() for parameter in model.parameters()]).sum()
        losses.append(float(total))
    dist.destroy_process_group()
    return losses


def late(_pipe: Any, wait: str) -> float:
    """Rank 0 comes alone; returns after how long it was told so."""
    limit = timedelta(seconds=1)
    torch = start(timeout=limit if wait == "group" else timedelta(seconds=60))
    import torch.distributed as dist

    dist.barrier()
    group: Any = dist.group.WORLD
    began = time.monotonic()
    if dist.get_rank():
        time.sleep(3 * SLOWNESS)
        return 0.0
    told = "Ranks 1 failed to pass monitored" if wait == "monitored" else "timeout of 1 s"
    if wait == "set":
        group.set_timeout(limit)
    waits: dict[str, Callable[[], Any]] = {
        "work": lambda: dist.all_reduce(torch.ones(1), async_op=True).wait(limit),
        "barrier": lambda: dist.barrier(timeout=limit),
        "monitored": lambda: dist.monitored_barrier(timeout=limit, wait_all_ranks=True),
    }
    with pytest.raises(RuntimeError, match=told):
        waits.get(wait, lambda: dist.all_reduce(torch.ones(1)))()
    return time.monotonic() - began


def subgroups(_pipe: Any) -> None:
    """A group can be destroyed before the others, and made again."""
    torch = start()
    import torch.distributed as dist

    for _ in range(2):
        part = dist.new_group([0, 1])
        if dist.get_rank() < 2:
            tensor = torch.ones(2)
            dist.all_reduce(tensor, group=part)
            assert tensor.tolist() == [2.0, 2.0]
            dist.destroy_process_group(part)
    dist.barrier()
    dist.destroy_process_group()


def results(_pipe: Any) -> None:
    """What a work tells, of tensors of every layout."""
    torch = start()
    import torch.distributed as dist

    rank, ranks = dist.get_rank(), dist.get_world_size()
    tensor = torch.ones(4)
    work = dist.all_reduce(tensor, async_op=True)
    assert work.result()[0] is tensor
    assert (work.is_completed(), work.is_success(), work.exception()) == (True, True, None)
    for given in (torch.full((3, 4), float(rank)).t(), torch.full((2, 6), float(rank))[:, ::2]):
        parameter = torch.nn.Parameter(given.clone() if rank == 9 else given)
        assert not parameter.is_contiguous()
        dist.broadcast(parameter.data if rank % 2 else parameter, ranks - 1)
        assert (parameter == ranks - 1).all()
    one_hot = torch.sparse_coo_tensor([[rank]], [2.0], (ranks,))
    dist.all_reduce(one_hot)
    assert one_hot.to_dense().tolist() == [2.0] * ranks
    boolean = torch.tensor([rank == 0])
    dist.broadcast(boolean, 0)
    assert boolean.item()
    dist.destroy_process_group()


def copied_model(_pipe: Any) -> None:
    """A model under DistributedDataParallel is copied and pickled as under Gloo."""
    torch = start()
    import hfreduce.torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    torch.manual_seed(0)
    group: Any = dist.group.WORLD
    replica = DistributedDataParallel(torch.nn.Linear(3, 2))
    hooked = DistributedDataParallel(torch.nn.Linear(3, 2), process_group=group)
    hooked.register_comm_hook(group, hfreduce.torch.allreduce_hook)
    for model in (replica, hooked):
        stored = io.BytesIO()
        torch.save(model, stored)
        stored.seek(0)
        for twin in (
            copy.deepcopy(model),
            pickle.loads(pickle.dumps(model)),
            torch.load(stored, weights_only=False),
        ):
            twin(torch.full((1, 3), float(dist.get_rank()))).sum().backward()
            gradient = twin.module.weight.grad
            mean = (dist.get_world_size() - 1) / 2
            assert torch.allclose(gradient, torch.full((2, 3), mean)), gradient
    assert copy.deepcopy(group) is group
    dist.destroy_process_group()
