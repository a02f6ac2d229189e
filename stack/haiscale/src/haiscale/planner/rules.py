"""The rules of placement, checked on the placed ranks and on nothing else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TypeVar

from haiscale.layout import Layout
from haiscale.node import NodeModel
from haiscale.planner.plan import PlacedRank, Rule

CROSSING_GPUS = 128
"""GPUs from which a job may cross zones (paper, Figure 7); smaller ones never need to."""

Key = TypeVar("Key")


def check(layout: Layout, node: NodeModel, ranks: Sequence[PlacedRank]) -> tuple[Rule, ...]:
    """Return how each rule fares."""
    return (
        _tensor(layout, node, ranks),
        _pipeline_senders(layout, node, ranks),
        _pipeline_zone(layout, ranks),
        _expert(layout, ranks),
        _data(layout, ranks),
        _whole_nodes(node, ranks),
    )


def shares_adapter(ranks: Sequence[PlacedRank]) -> tuple[PlacedRank, PlacedRank] | None:
    """Return two stages of one replica that send through one adapter, if there are."""
    if len({rank.host for rank in ranks}) == 1:
        return None
    seen: dict[tuple[str, int, int, int], PlacedRank] = {}
    for rank in ranks:
        key = (rank.host, rank.nic, rank.dp, rank.tp)
        if key in seen and seen[key].pp != rank.pp:
            return seen[key], rank
        seen[key] = rank
    return None


def _tensor(layout: Layout, node: NodeModel, ranks: Sequence[PlacedRank]) -> Rule:
    name = "tensor parallelism inside NVLink"
    if layout.tp == 1:
        return Rule(name, "not in play", "tp is 1")
    joined = [set(group) for group in node.nvlink]
    for group in _grouped(ranks, lambda rank: (rank.pp, rank.dp)):
        gpus = {rank.gpu for rank in group}
        if len({rank.host for rank in group}) > 1 or not any(gpus <= each for each in joined):
            return Rule(name, "broken", f"NVLink does not join ranks {_listed(group)}")
    pairs = " ".join("-".join(map(str, group)) for group in node.nvlink)
    why = f"each {layout.tp} ranks of a tensor sit on GPUs that NVLink joins: {pairs}"
    if node.nvlink_assumed:
        why += " (assumed; nvidia-smi topo -m tells)"
    return Rule(name, "kept", why)


def _pipeline_senders(layout: Layout, node: NodeModel, ranks: Sequence[PlacedRank]) -> Rule:
    name = "a node's GPUs in different data-parallel ranks"
    if layout.pp == 1:
        return Rule(name, "not in play", "pp is 1")
    if len({rank.host for rank in ranks}) == 1:
        return Rule(name, "not in play", "the job is on one node and sends through no adapter")
    most = max(len(group) for group in _grouped(ranks, lambda rank: (rank.host, rank.nic)))
    if shares_adapter(ranks) is None:
        stages = {len({r.pp for r in group}) for group in _grouped(ranks, lambda r: r.host)}
        where = "at one stage" if stages == {1} else f"at up to {max(stages)} stages"
        return Rule(
            name,
            "kept",
            f"the {most} GPUs behind an adapter are {where} of different pipelines, so that no"
            " pipeline meets itself there",
        )
    for group in _grouped(ranks, lambda rank: (rank.host, rank.dp, rank.tp)):
        here = sorted(rank.pp for rank in group)
        if here != list(range(here[0], here[-1] + 1)):
            return Rule(
                name,
                "broken",
                f"stages {', '.join(map(str, here))} of data-parallel rank {group[0].dp} share"
                f" {group[0].host} and are no neighbours",
            )
    return Rule(
        name,
        "weakened",
        f"{layout.dp} data-parallel ranks are fewer than the {most} GPUs behind an adapter;"
        " neighbouring stages share a node, so that of each pipeline one GPU sends forward and"
        " one backward",
    )


def _pipeline_zone(layout: Layout, ranks: Sequence[PlacedRank]) -> Rule:
    name = "pipelines inside a zone"
    if layout.pp == 1:
        return Rule(name, "not in play", "pp is 1")
    for group in _grouped(ranks, lambda rank: (rank.dp, rank.tp)):
        if len({rank.zone for rank in group}) > 1:
            return Rule(name, "broken", f"the pipeline of ranks {_listed(group)} crosses zones")
    return Rule(name, "kept", f"the {layout.pp} stages of each pipeline are in one zone")


def _expert(layout: Layout, ranks: Sequence[PlacedRank]) -> Rule:
    name = "experts close together"
    if layout.ep == 1:
        return Rule(name, "not in play", "ep is 1")
    groups = _grouped(ranks, lambda rank: (rank.pp, rank.tp, rank.dp // layout.ep))
    for group in groups:
        if len({rank.zone for rank in group}) > 1:
            return Rule(name, "broken", f"the all-to-all of ranks {_listed(group)} crosses zones")
    nodes = max(len({rank.host for rank in group}) for group in groups)
    if nodes == 1:
        return Rule(name, "kept", f"the all-to-all of each {layout.ep} ranks stays in a node")
    return Rule(
        name, "kept", f"the all-to-all of each {layout.ep} ranks spans {nodes} nodes of one zone"
    )


def _data(layout: Layout, ranks: Sequence[PlacedRank]) -> Rule:
    name = "one crossing between zones"
    zones = list(dict.fromkeys(rank.zone for rank in ranks))
    if len(zones) == 1:
        return Rule(name, "kept", f"the job is in zone {zones[0]} alone")
    if layout.world < CROSSING_GPUS:
        return Rule(name, "broken", f"{layout.world} GPUs cross zones, under {CROSSING_GPUS}")
    for group in _grouped(ranks, lambda rank: (rank.pp, rank.tp)):
        if sum(a.zone != b.zone for a, b in pairwise(group)) != len(zones) - 1:
            return Rule(
                name, "broken", f"the group of rank {group[0].rank} changes zone to and fro"
            )
    return Rule(
        name,
        "kept",
        f"each data-parallel group goes through {' then '.join(zones)} and changes"
        f" zone {len(zones) - 1}x along its ranks (a ring closes with one more); the job has"
        f" {layout.world} GPUs, and from {CROSSING_GPUS} it may cross",
    )


def _whole_nodes(node: NodeModel, ranks: Sequence[PlacedRank]) -> Rule:
    name = "whole nodes"
    per_host = {len(group) for group in _grouped(ranks, lambda rank: rank.host)}
    if per_host == {len(node.gpus)}:
        return Rule(name, "kept", f"every node runs {len(node.gpus)} ranks")
    return Rule(name, "weakened", f"the job leaves {len(node.gpus) - len(ranks)} GPUs of its node")


def _listed(group: list[PlacedRank]) -> str:
    return ", ".join(str(rank.rank) for rank in group)


def _grouped(
    ranks: Iterable[PlacedRank], key: Callable[[PlacedRank], Key]
) -> list[list[PlacedRank]]:
    groups: defaultdict[Key, list[PlacedRank]] = defaultdict(list)
    for rank in ranks:
        groups[key(rank)].append(rank)
    return list(groups.values())
