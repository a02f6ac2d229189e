"""Activation checkpointing: the same gradients, from fewer activations."""

from __future__ import annotations

import torch
from torch import Tensor

from haiscale.utils import checkpointing, on_demand_checkpoint

CALLS: list[bool] = []


def squared(x: Tensor, scale: float = 1.0) -> Tensor:
    CALLS.append(torch.is_grad_enabled())
    return (scale * x).sin().square()


def calls(**options: bool) -> tuple[int, Tensor]:
    CALLS.clear()
    x = torch.linspace(0, 1, 5, dtype=torch.float64, requires_grad=True)
    with checkpointing(on_demand=options.get("on_demand", True)):
        on_demand_checkpoint(squared, x, scale=2.0).sum().backward()
    assert x.grad is not None
    return len(CALLS), x.grad


def test_it_runs_again_for_the_backward_and_gives_the_same() -> None:
    (twice, again), (once, plain) = calls(), calls(on_demand=False)
    assert (twice, once) == (2, 1)
    assert torch.equal(again, plain)


def test_it_costs_nothing_without_gradients() -> None:
    CALLS.clear()
    with torch.no_grad():
        on_demand_checkpoint(squared, torch.ones(2))
    assert len(CALLS) == 1


def test_random_numbers_are_drawn_alike() -> None:
    x = torch.ones(100, requires_grad=True)
    torch.manual_seed(0)
    kept = on_demand_checkpoint(torch.nn.functional.dropout, x, 0.5)
    kept.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad != 0, kept != 0)
