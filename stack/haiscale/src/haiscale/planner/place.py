"""Placing ranks: pipelines in blocks of nodes, blocks in zones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from haiscale.errors import HaiscaleError
from haiscale.layout import Layout
from haiscale.node import NodeModel
from haiscale.planner.plan import Host, PlacedRank, Plan, Zone
from haiscale.planner.rules import CROSSING_GPUS, check, shares_adapter

Shape = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Blocks:
    """How a job falls apart: blocks of nodes that hold whole pipelines, and stay in a zone.

    Attributes:
        replicas: data-parallel ranks of a block.
        nodes: of a block.
        together: blocks that must share a zone, for the experts they share.
        count: of blocks.
    """

    replicas: int
    nodes: int
    together: int
    count: int


def place(
    layout: Layout, node: NodeModel, zones: Sequence[Zone], *, co_locate_stages: bool = False
) -> Plan:
    """Return where every rank goes.

    Args:
        layout: the job's shape.
        node: what every node is.
        zones: the nodes to choose from.
        co_locate_stages: allow neighbouring stages of one pipeline to share a node.
    """
    node.check_tp(layout.tp)
    _check_zones(zones)
    blocks = _blocks(layout, node)
    hosts = _by_node_rank(_choose(layout, blocks, zones), blocks)
    ranks = _ranks(layout, node, hosts)
    if not co_locate_stages and (both := shares_adapter(ranks)):
        a, b = both
        raise HaiscaleError(
            f"dp is {layout.dp}, fewer than the GPUs that share an adapter: ranks {a.rank} and"
            f" {b.rank}, stages {a.pp} and {b.pp} of data-parallel rank {a.dp}, would share"
            f" adapter {a.nic} of {a.host}; take a dp of {len(node.gpus) // layout.tp} or more, a"
            " smaller pp, or --co-locate-stages"
        )
    return Plan(layout, node, hosts, ranks, check(layout, node, ranks))


def _check_zones(zones: Sequence[Zone]) -> None:
    names = [name for zone in zones for name in zone.nodes]
    twice = sorted({name for name in names if names.count(name) > 1}) if _repeats(names) else []
    if twice:
        raise HaiscaleError(f"{twice[0]} is named twice among the zones' nodes")
    if not names:
        raise HaiscaleError("the zones have no nodes; a job needs at least one")


def _repeats(names: list[str]) -> bool:
    return len(set(names)) != len(names)


def _blocks(layout: Layout, node: NodeModel) -> _Blocks:
    gpus = len(node.gpus)
    cells = gpus // layout.tp
    if layout.world <= gpus:
        return _Blocks(layout.dp, 1, 1, 1)
    if layout.dp > cells and layout.dp % cells:
        low = layout.dp // cells * cells
        raise HaiscaleError(
            f"dp is {layout.dp}, which is no multiple of the {cells} replicas that a node of"
            f" {gpus} GPUs holds at tp {layout.tp}: nodes are given out whole; take dp {low} or"
            f" {low + cells}"
        )
    replicas = min(layout.dp, cells)
    nodes, rest = divmod(replicas * layout.pp * layout.tp, gpus)
    if rest:
        raise HaiscaleError(
            f"{layout.world} ranks (dp {layout.dp} x pp {layout.pp} x tp {layout.tp}) do not fill"
            f" nodes of {gpus} GPUs: nodes are given out whole; take a multiple of {gpus} ranks"
        )
    return _Blocks(replicas, nodes, _together(layout, replicas), layout.dp // replicas)


def _together(layout: Layout, replicas: int) -> int:
    if replicas % layout.ep == 0:
        return 1
    if layout.ep % replicas:
        raise HaiscaleError(
            f"ep is {layout.ep}, which neither divides the {replicas} data-parallel ranks of a node"
            f" nor is a multiple of them: its all-to-all would cut nodes apart; take ep {replicas}"
        )
    return layout.ep // replicas


def _choose(layout: Layout, blocks: _Blocks, zones: Sequence[Zone]) -> list[list[Host]]:
    """Return the hosts of each block, zone after zone."""
    unit = blocks.nodes * blocks.together
    units = blocks.count // blocks.together
    room = {zone.name: len(zone.nodes) // unit for zone in zones}
    fits = [zone for zone in zones if room[zone.name] >= units]
    if fits:
        chosen = [min(fits, key=lambda zone: len(zone.nodes))]
    else:
        chosen = sorted(zones, key=lambda zone: -room[zone.name])
    has = ", ".join(f"{zone.name} {len(zone.nodes)}" for zone in zones)
    if sum(room[zone.name] for zone in chosen) < units:
        raise HaiscaleError(
            f"the job needs {units} times {unit} nodes, each time in one zone, so that pipelines"
            f" and experts stay inside; the zones have {has}: take a smaller job, or a pp"
            f" (now {layout.pp}) or ep (now {layout.ep}) that fits a zone"
        )
    if len(chosen) > 1 and layout.world < CROSSING_GPUS:
        raise HaiscaleError(
            f"the job needs {units * unit} nodes, and no zone has them together ({has}): a job of"
            f" {layout.world} GPUs may not cross zones, which begins at {CROSSING_GPUS}; wait for"
            " nodes of one zone"
        )
    found: list[list[Host]] = []
    for zone in chosen:
        for _ in range(min(room[zone.name], units)):
            units -= 1
            for _ in range(blocks.together):
                start = sum(len(block) for block in found if block[0].zone == zone.name)
                names = zone.nodes[start : start + blocks.nodes]
                found.append([Host(name, zone.name) for name in names])
    return found


def _by_node_rank(found: list[list[Host]], blocks: _Blocks) -> tuple[Host, ...]:
    """Return the first host of every block, then the second: stage after stage."""
    return tuple(block[step] for step in range(blocks.nodes) for block in found)


def _ranks(layout: Layout, node: NodeModel, hosts: tuple[Host, ...]) -> tuple[PlacedRank, ...]:
    order = node.order(layout.tp)
    placed = []
    for rank in range(layout.world):
        node_rank, local_rank = divmod(rank, len(node.gpus))
        host, where = hosts[node_rank], layout.place(rank)
        placed.append(
            PlacedRank(
                rank=rank,
                host=host.name,
                zone=host.zone,
                local_rank=local_rank,
                gpu=order[local_rank],
                nic=node.nic_of(order[local_rank]),
                pp=where.pp,
                dp=where.dp,
                tp=where.tp,
                ep=where.dp % layout.ep,
            )
        )
    return tuple(placed)
