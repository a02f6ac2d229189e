"""Fully sharded data parallelism: every rank keeps a share of each parameter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor
from torch.optim import Optimizer

from haiscale.errors import HaiscaleError
from haiscale.expert import expert_parameters
from haiscale.fsdp.fused import FusedOptimizer
from haiscale.fsdp.summon import whole_parameters
from haiscale.fsdp.wrapping import BackwardPrefetch, Policy, blocks_of, fetch_ahead


class FullyShardedDataParallel(nn.Module):
    """A replica of which each rank keeps a share, and gathers a block when it computes with it.

    Blocks are gathered ahead of their use, forward and backward, and gradients are reduced as
    soon as a block's backward is done (ZeRO stage 3).

    Args:
        module: the replica, the same on every rank. It is sharded in place.
        process_group: the replicas; by default all ranks.
        auto_wrap_policy: which parts are blocks: a policy of `torch.distributed.fsdp.wrap`, or
            classes of modules. Without it the module is one block.
        backward_prefetch: when the next block is gathered in the backward.
        forward_prefetch: whether the next block is gathered while one computes.
        mixed_precision: types to compute and reduce in.
        reshard_after_forward: whether a block is let go of between forward and backward.
    """

    def __init__(
        self,
        module: nn.Module,
        process_group: dist.ProcessGroup | None = None,
        auto_wrap_policy: Policy | Iterable[type[nn.Module]] | None = None,
        backward_prefetch: BackwardPrefetch = BackwardPrefetch.BACKWARD_PRE,
        forward_prefetch: bool = True,
        mixed_precision: MixedPrecisionPolicy | None = None,
        reshard_after_forward: bool = True,
    ) -> None:
        super().__init__()
        if not dist.is_initialized():
            raise HaiscaleError(
                "FullyShardedDataParallel needs torch.distributed.init_process_group first"
            )
        if experts := expert_parameters(module):
            raise HaiscaleError(
                f"{next(iter(experts))} is an expert, which other ranks do not hold: wrap the"
                " parts around the experts, or use DistributedDataParallel"
            )
        options: dict[str, Any] = {
            "mesh": _mesh(module, process_group),
            "mp_policy": mixed_precision or MixedPrecisionPolicy(),
            "reshard_after_forward": reshard_after_forward,
        }
        for name in blocks_of(module, auto_wrap_policy):
            fully_shard(module.get_submodule(name), **options)
        fully_shard(module, **options)
        fetch_ahead(module, backward_prefetch, forward=forward_prefetch)
        self.module = module
        self._optimizer: FusedOptimizer | None = None
        self._summoned = False

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Run the module, gathering its blocks."""
        if self._summoned:
            raise HaiscaleError(
                "the module is called inside summon_full_params(), which holds its parameters for"
                " reading and writing: leave it first"
            )
        return self.module(*inputs, **kwargs)

    def fuse_optimizer(
        self,
        kind: type[Optimizer],
        params: Iterable[Tensor] | Iterable[dict[str, Any]] | None = None,
        **options: Any,
    ) -> FusedOptimizer:
        """Have every parameter take its optimizer step as soon as its gradient is reduced.

        Args:
            kind: the optimizer, for example `torch.optim.AdamW`.
            params: parameters of this module, or groups of them; by default all.
            **options: for the optimizer, for example `lr=1e-3`.
        """
        if self._optimizer is not None:
            raise HaiscaleError(
                f"{type(self._optimizer).__name__} is fused already: a parameter cannot step twice"
            )
        names: dict[Tensor, str] = {p: name for name, p in self.named_parameters()}
        chosen = self.parameters() if params is None else params
        self._optimizer = FusedOptimizer(kind, chosen, names, options)
        return self._optimizer

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scale the gradients of all ranks to a norm of at most `max_norm`; return the old one."""
        if self._optimizer is not None:
            raise HaiscaleError(
                f"max_norm is {max_norm}, but the optimizer is fused into the backward: each"
                " gradient is spent before the norm of all is known; use the plain optimizer to"
                " clip by norm"
            )
        norm = nn.utils.clip_grad_norm_(self.parameters(), max_norm, norm_type)
        return norm.full_tensor() if isinstance(norm, DTensor) else norm

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Add gradients up on each rank, without reducing them, for the next backward outside."""
        root = self._root
        root.set_requires_gradient_sync(False)
        try:
            yield
        finally:
            root.set_requires_gradient_sync(True)

    @contextmanager
    def summon_full_params(self, writeback: bool = True) -> Iterator[None]:
        """Give `module` its whole parameters on every rank, to read, save or load them.

        Every rank must enter and leave. What a rank writes goes into its own share, so that all
        must write the same.

        Args:
            writeback: whether what was written is kept.
        """
        if self._summoned:
            raise HaiscaleError("summon_full_params() is entered twice: leave the first one")
        self._summoned = True
        try:
            with whole_parameters(self.module, writeback=writeback):
                yield
        finally:
            self._summoned = False

    @property
    def _root(self) -> FSDPModule:
        assert isinstance(self.module, FSDPModule)
        return self.module


def _mesh(module: nn.Module, group: dist.ProcessGroup | None) -> DeviceMesh:
    first = next(module.parameters(), None)
    if first is None:
        raise HaiscaleError(f"{type(module).__name__} has no parameters; there is nothing to shard")
    if group is None:
        return init_device_mesh(first.device.type, (dist.get_world_size(),))
    return DeviceMesh.from_group(group, first.device.type)
