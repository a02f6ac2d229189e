"""Fully sharded data parallelism: every rank keeps a share of each parameter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import (
    CPUOffload,
    CPUOffloadPolicy,
    FSDPModule,
    MixedPrecision,
    MixedPrecisionPolicy,
    OffloadPolicy,
    ShardingStrategy,
    fully_shard,
)
from torch.optim import Optimizer

from haiscale.clip import clip_grad_norm_
from haiscale.errors import HaiscaleError
from haiscale.expert import average_replicas, expert_parameters
from haiscale.fsdp import arguments
from haiscale.fsdp.fused import FusedOptimizer
from haiscale.fsdp.optimizers import watch_steps, whole_states
from haiscale.fsdp.summon import whole_parameters
from haiscale.fsdp.wrapping import (
    BackwardPrefetch,
    Policy,
    blocks_of,
    check_prefetch,
    fetch_ahead,
)
from haiscale.mesh import check_beside, data_mesh_beside, tensor_mesh_of


class FullyShardedDataParallel(nn.Module):
    """A replica of which each rank keeps a share, and gathers a block when it computes with it.

    Blocks are gathered ahead of their use, forward and backward, and gradients are reduced as
    soon as a block's backward is done (ZeRO stage 3).

    Experts of `haiscale.expert.MoE` differ between ranks: they are not sharded, and averaged among
    the ranks that hold the same ones.

    Args:
        module: the replica, the same on every rank. It is sharded in place.
        process_group: the replicas; by default all ranks, or those beside the tensor-parallel
            ones.
        auto_wrap_policy: which parts are blocks: a policy of `torch.distributed.fsdp.wrap`, or
            classes of modules. Without it the module is one block.
        backward_prefetch: when the next block is gathered in the backward; torch's of the same
            names are taken.
        forward_prefetch: whether the next block is gathered while one computes.
        mixed_precision: types to compute and reduce in; torch's `MixedPrecision` is taken.
        reshard_after_forward: whether a block is let go of between forward and backward.
        device_mesh: the replicas, in place of `process_group`; of two dimensions, parameters are
            sharded over the second and replicated over the first.
        sharding_strategy: torch's, in place of `reshard_after_forward`.
        cpu_offload: whether shares stay in the processors' memory.
        ignored_modules: parts that are not sharded, and whose gradients nobody reduces.
        device_id: where to move the module first.
        use_orig_params: True, if anything.
        **others: other arguments of torch's first, each refused with what to write instead.
    """

    def __init__(
        self,
        module: nn.Module,
        process_group: dist.ProcessGroup | None = None,
        auto_wrap_policy: Policy | Iterable[type[nn.Module]] | None = None,
        backward_prefetch: BackwardPrefetch = BackwardPrefetch.BACKWARD_PRE,
        forward_prefetch: bool = True,
        mixed_precision: MixedPrecisionPolicy | MixedPrecision | None = None,
        reshard_after_forward: bool = True,
        *,
        device_mesh: DeviceMesh | None = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: CPUOffload | OffloadPolicy | bool | None = None,
        ignored_modules: Iterable[nn.Module] | None = None,
        device_id: int | torch.device | None = None,
        use_orig_params: bool | None = None,
        **others: Any,
    ) -> None:
        super().__init__()
        arguments.refuse_others(others)
        if not dist.is_initialized():
            raise HaiscaleError(
                "FullyShardedDataParallel needs torch.distributed.init_process_group first"
            )
        watch_steps()
        arguments.own_parameters(use_orig_params)
        reshards = arguments.reshards(sharding_strategy, device_mesh, asked=reshard_after_forward)
        prefetch = arguments.prefetch(backward_prefetch)
        check_prefetch(prefetch)
        module = arguments.moved(module, device_id)
        experts = expert_parameters(module)
        own = {module.get_parameter(name): layer for name, layer in experts.items()}
        policy = arguments.offload(cpu_offload)
        options: dict[str, Any] = {
            "mesh": _mesh(module, process_group, device_mesh),
            "mp_policy": arguments.precision(mixed_precision, module),
            "reshard_after_forward": reshards,
            "offload_policy": policy,
            "ignored_params": arguments.parameters_of(ignored_modules) | set(own),
        }
        for name in blocks_of(module, auto_wrap_policy):
            fully_shard(module.get_submodule(name), **options)
        fully_shard(module, **options)
        fetch_ahead(module, prefetch, forward=forward_prefetch)
        for parameter, layer in own.items():
            if parameter.requires_grad:
                parameter.register_post_accumulate_grad_hook(average_replicas(layer))
        self.module = module
        self.fused_optimizer: FusedOptimizer | None = None
        self._offloads = isinstance(policy, CPUOffloadPolicy)
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
        if self.fused_optimizer is not None:
            raise HaiscaleError(
                f"{type(self.fused_optimizer).__name__} is fused already: a parameter cannot step"
                " twice"
            )
        if self._offloads:
            raise HaiscaleError(
                "cpu_offload keeps gradients in the processors' memory, where they are known after"
                " the backward: use the plain optimizer"
            )
        names: dict[Tensor, str] = {p: name for name, p in self.named_parameters()}
        chosen = self.parameters() if params is None else params
        self.fused_optimizer = FusedOptimizer(kind, chosen, names, options)
        return self.fused_optimizer

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scale the gradients to a norm of at most `max_norm`; see haiscale.clip."""
        return clip_grad_norm_(self, max_norm, norm_type)

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
    def summon_full_params(
        self: nn.Module,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:
        """Give modules their whole parameters, to read, save or load them.

        Every rank must enter and leave. What a rank writes goes into its own share, so that all
        must write the same. The state dicts of its optimizers are whole in here on the first
        rank, and such a state is cut again once it is loaded. As torch's first, it may be called
        on the class, with any module that has sharded ones inside.

        Args:
            recurse: True: blocks inside are summoned too.
            writeback: whether what was written is kept.
            rank0_only: whether the other ranks keep their shares; with `writeback=False`.
            offload_to_cpu: whether whole parameters lie in the processors' memory.
            with_grads: False: gradients stay in shares.
        """
        if not recurse or with_grads:
            raise HaiscaleError(
                "summon_full_params is called with recurse=False or with_grads=True; it summons"
                " the parameters of the whole module, without gradients: read those from"
                " parameter.grad.full_tensor() on every rank"
            )
        if rank0_only and writeback:
            raise HaiscaleError(
                "summon_full_params is called with rank0_only=True and writeback=True, and the"
                " other ranks would not get what the first one writes: pass writeback=False to"
                " save, or rank0_only=False to load"
            )
        wrappers = [part for part in self.modules() if isinstance(part, FullyShardedDataParallel)]
        if not wrappers:
            raise HaiscaleError(
                f"{type(self).__name__} has no FullyShardedDataParallel inside: there is nothing to"
                " summon"
            )
        with ExitStack() as stack:
            for each in wrappers:
                stack.enter_context(
                    each._whole(writeback, rank0_only=rank0_only, to_cpu=offload_to_cpu)
                )
            yield

    @contextmanager
    def _whole(self, writeback: bool, *, rank0_only: bool, to_cpu: bool) -> Iterator[None]:
        if self._summoned:
            raise HaiscaleError("summon_full_params() is entered twice: leave the first one")
        self._summoned = True
        try:
            with (
                whole_states(self.module),
                whole_parameters(
                    self.module, writeback=writeback, rank0_only=rank0_only, to_cpu=to_cpu
                ),
            ):
                yield
        finally:
            self._summoned = False

    @property
    def _root(self) -> FSDPModule:
        assert isinstance(self.module, FSDPModule)
        return self.module


def _mesh(
    module: nn.Module, group: dist.ProcessGroup | None, mesh: DeviceMesh | None
) -> DeviceMesh:
    first = next(module.parameters(), None)
    if first is None:
        raise HaiscaleError(f"{type(module).__name__} has no parameters; there is nothing to shard")
    if group is not None and mesh is not None:
        raise HaiscaleError("process_group and device_mesh are both given: pass one of them")
    if group is not None and not isinstance(group, dist.ProcessGroup):
        raise HaiscaleError(
            f"process_group is a {type(group).__name__}; pass one group, or for shards that have"
            " replicas device_mesh=mesh.data of haiscale.mesh.make_mesh(..., shard=N)"
        )
    tensor = tensor_mesh_of(module)
    if tensor is not None and mesh is None:
        return data_mesh_beside(tensor, group)
    if mesh is not None:
        if tensor is not None:
            check_beside(tensor, mesh)
        return mesh
    if group is None:
        return init_device_mesh(first.device.type, (dist.get_world_size(),))
    return DeviceMesh.from_group(group, first.device.type)
