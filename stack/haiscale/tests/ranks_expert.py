"""What the ranks of test_expert do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from haiscale.ddp import DistributedDataParallel
from haiscale.expert import MoE
from haiscale.groups import enumerate_groups
from haiscale.layout import layout_of
from models import STEPS, WIDTH, Task, cross_entropy, gpt, optimizer, refusals, sentences

EXPERTS = 8
TOP_K = 2


def model(
    group: dist.ProcessGroup | None = None, replicas: dist.ProcessGroup | None = None
) -> nn.Sequential:
    """Return a GPT of experts. What this rank holds of it is what one process would hold."""
    whole = gpt(2, lambda: MoE(WIDTH, WIDTH, EXPERTS, TOP_K))
    if group is None:
        return whole
    mine = gpt(2, lambda: MoE(WIDTH, WIDTH, EXPERTS, TOP_K, group, replicas))
    state = whole.state_dict()
    mine.load_state_dict({name: state[name] for name in mine.state_dict()})
    return mine


TASK = Task(model, sentences, cross_entropy)


def train(ep: int, *, averaged: bool = True) -> dict[str, Any]:
    layout = layout_of(dist.get_world_size(), ep=ep)
    group = enumerate_groups(layout.ep_groups())
    replicas = enumerate_groups(layout.expert_replicas()) if averaged else None
    module = model(group, replicas)
    replica = DistributedDataParallel(module, reduce_with="group")
    steps = optimizer(replica.parameters())
    rank, world, losses = dist.get_rank(), dist.get_world_size(), []
    for step in range(STEPS):
        x, y = (each.chunk(world)[rank] for each in TASK.batch(step))
        loss = TASK.loss(replica(x), y)
        steps.zero_grad()
        loss.backward()
        steps.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses.append(float(mean) / world)
    experts = {name for name in module.state_dict() if ".experts." in name}
    return {"losses": losses, "state": module.state_dict(), "experts": len(experts)}


def crowded() -> dict[str, Any]:
    """Every token of every rank wants the same expert, so that the others get none."""
    torch.manual_seed(3)
    whole = MoE(4, 4, 4, 1).double()
    with torch.no_grad():
        whole.router.weight.zero_()
        whole.router.weight[2] = 1
    mine = MoE(4, 4, 4, 1, dist.group.WORLD).double()
    state = whole.state_dict()
    mine.load_state_dict({name: state[name] for name in mine.state_dict()})
    rank, world = dist.get_rank(), dist.get_world_size()
    tokens = torch.rand(
        (world, 3, 4), dtype=torch.float64, generator=torch.Generator().manual_seed(1)
    )
    results = mine(tokens[rank])
    results.square().sum().backward()
    wanted = whole(tokens)
    (wanted.square().sum() / world).backward()
    gradients = dict(whole.named_parameters())
    worst = [
        float((parameter.grad - gradient_of(gradients[name])).abs().max())
        for name, parameter in mine.named_parameters()
        if name.startswith("experts.")
    ]
    idle = [
        name
        for name, parameter in mine.named_parameters()
        if name.startswith("experts.") and not parameter.grad.any()
    ]
    empty = mine(tokens[rank, :0])  # a rank may have no tokens at all
    return {
        "results": float((results - wanted[rank]).abs().max()),
        "gradients": max(worst),
        "idle": len(idle),
        "empty": tuple(empty.shape),
    }


def gradient_of(parameter: Tensor) -> Tensor:
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad


def wrong() -> list[str]:
    tries: list[Callable[[], object]] = [
        lambda: MoE(4, 4, 6, 1, dist.group.WORLD),
        lambda: MoE(4, 4, 4, 5),
        lambda: layout_of(4, ep=3),
    ]
    return refusals(tries)


def work() -> dict[str, Any]:
    return {
        "4": train(4),
        "2": train(2),
        "control": train(2, averaged=False),
        "crowded": crowded(),
        "wrong": wrong(),
    }
