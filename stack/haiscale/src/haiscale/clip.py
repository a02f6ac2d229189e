"""One norm of all gradients of a model, however its parameters are spread over ranks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate
from torch.distributed.tensor.placement_types import Placement

from haiscale.errors import HaiscaleError
from haiscale.expert import expert_parameters
from haiscale.shares import share_of

Groups = tuple[dist.ProcessGroup, ...]


@runtime_checkable
class Staged(Protocol):
    """A pipeline: a model of which the ranks of a group hold different stages."""

    process_group: dist.ProcessGroup
    stage_count: int


@dataclass(frozen=True, slots=True, eq=False)
class _Gradient:
    """What this rank has of a parameter's gradient, and the groups that hold the rest."""

    local: Tensor | None
    groups: Groups


def clip_grad_norm_(
    model: nn.Module,
    max_norm: float,
    norm_type: float = 2.0,
    *,
    error_if_nonfinite: bool = False,
) -> Tensor:
    """Scale the gradients of the whole model to a norm of at most `max_norm`.

    The norm is that of one process which held the model: over the shares of
    FullyShardedDataParallel and of tensors, over the experts of all ranks and the stages of a
    pipeline, with what several ranks hold alike counted once. Every rank that holds a part of the
    model must call it. `torch.nn.utils.clip_grad_norm_` sees this rank's experts and stage alone.

    Args:
        model: the model itself, and not its parameters: what DistributedDataParallel,
            FullyShardedDataParallel or a pipeline made, or a plain module.
        max_norm: the largest norm that is left as it is.
        norm_type: the p of the norm; `math.inf` for the largest gradient.
        error_if_nonfinite: whether a norm that is no number is an error.

    Returns:
        The norm before, the same on every rank.

    Raises:
        HaiscaleError: a part of a model was given, or an optimizer has spent the gradients.
    """
    if not isinstance(model, nn.Module):
        raise HaiscaleError(
            f"clip_grad_norm_ is given a {type(model).__name__}; pass the model, which knows the"
            " ranks that hold the rest of it, and not its parameters"
        )
    if not norm_type > 0:
        raise HaiscaleError(f"norm_type is {norm_type}; it must be above 0, or math.inf")
    pipelines = [part for part in model.modules() if isinstance(part, Staged)]
    _check_whole(model, pipelines, max_norm)
    gradients = list(_gradients(model))
    norm = _norm(gradients, [each.process_group for each in pipelines], norm_type)
    if error_if_nonfinite and not bool(norm.isfinite()):
        raise HaiscaleError(
            f"the norm of the gradients is {float(norm)}: look for an overflow, or pass"
            " error_if_nonfinite=False to scale by it nevertheless"
        )
    scale = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    with torch.no_grad():
        for gradient in gradients:
            if gradient.local is not None:
                gradient.local.mul_(scale.to(gradient.local.device))
    return norm


def _check_whole(model: nn.Module, pipelines: Sequence[Staged], max_norm: float) -> None:
    for part in model.modules():
        if getattr(part, "fused_optimizer", None) is not None:
            raise HaiscaleError(
                f"max_norm is {max_norm}, but the optimizer is fused into the backward: each"
                " gradient is spent before the norm of all is known; use the plain optimizer to"
                " clip by norm"
            )
        position = getattr(part, "stage_position", None)
        if position is not None and position.count > 1 and not pipelines:
            raise HaiscaleError(
                f"clip_grad_norm_ is given stage {position.index} of {position.count}, whose norm"
                " is not the model's: pass the pipeline that runs it"
            )


def _gradients(model: nn.Module) -> Iterator[_Gradient]:
    experts = {
        parameter: layer.group
        for name, layer in expert_parameters(model).items()
        if layer.group is not None
        for parameter in [model.get_parameter(name)]
    }
    seen: set[Tensor] = set()
    for part in model.modules():
        for name, parameter in part.named_parameters(recurse=False):
            if parameter in seen or not parameter.requires_grad:
                continue
            seen.add(parameter)
            if parameter in experts:
                yield _Gradient(parameter.grad, (experts[parameter],))
            elif isinstance(parameter, DTensor):
                yield _Gradient(
                    _local(parameter), _spread(parameter.device_mesh, parameter.placements)
                )
            elif (share := share_of(part, name)) is not None:
                yield _Gradient(parameter.grad, _spread(share.mesh, share.placements))
            else:
                yield _Gradient(parameter.grad, ())


def _local(parameter: DTensor) -> Tensor | None:
    gradient = parameter.grad
    if gradient is None:
        return None
    assert isinstance(gradient, DTensor)
    if gradient.placements != parameter.placements:  # a sum that is not yet taken
        gradient = gradient.redistribute(placements=parameter.placements)
        parameter.grad = gradient
    with torch.no_grad():
        return gradient.to_local()


def _spread(mesh: DeviceMesh, placements: tuple[Placement, ...]) -> Groups:
    """Return the groups whose ranks have different parts."""
    return tuple(
        mesh.get_group(dim)
        for dim, placement in enumerate(placements)
        if not isinstance(placement, Replicate) and mesh.size(dim) > 1
    )


def _norm(gradients: list[_Gradient], stages: list[dist.ProcessGroup], p: float) -> Tensor:
    """Return the norm over all ranks.

    Ranks of a group hold the same parameters of every kind, in the same order, and so reduce
    over the same groups in the same order, gradients or not.
    """
    kinds: dict[Groups, list[Tensor]] = {}
    for each in gradients:
        kinds.setdefault(each.groups, []).extend([] if each.local is None else [each.local])
    parts = [_summed(_power(found, p), groups, p) for groups, found in kinds.items()]
    total = _summed(_combined(parts, p), tuple(stages), p)
    return total if p == math.inf else total ** (1 / p)


def _power(found: list[Tensor], p: float) -> Tensor:
    """Return the sum of the powers of all elements, or the largest, in float32 or wider."""
    norms = []
    for each in found:
        wide = torch.promote_types(each.dtype, torch.float32)
        norm = torch.linalg.vector_norm(each.detach(), p, dtype=wide) if each.numel() else None
        norms += [] if norm is None else [norm if p == math.inf else norm**p]
    return _combined(norms, p)


def _combined(parts: list[Tensor], p: float) -> Tensor:
    if not parts:
        return torch.zeros((), dtype=torch.float64)
    # Of one type on every rank, whatever types of gradients this one has.
    stacked = torch.stack([each.to(parts[-1].device).double() for each in parts])
    return stacked.amax() if p == math.inf else stacked.sum()


def _summed(value: Tensor, groups: Groups, p: float) -> Tensor:
    for group in groups:
        value = value.to(_device(group))
        dist.all_reduce(value, dist.ReduceOp.MAX if p == math.inf else dist.ReduceOp.SUM, group)
    return value


def _device(group: dist.ProcessGroup) -> torch.device:
    """Return where a group's backend takes tensors."""
    kinds = {device.type for device in group._device_types}
    if "cpu" in kinds or not kinds:
        return torch.device("cpu")
    return torch.device(kinds.pop(), torch.accelerator.current_device_index())
