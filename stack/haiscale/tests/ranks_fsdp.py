"""What the ranks of test_fsdp do."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.fsdp as torch_fsdp
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.fsdp import CPUOffload, MixedPrecision, ShardingStrategy
from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy
from torch.distributed.tensor import DTensor
from torch.profiler import profile

from haiscale.fsdp import BackwardPrefetch, FullyShardedDataParallel
from models import STEPS, TASKS, Block, Task, optimizer, refusals

POLICIES = {
    "gpt": {Block},
    "cnn": partial(size_based_auto_wrap_policy, min_num_params=100),
}


def sharded(name: str, **options: Any) -> FullyShardedDataParallel:
    return FullyShardedDataParallel(TASKS[name].model(), auto_wrap_policy=POLICIES[name], **options)


def mine(task: Task, step: int) -> tuple[Tensor, Tensor]:
    x, y = task.batch(step)
    rank, world = dist.get_rank(), dist.get_world_size()
    return x.chunk(world)[rank], y.chunk(world)[rank]


def mean(loss: Tensor) -> float:
    total = loss.detach().clone()
    dist.all_reduce(total)
    return float(total) / dist.get_world_size()


def whole_state(model: FullyShardedDataParallel) -> dict[str, Tensor]:
    with model.summon_full_params(writeback=False):
        return {name: value.clone() for name, value in model.module.state_dict().items()}


def losses_of(name: str, *, fused: bool, **options: Any) -> dict[str, Any]:
    task, model = TASKS[name], sharded(name, **options)
    steps = (
        model.fuse_optimizer(torch.optim.AdamW, lr=1e-2) if fused else optimizer(model.parameters())
    )
    losses = []
    for step in range(STEPS):
        x, y = mine(task, step)
        loss = task.loss(model(x), y)
        loss.backward()
        steps.step()
        steps.zero_grad()
        losses.append(mean(loss))
    return {"losses": losses, "state": whole_state(model)}


def clipped() -> dict[str, Any]:
    """The plain optimizer with the published examples' clipping, by torch's function and ours."""
    task, found = TASKS["gpt"], {}
    for how in ("torch", "ours"):
        model = sharded("gpt")
        steps = optimizer(model.parameters())
        norms = []
        for step in range(STEPS):
            x, y = mine(task, step)
            task.loss(model(x), y).backward()
            if how == "torch":
                nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            else:
                norms.append(float(model.clip_grad_norm_(0.1)))
            steps.step()
            steps.zero_grad()
        found[how] = {"state": whole_state(model), "norms": norms}
    return found


def accumulated() -> dict[str, Tensor]:
    """Two halves of each batch, the first under no_sync, the optimizer fused."""
    task, model = TASKS["gpt"], sharded("gpt")
    steps = model.fuse_optimizer(torch.optim.AdamW, lr=1e-2)
    for step in range(STEPS):
        x, y = mine(task, step)
        (x1, x2), (y1, y2) = x.chunk(2), y.chunk(2)
        with model.no_sync():
            (task.loss(model(x1), y1) / 2).backward()
        (task.loss(model(x2), y2) / 2).backward()
        steps.step()
    return whole_state(model)


def resumed() -> dict[str, Tensor]:
    """Fused for some steps, saved, and carried on by the plain optimizer from what was saved."""
    task, model = TASKS["gpt"], sharded("gpt")
    steps: torch.optim.Optimizer = model.fuse_optimizer(torch.optim.AdamW, lr=5e-2)
    steps.param_groups[0]["lr"] = 1e-2  # as a schedule does, before the backward
    for step in range(STEPS):
        if step == 3:
            weights, state = whole_state(model), steps.state_dict()
            model = sharded("gpt")
            with model.summon_full_params():
                model.module.load_state_dict(weights)
            steps = optimizer(model.parameters())
            steps.load_state_dict(state)
        if step == 4:
            weights, state = whole_state(model), steps.state_dict()
            model = sharded("gpt")
            with model.summon_full_params():
                model.module.load_state_dict(weights)
            steps = model.fuse_optimizer(torch.optim.AdamW, lr=5e-2)
            steps.load_state_dict(state)
        x, y = mine(task, step)
        task.loss(model(x), y).backward()
        steps.step()
        steps.zero_grad()
    return whole_state(model)


def published(folder: str) -> dict[str, Any]:
    """Saved by the first rank and loaded by all, as the published script does."""
    task, path = TASKS["gpt"], Path(folder) / "latest.pt"
    model = sharded("gpt")
    steps: torch.optim.Optimizer = optimizer(model.parameters())
    for step in range(STEPS):
        if step in (2, 3):
            with model.summon_full_params():
                if dist.get_rank() == 0:
                    state = {"model": model.module.state_dict(), "optimizer": steps.state_dict()}
                    torch.save(state, path)
            dist.barrier()
            state = torch.load(path, map_location="cpu")
            model = sharded("gpt")
            steps = (
                optimizer(model.parameters())
                if step == 2
                else model.fuse_optimizer(torch.optim.AdamW, lr=1e-2)
            )
            with model.summon_full_params():
                model.module.load_state_dict(state["model"])
            steps.load_state_dict(state["optimizer"])
            dist.barrier()
        x, y = mine(task, step)
        task.loss(model(x), y).backward()
        steps.step()
        steps.zero_grad()
    assert all(isinstance(each["exp_avg"], DTensor) for each in steps.state.values())
    return whole_state(model)


def first_ones_arguments() -> dict[str, Any]:
    """Train with the arguments of torch's first, and say what its calls are answered."""
    task = TASKS["gpt"]
    model = FullyShardedDataParallel(
        task.model(),
        auto_wrap_policy=POLICIES["gpt"],
        sharding_strategy=ShardingStrategy.SHARD_GRAD_OP,
        cpu_offload=CPUOffload(offload_params=True),
        mixed_precision=MixedPrecision(param_dtype=torch.float64),
        backward_prefetch=torch_fsdp.BackwardPrefetch.BACKWARD_POST,
        device_id=torch.device("cpu"),
        use_orig_params=True,
    )
    steps = optimizer(model.parameters())
    for step in range(STEPS):
        x, y = mine(task, step)
        task.loss(model(x), y).backward()
        steps.step()
        steps.zero_grad()
    summon = FullyShardedDataParallel.summon_full_params
    with summon(nn.Sequential(model), writeback=False, rank0_only=True, offload_to_cpu=True):
        kinds = {isinstance(each, DTensor) for each in model.parameters()}
    return {"state": whole_state(model), "shares inside": kinds}


def ignored() -> dict[str, bool]:
    """Which parameters are shares where the last layer is left out."""
    model = TASKS["gpt"].model()
    FullyShardedDataParallel(model, ignored_modules=[model[-1]])
    return {name: isinstance(each, DTensor) for name, each in model.named_parameters()}


def refused() -> list[str]:
    def made(**options: Any) -> object:
        return FullyShardedDataParallel(nn.Linear(2, 2), **options)

    model = made()
    tries = [
        lambda: made(sharding_strategy=ShardingStrategy.NO_SHARD),
        lambda: made(sharding_strategy=ShardingStrategy.HYBRID_SHARD),
        lambda: made(use_orig_params=False),
        lambda: made(sync_module_states=True),
        lambda: made(process_group=(dist.group.WORLD, dist.group.WORLD)),
        lambda: made(ignored_modules=["0"]),
        lambda: made(cpu_offload=True).fuse_optimizer(torch.optim.SGD, lr=1.0),
        lambda: model.summon_full_params(rank0_only=True).__enter__(),
        lambda: model.summon_full_params(recurse=False).__enter__(),
        lambda: FullyShardedDataParallel.summon_full_params(nn.Linear(2, 2)).__enter__(),
    ]
    return refusals(tries)


def first_one(folder: str) -> dict[str, Any]:
    return {
        "published": published(folder),
        "arguments": first_ones_arguments(),
        "ignored": ignored(),
        "refused": refused(),
    }


def whole_optimizer() -> dict[str, Tensor]:
    """Fused, saved whole as a checkpoint on one rank would be, and carried on with fused."""
    task, model = TASKS["gpt"], sharded("gpt")
    steps = model.fuse_optimizer(torch.optim.AdamW, lr=1e-2)
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)  # on the first rank
    for step in range(STEPS):
        if step == 2:
            weights, state = get_state_dict(model, steps, options=options)
            if dist.get_rank() == 0:
                assert not any(isinstance(each, DTensor) for each in weights.values())
            else:
                assert not weights
            model = sharded("gpt")
            steps = model.fuse_optimizer(torch.optim.AdamW, lr=5e-2)
            spread = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
            set_model_state_dict(model, weights, options=spread)
            set_optimizer_state_dict(model, steps, state, options=spread)
        x, y = mine(task, step)
        task.loss(model(x), y).backward()
        steps.step()
    return whole_state(model)


def most_gradients(*, fused: bool) -> int:
    """Count the sharded gradients alive at once in a backward."""
    model = sharded("gpt")
    alive: list[int] = []
    parameters = list(model.parameters())

    def count(_: Tensor) -> None:
        alive.append(sum(each.grad is not None for each in parameters))

    for parameter in parameters:
        parameter.register_post_accumulate_grad_hook(count)
    if fused:
        model.fuse_optimizer(torch.optim.AdamW, lr=1e-2)
    x, y = mine(TASKS["gpt"], 0)
    TASKS["gpt"].loss(model(x), y).backward()
    return max(alive)


def order(backward: BackwardPrefetch, *, forward: bool) -> dict[str, list[str]]:
    """Return what FSDP did and where matrices were multiplied, forward and backward."""
    model = sharded("gpt", backward_prefetch=backward, forward_prefetch=forward)
    x, y = mine(TASKS["gpt"], 0)
    TASKS["gpt"].loss(model(x), y).backward()  # the first run is the one that sets up
    with profile() as ahead:
        loss = TASKS["gpt"].loss(model(x), y)
    with profile() as back:
        loss.backward()
    found = {}
    for name, run in (("forward", ahead), ("backward", back)):
        events = sorted(run.events() or [], key=lambda event: event.time_range.start)
        names = [event.name for event in events]
        found[name] = [each for each in names if each.startswith(("FSDP::", "aten::mm"))]
    return found


def wrong() -> list[str]:
    model = sharded("gpt")
    x, y = mine(TASKS["gpt"], 0)
    steps = model.fuse_optimizer(torch.optim.AdamW, lr=1e-2)
    TASKS["gpt"].loss(model(x), y).backward()
    outsider = nn.Parameter(torch.zeros(3))

    def summoned_twice() -> None:
        with model.summon_full_params(), model.summon_full_params():
            pass

    def called_inside() -> None:
        with model.summon_full_params():
            model(x)

    tries = [
        lambda: model.clip_grad_norm_(1.0),
        lambda: model.fuse_optimizer(torch.optim.SGD, lr=1.0),
        lambda: steps.step(lambda: 0.0),
        lambda: sharded("cnn").fuse_optimizer(torch.optim.LBFGS),
        lambda: sharded("cnn").fuse_optimizer(torch.optim.SGD, [outsider], lr=1.0),
        summoned_twice,
        called_inside,
        lambda: sharded("gpt", backward_prefetch="post"),
        lambda: FullyShardedDataParallel(nn.GELU()),
        lambda: TASKS["gpt"].loss(model(x), y).backward(),
    ]
    return refusals(tries)


def work() -> dict[str, Any]:
    post = BackwardPrefetch.BACKWARD_POST
    model = sharded("gpt")
    return {
        "gpt": losses_of("gpt", fused=False),
        "gpt fused": losses_of("gpt", fused=True),
        "gpt fused post": losses_of("gpt", fused=True, backward_prefetch=post),
        "cnn": losses_of("cnn", fused=False, backward_prefetch=post),
        "cnn fused": losses_of("cnn", fused=True, reshard_after_forward=False),
        "clipped": clipped(),
        "accumulated": accumulated(),
        "resumed": resumed(),
        "whole optimizer": whole_optimizer(),
        "most gradients": [most_gradients(fused=fused) for fused in (False, True)],
        "pre": order(BackwardPrefetch.BACKWARD_PRE, forward=True),
        "post": order(post, forward=False),
        "wrong": wrong(),
        "shares": {
            name: (each.to_local().numel(), each.numel())
            for name, each in model.named_parameters()
            if isinstance(each, DTensor)
        },
        "parameters": len(list(model.parameters())),
    }
