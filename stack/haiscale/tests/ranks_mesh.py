"""What the ranks of test_mesh do."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh

from haiscale.clip import clip_grad_norm_
from haiscale.ddp import DistributedDataParallel
from haiscale.fsdp import FullyShardedDataParallel
from haiscale.mesh import make_mesh
from haiscale.pipeline import GPipe, ZeroBubble, partition
from haiscale.shares import whole_state
from haiscale.tensor import make_tensor_mesh, parallelize
from models import TASKS, Block, furthest, refusals
from ranks_tensor import PLAN


def ranks_of(group: dist.ProcessGroup | None) -> list[int] | None:
    return None if group is None else dist.get_process_group_ranks(group)


def groups() -> dict[str, Any]:
    mesh = make_mesh("cpu", pp=2, tp=2, ep=2, shard=1, ranks_per_node=8)
    return {
        "dp": ranks_of(mesh.dp_group),
        "pp": ranks_of(mesh.pp_group),
        "tp": ranks_of(mesh.tp.get_group()),
        "ep": ranks_of(mesh.ep_group),
        "replicas": ranks_of(mesh.expert_replicas),
        "data": mesh.data.shape,
    }


def cut() -> nn.Module:
    return parallelize(TASKS["gpt"].model(), make_tensor_mesh(2, "cpu"), PLAN)  # type: ignore[arg-type]


def gradients_of(model: nn.Module, inner: nn.Module) -> dict[str, Tensor]:
    """Return the whole gradients of a batch that the replicas share."""
    x, y = (each.chunk(2)[dist.get_rank() // 2] for each in TASKS["gpt"].batch(0))
    TASKS["gpt"].loss(model(x), y).backward()
    with torch.no_grad():
        for parameter in inner.parameters():
            parameter.copy_(parameter.grad)
    return whole_state(inner)


def beside() -> dict[str, float]:
    """The groups that are found beside the tensor-parallel ranks, and norms of other kinds."""
    whole = TASKS["gpt"].model()
    x, y = TASKS["gpt"].batch(0)
    TASKS["gpt"].loss(whole(x), y).backward()
    wanted = {name: parameter.grad for name, parameter in whole.named_parameters()}
    replica = DistributedDataParallel(cut(), reduce_with="group")
    shards = FullyShardedDataParallel(cut(), auto_wrap_policy={Block})
    data = make_mesh("cpu", tp=2, ranks_per_node=4).data
    by_mesh = DistributedDataParallel(cut(), device_mesh=data, reduce_with="group")
    found = {
        "ddp by mesh": furthest(gradients_of(by_mesh, by_mesh.module), wanted),
        "ddp": furthest(gradients_of(replica, replica.module), wanted),
        "fsdp": furthest(gradients_of(shards, shards.module), wanted),
    }
    for norm_type in (1.0, 3.0, math.inf):
        norms = nn.utils.get_total_norm(wanted.values(), norm_type)
        for model in (replica, shards):
            norm = clip_grad_norm_(model, math.inf, norm_type)
            found[f"{type(model).__name__} {norm_type}"] = float(abs(norm - norms))
    with torch.no_grad(), shards.summon_full_params():
        for parameter in shards.parameters():
            parameter.mul_(2)
    doubled = {name: 2 * value for name, value in wanted.items()}
    found["written"] = furthest(whole_state(shards.module), doubled)
    return found


def wrong() -> list[str]:
    mesh = make_mesh("cpu", tp=2, ranks_per_node=4)
    part = partition(TASKS["gpt"].model(), mesh.tp.get_local_rank(), 2)
    diverging = nn.Linear(2, 1)
    diverging(torch.full((1, 2), math.inf)).sum().backward()
    group = mesh.tp.get_group()
    alone = init_device_mesh("cpu", (4,))
    tries: list[Callable[[], object]] = [
        lambda: make_mesh("cpu", shard=3, ranks_per_node=4),
        lambda: make_mesh("cpu", tp=4, ranks_per_node=4),
        lambda: DistributedDataParallel(cut(), process_group=dist.group.WORLD),
        lambda: FullyShardedDataParallel(cut(), process_group=dist.group.WORLD),
        lambda: FullyShardedDataParallel(cut(), mesh.dp_group, device_mesh=mesh.data),
        lambda: FullyShardedDataParallel(cut(), device_mesh=alone),
        lambda: DistributedDataParallel(cut(), device_mesh=mesh.device_mesh["pp", "shard"]),
        lambda: clip_grad_norm_(part.parameters(), 1.0),  # type: ignore[arg-type]
        lambda: clip_grad_norm_(part, 1.0),
        lambda: clip_grad_norm_(GPipe(part, 2, group), 1.0, 0.0),
        lambda: clip_grad_norm_(diverging, 1.0, error_if_nonfinite=True),
        lambda: ZeroBubble(
            [
                FullyShardedDataParallel(each, device_mesh=mesh.data)
                for each in partition(TASKS["gpt"].model(), group.rank(), 2, num_model_chunks=2)
            ],
            2,
            group,
        ),
    ]
    return refusals(tries)


def work() -> dict[str, Any]:
    return {"beside": beside(), "wrong": wrong()}
