"""Data parallelism: replicas that average their gradients while the backward still runs."""

from __future__ import annotations

import importlib
import importlib.util
import logging
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any, Literal

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.nn.parallel import DistributedDataParallel as TorchDistributedDataParallel

from haiscale.clip import clip_grad_norm_
from haiscale.errors import HaiscaleError
from haiscale.expert import average_replicas, expert_parameters
from haiscale.mesh import data_mesh_beside, tensor_mesh_of
from haiscale.shares import take_shares

logger = logging.getLogger("haiscale")

ReduceWith = Literal["auto", "hfreduce", "group"]
_BESIDE: dict[dist.ProcessGroup, dist.ProcessGroup] = {}


class DistributedDataParallel(TorchDistributedDataParallel):
    """torch's DistributedDataParallel whose gradients HFReduce adds on the processors.

    Each bucket of gradients is handed to HFReduce as soon as the backward has filled it, so that
    the reduction runs beside the rest of the backward. Where the package `hfreduce` is not
    installed, the process group's own backend reduces, and a warning says so once.

    Experts of `haiscale.expert.MoE` differ between ranks: they are left out, and averaged among
    the ranks that hold the same ones. Layers that `haiscale.tensor.parallelize` cut become plain
    shares, which are averaged among the ranks that hold the same share;
    `haiscale.shares.whole_state` joins them.

    Args:
        module: the replica.
        device_ids: as torch's; None for a module that is where it should be.
        process_group: the replicas; by default all ranks, or those beside the tensor-parallel
            ones.
        device_mesh: the replicas, in place of `process_group`.
        reduce_with: "hfreduce" or the "group"'s backend; by default HFReduce where it is there.
        **options: torch's other options.
    """

    def __init__(
        self,
        module: nn.Module,
        device_ids: list[int | torch.device] | None = None,
        process_group: dist.ProcessGroup | None = None,
        reduce_with: ReduceWith = "auto",
        device_mesh: DeviceMesh | None = None,
        **options: Any,
    ) -> None:
        if not dist.is_initialized():
            raise HaiscaleError(
                "DistributedDataParallel needs torch.distributed.init_process_group first"
            )
        if reduce_with not in ("auto", "hfreduce", "group"):
            raise HaiscaleError(
                f"reduce_with is {reduce_with!r}; it must be 'auto', 'hfreduce' or 'group'"
            )
        if device_mesh is not None:
            if process_group is not None or device_mesh.ndim != 1:
                raise HaiscaleError(
                    f"device_mesh has {device_mesh.ndim} dimensions; pass one of 1 and no"
                    " process_group, or process_group=mesh.dp_group of haiscale.mesh.make_mesh"
                )
            process_group = device_mesh.get_group()
        tensor = tensor_mesh_of(module)
        if tensor is not None:
            process_group = _beside_tensor(tensor, process_group)
            take_shares(module)
        experts = expert_parameters(module)
        if experts:
            TorchDistributedDataParallel._set_params_and_buffers_to_ignore_for_model(
                module, list(experts)
            )
        super().__init__(module, device_ids=device_ids, process_group=process_group, **options)
        for name, parameter in module.named_parameters():
            if name in experts and parameter.requires_grad:
                parameter.register_post_accumulate_grad_hook(average_replicas(experts[name]))
        hfreduce = _hfreduce(reduce_with)
        self.gradient_group: dist.ProcessGroup = self.process_group
        if hfreduce is not None:
            self.gradient_group = _beside(self.process_group)
            self.register_comm_hook(self.gradient_group, hfreduce.allreduce_hook)
        self.reducer: Any = Reducer(self.reducer, self._stop)
        self._stopped = False

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Run the replica."""
        if self._stopped and torch.is_grad_enabled() and self.training:
            raise HaiscaleError(
                "reducer.stop() was called, and gradients are no longer averaged: call it after"
                " the last step, or run under torch.no_grad()"
            )
        return super().forward(*inputs, **kwargs)  # type: ignore[no-untyped-call]

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scale the gradients to a norm of at most `max_norm`; see haiscale.clip."""
        return clip_grad_norm_(self, max_norm, norm_type)

    def register_comm_hook(self, state: object, hook: Callable[..., Any]) -> None:
        """Have a function reduce the buckets, as torch's."""
        if getattr(self, "gradient_group", self.process_group) is not self.process_group and (
            isinstance(self.reducer, Reducer)
        ):
            raise HaiscaleError(
                "HFReduce reduces the gradients already: pass reduce_with='group' to register a"
                " hook of your own"
            )
        wrapped = self.reducer
        self.reducer = wrapped.inner if isinstance(wrapped, Reducer) else wrapped
        try:
            super().register_comm_hook(state, hook)
        finally:
            self.reducer = wrapped

    def _stop(self) -> None:
        if not self._stopped:
            self._stopped = True
            dist.barrier(group=self.process_group)


class Reducer:
    """torch's reducer, which can also be told that training is over."""

    def __init__(self, inner: Any, stop: Callable[[], None]) -> None:
        self.inner = inner
        self.stop = stop
        """Wait for every replica, and train no further. Every rank calls it, before its end."""

    def __getattr__(self, name: str) -> Any:
        """Return what torch's reducer has."""
        return getattr(self.inner, name)


def gradient_group(module: TorchDistributedDataParallel) -> dist.ProcessGroup:
    """Return the group that reduces a replica's gradients."""
    group = module.gradient_group if isinstance(module, DistributedDataParallel) else None
    return group or module.process_group


def _beside_tensor(tensor: DeviceMesh, group: dist.ProcessGroup | None) -> dist.ProcessGroup:
    """Return the replicas of a share, none of which may hold another share."""
    if group is None:
        return data_mesh_beside(tensor, None).get_group()
    sharers = set(dist.get_process_group_ranks(tensor.get_group()))
    both = sharers & set(dist.get_process_group_ranks(group))
    if len(both) > 1:
        raise HaiscaleError(
            f"process_group and the module's tensor-parallel ranks have {sorted(both)} in common,"
            " which hold different shares: pass process_group=mesh.dp_group of the same"
            " haiscale.mesh.make_mesh"
        )
    return group


def _beside(group: dist.ProcessGroup) -> dist.ProcessGroup:
    """Return the group of the same ranks that HFReduce serves; replicas share it.

    It lives as long as the process: the name of one that is destroyed would be given again.
    """
    if group not in _BESIDE:
        _BESIDE[group] = dist.new_group(
            dist.get_process_group_ranks(group),
            backend="hfreduce",
            use_local_synchronization=True,
        )
    return _BESIDE[group]


def _hfreduce(reduce_with: ReduceWith) -> ModuleType | None:
    if reduce_with == "group":
        return None
    module, why_not = _load_hfreduce()
    if module is None and reduce_with == "hfreduce":
        raise HaiscaleError(
            f"reduce_with is 'hfreduce', but {why_not}: install hfreduce's wheel, built from"
            " stack/hfreduce of the same repository, or pass reduce_with='group'"
        )
    return module


@cache
def _load_hfreduce() -> tuple[ModuleType | None, str]:
    if importlib.util.find_spec("hfreduce") is None:
        why_not = "the package hfreduce is not installed"
    else:
        try:
            return importlib.import_module("hfreduce.torch"), ""
        except (ImportError, OSError) as error:
            why_not = f"hfreduce.torch does not load ({error})"
    logger.warning(
        "haiscale: %s; gradients are reduced by the process group's own backend", why_not
    )
    return None, why_not
