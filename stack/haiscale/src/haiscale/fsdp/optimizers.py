"""Optimizers of sharded parameters: their whole state for a checkpoint, and shares of it again.

A plain optimizer knows nothing of shards: the state dict of one rank holds that rank's share, and
loaded by the others it would be theirs, wrong and unnoticed. Inside `summon_full_params()` it is
whole, as the parameters are, and a whole one is cut before the next step.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_pre_hook

State = dict[str, Any]
_known: list[weakref.ref[Optimizer]] = []
"""In the order of their first steps, which is that of every rank."""
_whole: dict[Tensor, State] = {}
"""What is gathered inside `summon_full_params()`, by parameter."""


@cache
def watch_steps() -> None:
    """Have every optimizer's first step found out; a second call does nothing."""
    register_optimizer_step_pre_hook(_before_step)


def know(optimizer: Optimizer) -> None:
    """Have the optimizer's state dict be whole inside `summon_full_params()`."""
    _known[:] = [each for each in _known if each() is not None] + [weakref.ref(optimizer)]
    optimizer.register_state_dict_post_hook(_with_whole_state)
    optimizer.register_load_state_dict_post_hook(cut_whole_state)


def cut_whole_state(optimizer: Optimizer) -> None:
    """Replace whole tensors in an optimizer's state by the shares of their parameters."""
    for parameter, state in optimizer.state.items():
        if not isinstance(parameter, DTensor):
            continue
        for key, value in state.items():
            whole = isinstance(value, Tensor) and not isinstance(value, DTensor)
            if whole and value.shape == parameter.shape:
                state[key] = share_like(parameter, value)


def share_like(parameter: DTensor, whole: Tensor) -> DTensor:
    """Return a rank's share of a whole tensor, cut as a parameter is."""
    return distribute_tensor(
        whole.detach().to(parameter.to_local().device),
        parameter.device_mesh,
        parameter.placements,
        src_data_rank=None,
    )


def is_first(parameter: DTensor) -> bool:
    """Whether this rank is the first of those that share a parameter."""
    return not any(parameter.device_mesh.get_coordinate() or ())


@contextmanager
def whole_states(module: nn.Module) -> Iterator[None]:
    """Gather the states of the module's optimizers on its first rank, in the processors' memory.

    Every rank must enter.
    """
    mine = set(module.parameters())
    gathered: set[Tensor] = set()
    for optimizer in [each() for each in _known]:
        for parameter, state in optimizer.state.items() if optimizer is not None else ():
            if parameter not in mine or not isinstance(parameter, DTensor):
                continue
            whole = {key: _gathered(value) for key, value in state.items()}
            if is_first(parameter):
                _whole[parameter] = whole
                gathered.add(parameter)
    try:
        yield
    finally:
        for parameter in gathered:
            del _whole[parameter]


def _gathered(value: Any) -> Any:
    return value.full_tensor().cpu() if isinstance(value, DTensor) else value


def _before_step(optimizer: Optimizer, *_: Any) -> None:
    if any(each() is optimizer for each in _known) or getattr(optimizer, "of_one", False):
        return
    groups = optimizer.param_groups
    if any(isinstance(each, DTensor) for group in groups for each in group["params"]):
        know(optimizer)
        with torch.no_grad():
            cut_whole_state(optimizer)


def _with_whole_state(optimizer: Optimizer, found: dict[str, Any]) -> None:
    if not _whole:
        return
    for group, numbered in zip(optimizer.param_groups, found["param_groups"], strict=True):
        for parameter, number in zip(group["params"], numbered["params"], strict=True):
            if parameter in _whole:
                found["state"][number] = _whole[parameter]
