"""What ranks do in the tests of torch's training over the backend, Gloo's beside it."""

from __future__ import annotations

from typing import Any

from ranks_c10d import start

_STEPS = 3


def _model(torch: Any) -> Any:
    torch.manual_seed(3)
    layers = [torch.nn.Linear(12, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)]
    return torch.nn.Sequential(*layers).double()


def _steps(torch: Any, model: Any, optimizer: Any, seed: int, steps: int = _STEPS) -> list[float]:
    generator = torch.Generator().manual_seed(seed)
    losses = []
    for _ in range(steps):
        data = torch.randn(6, 12, generator=generator).double()
        optimizer.zero_grad()
        loss = model(data).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def fsdp2(_pipe: Any, backend: str, folder: str) -> list[float]:
    """Train sharded, on a mesh; save with async_save, load into another model, and compare."""
    torch = start(backend)
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))

    def sharded() -> Any:
        model = _model(torch)
        for layer in model:
            if list(layer.parameters()):
                fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
        return model

    model = sharded()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = _steps(torch, model, optimizer, dist.get_rank())
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1).full_tensor()
    apart = dist.new_group()  # its thread's collectives come between the program's
    saved = dcp.async_save(model.state_dict(), checkpoint_id=folder, process_group=apart)
    losses += _steps(torch, model, optimizer, 10 + dist.get_rank(), 1)
    saved.result()
    again = sharded()
    state = again.state_dict()
    dcp.load(state, checkpoint_id=folder)
    again.load_state_dict(state)
    losses += _steps(torch, again, torch.optim.SGD(again.parameters(), lr=0.1), dist.get_rank(), 1)
    dist.barrier()
    dist.destroy_process_group()
    return [*losses, float(norm)]


def tensor_parallel(_pipe: Any, backend: str) -> list[float]:
    """Train with FSDP over tensor parallelism, on a mesh of two dimensions, with DTensor."""
    torch = start(backend)
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "tensor"))
    model = _model(torch)
    plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
    parallelize_module(model, mesh["tensor"], plan)
    fully_shard(model, mesh=mesh["data"])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = _steps(torch, model, optimizer, mesh["data"].get_local_rank())
    whole = torch.arange(24.0).reshape(4, 6)
    spread = distribute_tensor(whole, mesh, [Shard(0), Shard(1)])
    turned = spread.redistribute(mesh, [Shard(1), Replicate()])
    assert torch.equal(turned.full_tensor(), whole)
    dist.destroy_process_group()
    return losses


def zero_and_join(_pipe: Any, backend: str) -> list[float]:
    """Train with a sharded optimizer, and with ranks that have unequal data."""
    torch = start(backend)
    import torch.distributed as dist
    from torch.distributed.algorithms.join import Join
    from torch.distributed.optim import ZeroRedundancyOptimizer
    from torch.nn.parallel import DistributedDataParallel

    replica = DistributedDataParallel(_model(torch))
    optimizer = ZeroRedundancyOptimizer(replica.parameters(), torch.optim.Adam, lr=0.01)
    losses = _steps(torch, replica, optimizer, dist.get_rank())
    with Join([replica, optimizer]):
        _steps(torch, replica, optimizer, dist.get_rank(), 1 + dist.get_rank())
    losses += [float(parameter.detach().sum()) for parameter in replica.parameters()]
    dist.destroy_process_group()
    return losses
