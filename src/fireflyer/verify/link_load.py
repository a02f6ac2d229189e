"""How evenly routes use the links of every layer, for each class of destinations.

A pattern says who sends to whom; every pair of end ports is one flow. Links are compared
within a group: those that lead up from one leaf, down to one leaf, and so on. A destination
has one path from each leaf, so it cannot be divided: the best that routing can do is the mean
rounded up to whole destinations, and that, with the tolerance of the layer, is the limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fireflyer.design.routing_order import has_three_layers
from fireflyer.model.fabric import Fabric, Layer, Role
from fireflyer.verify.finding import Finding
from fireflyer.verify.hops import Hops

Floats: TypeAlias = NDArray[np.float64]

EVEN = 1.02
"""A link may carry this times the mean, rounded up to whole destinations."""
EVEN_CLASS_BETWEEN_ZONES = 1.5
"""The same for one class on the links between zones: routing evens their sum."""
EVEN_FAT_TREE = 1.1
"""The same for fat-tree routing (three layers), which evens all classes together alone; and one
destination more, as it counts every switch's ports for themselves."""
PART_LEAVES = 2
"""Destinations more, where leaves have other than a multiple of their uplinks in hosts: the
hosts of such a leaf shift what follows them in the routing order, at that leaf alone. All classes
together are shifted by one: they take ways in turn."""

LAYERS: Mapping[tuple[Layer, Layer], str] = {
    (Layer.LEAF, Layer.SPINE): "leaf to spine",
    (Layer.SPINE, Layer.CORE): "spine to core",
    (Layer.CORE, Layer.SPINE): "core to spine",
    (Layer.SPINE, Layer.LEAF): "spine to leaf",
    (Layer.LEAF, Layer.INTERZONE): "gateway to interzone",
    (Layer.INTERZONE, Layer.LEAF): "interzone to gateway",
}
"""Name of each layer of links, by the layers of the sender and the receiver."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkLoad:
    """The group of links of a layer that does worst under a pattern."""

    pattern: str
    layer: str
    links: int
    """Of the layer."""
    idle: int
    """Links without a flow in groups with two destinations a link or more."""
    group: str
    maximum: float
    """Destinations on the fullest link of the group."""
    mean: float
    limit: float
    usable_gbps: float
    """What the layer carries when its fullest links are full."""
    planned_gbps: float

    @property
    def ratio(self) -> float:
        return self.maximum / self.mean if self.mean else 1.0


@dataclass(frozen=True, slots=True)
class _Pattern:
    name: str
    source: Role | None
    target: Role | None
    in_zone: bool = False


PATTERNS = (
    _Pattern("all to all", None, None),
    _Pattern("to storage", None, Role.STORAGE),
    _Pattern("to compute", None, Role.COMPUTE),
    _Pattern("storage to compute", Role.STORAGE, Role.COMPUTE, in_zone=True),
)


def link_loads(fabric: Fabric, hops: Hops) -> tuple[LinkLoad, ...]:
    """Return the worst group of every layer under every pattern."""
    layers = _Layers(fabric, hops)
    whole = whole_leaves(fabric, hops)
    return tuple(
        load
        for pattern in PATTERNS
        for load in layers.loads(pattern, _tolerance(fabric, pattern, whole))
    )


def whole_leaves(fabric: Fabric, hops: Hops) -> bool:
    """Return whether every leaf has a multiple of its uplinks in hosts; gateways may differ."""
    hosts = np.bincount(hops.at_row, minlength=len(hops.leaves))
    leaves = [hops.switches[leaf] for leaf in hops.leaves.tolist()]
    return all(
        name in fabric.gateways or not count % fabric.leaf_uplinks[name]
        for name, count in zip(leaves, hosts.tolist(), strict=True)
    )


def _tolerance(fabric: Fabric, pattern: _Pattern, whole: bool) -> Callable[[str, float], float]:
    """Return the rule that gives a link's limit: layer, mean in destinations to destinations."""
    fat_tree = has_three_layers(fabric)
    by_class = pattern.target is not None

    def limit(layer: str, mean: float) -> float:
        if fat_tree and by_class:
            return math.inf
        even = EVEN_FAT_TREE if fat_tree else EVEN
        if by_class and "interzone" in layer:
            even = EVEN_CLASS_BETWEEN_ZONES
        spare = int(fat_tree) if whole or fat_tree else PART_LEAVES if by_class else 1
        return math.ceil(round(mean * even, 6)) + spare

    return limit


class _Layers:
    """The groups of every layer's links."""

    def __init__(self, fabric: Fabric, hops: Hops) -> None:
        self._fabric, self._hops = fabric, hops
        self._names: list[str] = []
        """Layer and name of each group."""
        self._layer_of: list[str] = []
        self._group = np.full(hops.channels, -1, dtype=np.int32)
        known: dict[tuple[str, str], int] = {}
        for channel, sender, receiver in hops.links():
            one, two = fabric.switch[sender], fabric.switch[receiver]
            layer = LAYERS.get((one.layer, two.layer))
            if layer is None:
                continue
            lower = one if one.layer is Layer.LEAF or two.layer is Layer.CORE else two
            name = lower.name if lower.layer is Layer.LEAF else self._pod(lower.index, lower.tree)
            key = (layer, name)
            if key not in known:
                known[key] = len(self._names)
                self._names.append(name)
                self._layer_of.append(layer)
            self._group[channel] = known[key]

    def _pod(self, index: int, tree: str | None) -> str:
        intent = self._fabric.intent.fabric
        pod = index // (intent.spine.count // intent.pods_per_zone)
        return f"{tree} pod {pod + 1}"

    def _flows(self, pattern: _Pattern) -> Floats:
        """Return the flows from each leaf to each destination."""
        hops = self._hops
        sends = np.array([pattern.source in (None, role) for role in hops.roles])
        gets = np.array([pattern.target in (None, role) for role in hops.roles])
        flows = np.zeros((len(hops.leaves), len(hops.lids)))
        for tree in range(len(self._fabric.trees)):
            there = hops.trees == tree
            sources = np.bincount(hops.at_row[sends & there], minlength=len(hops.leaves))
            targets = gets & there if pattern.in_zone else gets
            flows += sources[:, None] * targets[None, :]
        flows[hops.at_row, np.arange(len(hops.lids))] = 0  # a leaf's own hosts
        return flows

    def loads(self, pattern: _Pattern, limit: Callable[[str, float], float]) -> Iterator[LinkLoad]:
        """Yield the worst group of each layer."""
        hops, groups = self._hops, len(self._names)
        flows = self._flows(pattern)
        load = np.zeros(hops.channels)
        passed = np.zeros((groups, len(hops.lids)))
        for step in hops.steps:
            rows, columns = np.nonzero(step >= 0)
            channels, weight = step[rows, columns], flows[rows, columns]
            load += np.bincount(channels, weights=weight, minlength=hops.channels)
            group = self._group[channels]
            known = group >= 0
            np.add.at(passed, (group[known], columns[known]), weight[known])
        unit = passed.max(axis=1, initial=0.0)
        of_group = [load[self._group == group] for group in range(groups)]
        for layer in LAYERS.values():
            members = [g for g in range(groups) if self._layer_of[g] == layer and unit[g]]
            if members:
                yield self._worst(pattern.name, layer, members, of_group, unit, limit)

    def _worst(
        self,
        pattern: str,
        layer: str,
        members: list[int],
        of_group: list[Floats],
        unit: Floats,
        limit: Callable[[str, float], float],
    ) -> LinkLoad:
        rows = []
        for group in members:
            links = of_group[group] / unit[group]
            bound = limit(layer, float(links.mean()))
            rows.append((float(links.max()), float(links.mean()), bound, group))
        maximum, mean, bound, worst = max(rows, key=lambda row: (row[0] - row[2], row[0] / row[1]))
        if math.isinf(bound):
            maximum, mean, bound, worst = max(rows, key=lambda row: row[0] / row[1])
        gbps = self._fabric.family.gbps
        idle = sum(int((of_group[g] == 0).sum()) for _, mean_of, _, g in rows if mean_of >= 2.0)
        return LinkLoad(
            pattern=pattern,
            layer=layer,
            links=sum(len(of_group[g]) for g in members),
            idle=idle,
            group=self._names[worst],
            maximum=maximum,
            mean=mean,
            limit=bound,
            usable_gbps=gbps * sum(len(of_group[g]) * m / top for top, m, _, g in rows),
            planned_gbps=float(gbps * sum(len(of_group[g]) for g in members)),
        )


def load_findings(loads: tuple[LinkLoad, ...]) -> tuple[Finding, ...]:
    """Return the layers whose fullest link is over its limit, or that have idle links."""
    findings = []
    for load in loads:
        if load.maximum > load.limit + 1e-6:
            findings.append(
                Finding(
                    "balance",
                    f"{load.pattern}, {load.layer} at {load.group}",
                    f"one link carries {load.maximum:.4g} destinations, the mean is"
                    f" {load.mean:.2f}, the limit {load.limit:g}; the layer carries"
                    f" {load.usable_gbps / 1000:.1f} of {load.planned_gbps / 1000:.1f} Tb/s",
                    "check guid-routing-order.conf and the links of the layer",
                )
            )
        elif load.idle and load.pattern == "all to all":
            findings.append(
                Finding(
                    "capacity",
                    f"{load.pattern}, {load.layer}",
                    f"{load.idle} of {load.links} links carry nothing: the layer carries"
                    f" {load.usable_gbps / 1000:.1f} of {load.planned_gbps / 1000:.1f} Tb/s",
                    "check the links of the layer, and how they are spread over switches",
                )
            )
    return tuple(findings)
