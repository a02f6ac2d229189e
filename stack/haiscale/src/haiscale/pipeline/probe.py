"""What passes between the stages: shapes and types, found by running one microbatch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from haiscale.errors import HaiscaleError
from haiscale.pipeline.stage import bare, dense


@dataclass(frozen=True, slots=True)
class Traffic:
    """What a stage takes and returns for a microbatch, as tensors on the meta device."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


def probe(
    modules: Mapping[int, nn.Module],
    owners: Mapping[int, int],
    group: dist.ProcessGroup,
    first_inputs: tuple[Any, ...],
    device: torch.device,
    *,
    training: bool,
) -> dict[int, Traffic]:
    """Send one real microbatch through the pipeline, and note what each stage saw.

    It runs real values, so that a layer which looks at them (a router, an embedding further
    down) works. Buffers and random states are as before afterwards.

    Args:
        modules: of this rank, by stage.
        owners: rank in the group, by stage.
        group: the ranks of the pipeline.
        first_inputs: one microbatch, as the first stage takes it.
        device: of the modules.
        training: whether floating-point activations will carry gradients.
    """
    rank, last = dist.get_rank(group), max(owners)
    seen: dict[int, Traffic] = {}
    passed: tuple[Any, ...] = first_inputs
    for stage in range(last + 1):
        owner = owners[stage]
        if rank != owner:
            continue
        if stage and owners[stage - 1] != rank:
            passed = _receive(owners[stage - 1], group, device)
        inputs = passed
        with _untouched(modules[stage], device):
            outputs = bare(modules[stage])(*inputs)
        passed = outputs if isinstance(outputs, tuple) else (outputs,)
        all_tensors(f"stage {stage} returns", passed)
        passed = passed if stage == last else dense(passed)
        seen[stage] = Traffic(
            _described(inputs, training=training and stage > 0),
            _described(passed, training=training),
        )
        if stage < last and owners[stage + 1] != rank:
            _send(passed, owners[stage + 1], group, device)
    return seen


@contextmanager
def _untouched(module: nn.Module, device: torch.device) -> Iterator[None]:
    before = [(buffer, buffer.clone()) for buffer in module.buffers()]
    devices = [device] if device.type != "cpu" else []
    with torch.random.fork_rng(devices, device_type="cuda"), torch.no_grad():
        yield
        for buffer, value in before:
            buffer.copy_(value)


def all_tensors(where: str, values: tuple[Any, ...]) -> None:
    """Refuse what cannot pass between stages."""
    for position, value in enumerate(values):
        if not isinstance(value, Tensor):
            raise HaiscaleError(
                f"{where} a {type(value).__name__} in place {position}; only tensors pass between"
                " the stages of a pipeline"
            )


def _described(values: tuple[Tensor, ...], *, training: bool) -> tuple[Tensor, ...]:
    return tuple(
        torch.empty_like(value, device="meta").requires_grad_(training and _has_gradient(value))
        for value in values
    )


def _has_gradient(value: Tensor) -> bool:
    return value.is_floating_point() or value.is_complex()


def _send(values: tuple[Tensor, ...], to: int, group: dist.ProcessGroup, at: torch.device) -> None:
    described = [(tuple(value.shape), value.dtype) for value in values]
    dist.send_object_list([described], group_dst=to, group=group, device=at)
    for value in values:
        dist.send(value, group_dst=to, group=group)


def _receive(source: int, group: dist.ProcessGroup, at: torch.device) -> tuple[Tensor, ...]:
    described: list[Any] = [None]
    dist.recv_object_list(described, group_src=source, group=group, device=at)
    values = tuple(torch.empty(shape, dtype=dtype, device=at) for shape, dtype in described[0])
    for value in values:
        dist.recv(value, group_src=source, group=group)
    return values
