"""What the ranks of test_tensor do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from haiscale.node import Gpu, NodeModel
from haiscale.tensor import make_tensor_mesh, parallelize
from models import STEPS, TASKS, furthest, optimizer, refusals

PLAN = {
    "*.attention.query": "colwise",
    "*.attention.key": "colwise",
    "*.attention.value": "colwise",
    "*.attention.out": "rowwise",
    "*.feed_forward.0": "colwise",
    "*.feed_forward.2": "rowwise",
}
SWITCH = NodeModel(name="switched", gpus=(Gpu(),) * 8, nvlink=(tuple(range(8)),))


def halved(model: nn.Module, degree: int) -> nn.Module:
    """Count heads by the width that arrives."""
    mesh = make_tensor_mesh(degree, "cpu", SWITCH)
    return parallelize(model, mesh, PLAN)  # type: ignore[arg-type]


def train(degree: int) -> dict[str, Any]:
    task = TASKS["gpt"]
    model = halved(task.model(), degree)
    steps = optimizer(model.parameters())
    losses = []
    for step in range(STEPS):
        x, y = task.batch(step)
        loss = task.loss(model(x), y)
        steps.zero_grad()
        loss.backward()
        steps.step()
        losses.append(loss.item())
    shares = {
        name: each.to_local().numel() / each.numel()
        for name, each in model.named_parameters()
        if isinstance(each, DTensor)
    }
    return {"losses": losses, "state": whole(model), "shares": shares}


def whole(model: nn.Module) -> dict[str, Tensor]:
    return {
        name: each.full_tensor() if isinstance(each, DTensor) else each
        for name, each in model.state_dict().items()
    }


def wrong() -> list[str]:
    mesh = make_tensor_mesh(2, "cpu")
    model = nn.Sequential(nn.Linear(4, 3), nn.GELU(), nn.Linear(3, 4))
    no_bridge = NodeModel(name="bare", gpus=(Gpu(),) * 8)
    three = NodeModel(name="odd", gpus=(Gpu(),) * 3, nvlink=((0, 1, 2),))
    tries: list[Callable[[], object]] = [
        lambda: make_tensor_mesh(4, "cpu"),
        lambda: make_tensor_mesh(2, "cpu", no_bridge),
        lambda: make_tensor_mesh(3, "cpu", three),
        lambda: parallelize(model, mesh, {"0": "diagonal"}),  # type: ignore[dict-item]
        lambda: parallelize(model, mesh, {"*.out": "colwise"}),
        lambda: parallelize(model, mesh, {"1": "colwise"}),
        lambda: parallelize(model, mesh, {"0": "colwise"}),
        lambda: parallelize(model, mesh, {"2": "rowwise"}),
    ]
    return refusals(tries)


def work() -> dict[str, Any]:
    found: dict[str, Any] = {"pairs": train(2), "wrong": wrong()}
    task = TASKS["gpt"]
    model = halved(task.model(), dist.get_world_size())
    found["untrained"] = furthest(whole(model), task.model().state_dict())
    with torch.no_grad():
        x, _ = task.batch(0)
        found["outputs"] = float((model(x) - task.model()(x)).abs().max())
    return found
