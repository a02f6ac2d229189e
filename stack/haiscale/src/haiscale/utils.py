"""Activation checkpointing inside a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch.utils.checkpoint import checkpoint

Result = TypeVar("Result")
_ALLOWED = [True]
"""By scope, whether anything is forgotten on demand; of the process, as a GPU's backward has its
own thread."""


def on_demand_checkpoint(
    function: Callable[..., Result], *args: Any, preserve_rng_state: bool = True, **kwargs: Any
) -> Result:
    """Call a function, and keep only its arguments for the backward, which calls it again.

    It costs nothing where it would gain nothing: without gradients, and where a pipeline already
    forgets the activations of the whole microbatch.

    Args:
        function: a part of a forward pass, for example an attention.
        *args: for the function.
        preserve_rng_state: whether the second call draws the random numbers of the first.
        **kwargs: for the function.
    """
    if not (torch.is_grad_enabled() and _ALLOWED[-1]):
        return function(*args, **kwargs)
    result: Result = checkpoint(
        function, *args, use_reentrant=False, preserve_rng_state=preserve_rng_state, **kwargs
    )
    return result


@contextmanager
def checkpointing(*, on_demand: bool) -> Iterator[None]:
    """Say whether `on_demand_checkpoint` does anything in here."""
    _ALLOWED.append(on_demand)
    try:
        yield
    finally:
        _ALLOWED.pop()
