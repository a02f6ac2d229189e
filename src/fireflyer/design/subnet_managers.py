"""Which host ports a subnet manager still reaches when devices are gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fireflyer.design.plan.tree_graph import TreeGraph
from fireflyer.model.fabric import Fabric

Reached = NDArray[np.bool_]


class Managed:
    """The subnet managers of a fabric and the leaves that they reach."""

    def __init__(
        self,
        fabric: Fabric,
        graphs: Mapping[str, TreeGraph],
        interzone: Sequence[tuple[str, str]],
    ) -> None:
        """Keep the trees; `interzone` has the ends of the links between zones, gateway first."""
        self._fabric, self._graphs, self._interzone = fabric, graphs, interzone
        self._ports: Mapping[str, Counter[str]] = {tree: Counter() for tree in graphs}
        for node in fabric.nodes:
            for port in node.ports:
                self._ports[port.tree][port.leaf.device] += 1

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts of subnet managers, the master first; none on Ethernet."""
        return () if self._fabric.is_ethernet else self._fabric.intent.services.subnet_manager

    def ports_without(
        self,
        gone: Collection[str],
        *,
        tree: TreeGraph | None = None,
        interzone: Sequence[tuple[str, str]] | None = None,
    ) -> int:
        """Return the ports of working hosts on working leaves that no manager reaches.

        Args:
            gone: devices without power or path.
            tree: what is left of one tree, where a cable of it is lost.
            interzone: what is left of the links between zones, where one of them is lost.
        """
        if not self.hosts:
            return 0
        graphs = dict(self._graphs) | ({tree.name: tree} if tree is not None else {})
        start = {
            port.leaf.device
            for name in self.hosts
            if name not in gone
            for port in self._fabric.node[name].ports
            if port.leaf.device not in gone
        }
        links = self._interzone if interzone is None else interzone
        links = [(a, z) for a, z in dict.fromkeys(links) if a not in gone and z not in gone]
        reached = _reached(graphs, links, start, gone)
        total = sum(
            count
            for name, ports in self._ports.items()
            for leaf, count in ports.items()
            if leaf not in gone and leaf not in reached[name]
        )
        return total - sum(
            port.leaf.device not in gone and port.leaf.device not in reached[port.tree]
            for name in gone
            if name in self._fabric.node
            for port in self._fabric.node[name].ports
        )


def _reached(
    graphs: Mapping[str, TreeGraph],
    links: Sequence[tuple[str, str]],
    start: set[str],
    gone: Collection[str],
) -> Mapping[str, set[str]]:
    """Return the leaves of each tree that paths lead to from some leaves."""
    reached = {tree: start.intersection(graph.leaves) for tree, graph in graphs.items()}
    while True:
        for tree, graph in graphs.items():
            if reached[tree]:
                reached[tree] = _closure(graph, reached[tree], gone)
        known = set().union(*reached.values())
        between = {z for a, z in links if a in known}
        gateways = {a for a, z in links if z in between} - known
        if not gateways:
            return reached
        for tree, graph in graphs.items():
            reached[tree] |= gateways.intersection(graph.leaves)


def _closure(graph: TreeGraph, start: set[str], gone: Collection[str]) -> set[str]:
    """Return the leaves of one tree that paths lead to from some of its leaves."""
    left = graph.without_switches(gone)
    up, top = left.up > 0, left.top > 0
    leaves: Reached = np.array([name in start for name in left.leaves])
    spines: Reached = np.zeros(len(left.spines), dtype=bool)
    while True:
        spines = spines | up[leaves].any(axis=0)
        spines = spines | top[:, top[spines].any(axis=0)].any(axis=1)
        more = leaves | up[:, spines].any(axis=1)
        if (more == leaves).all():
            return {name for name, is_in in zip(left.leaves, leaves, strict=True) if is_in}
        leaves = more
