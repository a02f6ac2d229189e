"""The process groups of a job with pipelines, placed as the paper places them."""

from __future__ import annotations

import os

import torch.distributed as dist

from haiscale.errors import HaiscaleError
from haiscale.groups import enumerate_groups, node_size
from haiscale.layout import check_spread, layout_of


def make_subgroups(
    pp_size: int,
    *,
    ranks_per_node: int | None = None,
    nics_per_node: int = 1,
    co_locate_stages: bool = False,
) -> tuple[dist.ProcessGroup, dist.ProcessGroup]:
    """Return this rank's data-parallel and pipeline-parallel groups. Every rank must call it.

    The ranks of a node come to the same stage of different pipelines, so that what they send
    through the node's adapter belongs to different data-parallel ranks.

    Args:
        pp_size: stages of a pipeline.
        ranks_per_node: by default `LOCAL_WORLD_SIZE`, which torchrun sets, or the world size over
            `WORLD_SIZE` where that counts nodes, as it does under HAI Platform.
        nics_per_node: adapters of a node, each of which serves as many of its ranks.
        co_locate_stages: allow neighbouring stages of one pipeline in a node, where there are
            fewer data-parallel ranks than GPUs in a node.
    """
    if not dist.is_initialized():
        raise HaiscaleError("make_subgroups needs torch.distributed.init_process_group first")
    world = dist.get_world_size()
    layout = layout_of(world, pp=pp_size)
    check_spread(
        layout,
        ranks_per_node or node_size(world, os.environ),
        nics_per_node=nics_per_node,
        co_locate_stages=co_locate_stages,
    )
    return enumerate_groups(layout.dp_groups()), enumerate_groups(layout.pp_groups())
