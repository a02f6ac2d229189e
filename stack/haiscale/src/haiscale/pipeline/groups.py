"""The process groups of a job with pipelines, placed as the paper places them."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping

import torch.distributed as dist

from haiscale.errors import HaiscaleError
from haiscale.layout import check_spread, layout_of

logger = logging.getLogger("haiscale")


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


def enumerate_groups(groups: list[list[int]]) -> dist.ProcessGroup:
    """Make groups that between them hold every rank, on every rank; return this rank's."""
    mine: dist.ProcessGroup | None
    mine, _ = dist.new_subgroups_by_enumeration(groups)
    if mine is None:  # pragma: no cover - a layout's groups hold every rank
        raise HaiscaleError(f"rank {dist.get_rank()} is in none of {groups}")
    return mine


def node_size(world: int, environ: Mapping[str, str]) -> int:
    """Return how many ranks a node runs, from what the launcher said."""
    if "LOCAL_WORLD_SIZE" in environ:
        return _number("LOCAL_WORLD_SIZE", environ["LOCAL_WORLD_SIZE"])
    nodes = _number("WORLD_SIZE", environ.get("WORLD_SIZE", "1"))
    if nodes < world and world % nodes == 0:
        return world // nodes
    logger.warning(
        "haiscale: neither LOCAL_WORLD_SIZE nor WORLD_SIZE says how many ranks a node runs;"
        " taking all %d for those of one node, which sends nothing between nodes",
        world,
    )
    return world


def _number(name: str, value: str) -> int:
    if not value.isdecimal() or int(value) < 1:
        raise HaiscaleError(f"{name} is {value!r}; it must be a whole number from 1")
    return int(value)
