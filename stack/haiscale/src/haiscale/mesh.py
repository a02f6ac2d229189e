"""One device mesh of a job, from which every kind of parallelism takes its group."""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor

from haiscale.errors import HaiscaleError
from haiscale.groups import enumerate_groups, node_size
from haiscale.layout import Layout, check_spread, layout_of
from haiscale.node import NodeModel, plain_node

NAMES = ("pp", "replicate", "shard", "tp")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelMesh:
    """The groups of this rank.

    Attributes:
        layout: the degrees, and which rank stands where.
        device_mesh: all ranks, of the dimensions `pp`, `replicate`, `shard` and `tp`.
        dp_group: replicas of this rank's stage and share: for DistributedDataParallel.
        ep_group: ranks that between them hold every expert; None if one rank holds them all.
        expert_replicas: ranks that hold the same experts; None if no other does.
    """

    layout: Layout
    device_mesh: DeviceMesh
    dp_group: dist.ProcessGroup
    ep_group: dist.ProcessGroup | None
    expert_replicas: dist.ProcessGroup | None

    @property
    def pp_group(self) -> dist.ProcessGroup:
        """The ranks of this rank's pipeline, by stage."""
        return self.device_mesh.get_group("pp")

    @property
    def tp(self) -> DeviceMesh:
        """The ranks that share this rank's tensors: for `haiscale.tensor.parallelize`."""
        return self.device_mesh["tp"]

    @property
    def data(self) -> DeviceMesh:
        """The ranks of `dp_group`: for FullyShardedDataParallel.

        Of two dimensions where shards have replicas, so that parameters are sharded over the
        second and replicated over the first.
        """
        sharded = self.device_mesh["shard"]
        whole = sharded.size() == self.layout.dp
        return sharded if whole else self.device_mesh["replicate", "shard"]


def make_mesh(
    device_type: str,
    *,
    pp: int = 1,
    tp: int = 1,
    ep: int = 1,
    shard: int | None = None,
    node: NodeModel | None = None,
    ranks_per_node: int | None = None,
    nics_per_node: int = 1,
    co_locate_stages: bool = False,
) -> ParallelMesh:
    """Return the mesh of all ranks. Every rank must call it, alike.

    Ranks count through `tp` first, then data parallelism, then `pp`, as the planner places them.
    The data-parallel degree is what is left of the ranks.

    Args:
        device_type: "cuda" or "cpu".
        pp: stages of a pipeline.
        tp: ranks that share a tensor; inside what NVLink joins.
        ep: data-parallel ranks that between them hold every expert.
        shard: data-parallel ranks that FullyShardedDataParallel shards over, neighbours; by
            default all. Fewer are shards that have replicas.
        node: what NVLink joins; by default pairs of 8 GPUs.
        ranks_per_node: see `haiscale.pipeline.make_subgroups`.
        nics_per_node: likewise.
        co_locate_stages: likewise.
    """
    if not dist.is_initialized():
        raise HaiscaleError("make_mesh needs torch.distributed.init_process_group first")
    world = dist.get_world_size()
    layout = layout_of(world, pp=pp, tp=tp, ep=ep)
    (node or plain_node(8)).check_tp(tp)
    check_spread(
        layout,
        ranks_per_node or node_size(world, os.environ),
        nics_per_node=nics_per_node,
        co_locate_stages=co_locate_stages,
    )
    shard = layout.dp if shard is None else shard
    if shard < 1 or layout.dp % shard:
        raise HaiscaleError(
            f"shard is {shard}, which does not divide the {layout.dp} data-parallel ranks: take a"
            " divisor of them, or leave it out to shard over all"
        )
    sizes = (layout.pp, layout.dp // shard, shard, layout.tp)
    mesh = init_device_mesh(device_type, sizes, mesh_dim_names=NAMES)
    dp = mesh.get_group("shard") if shard == layout.dp else enumerate_groups(layout.dp_groups())
    experts, replicas = (dp if ep > 1 else None), None
    if 1 < ep < layout.dp:
        experts = enumerate_groups(layout.ep_groups())
        replicas = enumerate_groups(layout.expert_replicas())
    return ParallelMesh(
        layout=layout,
        device_mesh=mesh,
        dp_group=dp,
        ep_group=experts,
        expert_replicas=replicas,
    )


def tensor_mesh_of(module: nn.Module) -> DeviceMesh | None:
    """Return the mesh over which a module's layers are cut; None if none is."""
    return next((p.device_mesh for p in module.parameters() if isinstance(p, DTensor)), None)


def data_mesh_beside(tensor: DeviceMesh, group: dist.ProcessGroup | None) -> DeviceMesh:
    """Return the data-parallel part of the mesh that a tensor-parallel one was taken from.

    Args:
        tensor: as `parallelize` was given it.
        group: its ranks; None where the mesh has one other dimension.

    Raises:
        HaiscaleError: there is no such part.
    """
    root = tensor._get_root_mesh()
    others = [name for name in root.mesh_dim_names or () if root[name] != tensor]
    if group is None:
        wide = [name for name in others if root[name].size() > 1]
        if others and len(wide) <= 1:
            return root[(wide or others)[0]]
        why = f"its mesh has the dimensions {', '.join(wide)} beside" if wide else "it has no other"
    else:
        wanted = dist.get_process_group_ranks(group)
        for name in others:
            if dist.get_process_group_ranks(root.get_group(name)) == wanted:
                return root[name]
        why = f"process_group has the ranks {wanted}, which are no dimension of its mesh"
    raise _not_beside(why)


def check_beside(tensor: DeviceMesh, data: DeviceMesh) -> None:
    """Refuse a data-parallel mesh of another root than the tensor-parallel one's."""
    if tensor._get_root_mesh() != data._get_root_mesh():
        raise _not_beside("device_mesh is part of another mesh")


def _not_beside(why: str) -> HaiscaleError:
    return HaiscaleError(
        f"the module's layers are cut over tensor-parallel ranks, and {why}: make one mesh with"
        " haiscale.mesh.make_mesh, cut over its tp, and pass device_mesh=mesh.data or"
        " process_group=mesh.dp_group of it"
    )
