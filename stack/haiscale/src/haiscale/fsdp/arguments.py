"""Arguments of torch's first FullyShardedDataParallel, for the second, which does the work."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
import torch.distributed.fsdp as torch_fsdp
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import (
    CPUOffload,
    CPUOffloadPolicy,
    MixedPrecision,
    MixedPrecisionPolicy,
    OffloadPolicy,
    ShardingStrategy,
)

from haiscale.errors import HaiscaleError
from haiscale.fsdp.wrapping import BackwardPrefetch

INSTEAD = {
    "sync_module_states": "make the module alike on every rank (one seed, or one checkpoint)",
    "param_init_fn": "initialise the module before it is wrapped",
    "limit_all_gathers": "leave it out: a block is gathered at most one ahead",
    "ignored_states": "pass the modules that hold them as ignored_modules=",
    "ignored_parameters": "pass the modules that hold them as ignored_modules=",
    "reshard_after_backward": "leave it out: blocks are let go of after their backward",
}
"""What to do in place of an argument that is not taken."""

_HYBRID = {ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2}
_RESHARDS = {ShardingStrategy.FULL_SHARD, ShardingStrategy.HYBRID_SHARD}


def refuse_others(others: dict[str, Any]) -> None:
    """Refuse arguments that are not taken, with what to write instead."""
    for name in others:
        if name in INSTEAD:
            raise HaiscaleError(f"{name} is not taken: {INSTEAD[name]}")
        raise TypeError(f"FullyShardedDataParallel has no argument {name!r}")


def reshards(strategy: ShardingStrategy | None, mesh: DeviceMesh | None, *, asked: bool) -> bool:
    """Return whether a block is let go of between forward and backward."""
    if strategy is None:
        return asked
    if strategy is ShardingStrategy.NO_SHARD:
        raise HaiscaleError(
            "sharding_strategy is NO_SHARD, which shards nothing: use"
            " haiscale.ddp.DistributedDataParallel"
        )
    if not isinstance(strategy, ShardingStrategy):
        raise HaiscaleError(
            f"sharding_strategy is {strategy!r}; it must be a torch.distributed.fsdp"
            ".ShardingStrategy"
        )
    if strategy in _HYBRID and (mesh is None or mesh.ndim != 2):
        raise HaiscaleError(
            f"sharding_strategy is {strategy.name}, and nothing says which ranks share a shard:"
            " pass device_mesh=mesh.data of haiscale.mesh.make_mesh(..., shard=N)"
        )
    return asked and strategy in _RESHARDS


def precision(
    given: MixedPrecisionPolicy | MixedPrecision | None, module: nn.Module
) -> MixedPrecisionPolicy:
    """Return the policy; buffers are cast at once, if that is asked for."""
    if not isinstance(given, MixedPrecision):
        return given or MixedPrecisionPolicy()
    if given.keep_low_precision_grads:
        raise HaiscaleError(
            "mixed_precision has keep_low_precision_grads; gradients are kept in the parameters'"
            " type: leave it out, and cast the module to train in a narrower type"
        )
    if given.buffer_dtype is not None:
        for buffer in module.buffers():
            if buffer.is_floating_point():
                buffer.data = buffer.to(given.buffer_dtype)
    return MixedPrecisionPolicy(
        param_dtype=given.param_dtype,
        reduce_dtype=given.reduce_dtype or given.param_dtype,
        cast_forward_inputs=given.cast_root_forward_inputs,
    )


def offload(given: CPUOffload | OffloadPolicy | bool | None) -> OffloadPolicy:
    """Return where shares stay while they are not in use."""
    if isinstance(given, OffloadPolicy):
        return given
    asked = given.offload_params if isinstance(given, CPUOffload) else bool(given)
    return CPUOffloadPolicy(pin_memory=torch.cuda.is_available()) if asked else OffloadPolicy()


def prefetch(given: Any) -> BackwardPrefetch:
    """Return this package's member for torch's of the same name; others as they are."""
    if isinstance(given, torch_fsdp.BackwardPrefetch):
        return BackwardPrefetch[given.name]
    return given  # type: ignore[no-any-return]


def own_parameters(use_orig_params: bool | None) -> None:
    """Refuse parameters end to end in one, which torch's first had by default."""
    if use_orig_params is False:
        raise HaiscaleError(
            "use_orig_params is False, and there are no flat parameters: parameters(), names and"
            " optimizer groups are the module's own; leave it out or pass True"
        )


def moved(module: nn.Module, device_id: int | torch.device | None) -> nn.Module:
    """Move a module to where it is to be sharded."""
    if device_id is None:
        return module
    device = torch.device("cuda", device_id) if isinstance(device_id, int) else device_id
    return module.to(device)


def parameters_of(modules: Iterable[nn.Module] | None) -> set[nn.Parameter]:
    """Return the parameters of the modules that are not sharded."""
    chosen = list(modules or ())
    for each in chosen:
        if not isinstance(each, nn.Module):
            raise HaiscaleError(
                f"ignored_modules has a {type(each).__name__}; it takes modules of the one that is"
                " wrapped"
            )
    return {parameter for each in chosen for parameter in each.parameters()}
