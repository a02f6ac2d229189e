"""Process groups of all ranks at once, and how many ranks a node runs."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import torch.distributed as dist

from haiscale.errors import HaiscaleError

logger = logging.getLogger("haiscale")


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
