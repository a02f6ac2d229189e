"""A tree as matrices of cables, counted from the fabric: what its paths carry and what is left.

Everything here is a closed form on the counts; `tests/unit/test_plan_laws.py` holds it against
walks and maximum flows over the cables themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fireflyer.model.fabric import CableRole, Fabric, Layer

Counts = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TreeGraph:
    """The switches of one tree and the cables between them."""

    name: str
    gbps: int
    leaves: tuple[str, ...]
    spines: tuple[str, ...]
    cores: tuple[str, ...]
    up: Counts
    """Cables from each leaf (row) to each spine (column)."""
    top: Counts
    """Cables from each spine (row) to each core (column)."""
    host_ports: Counts
    """Ports of each leaf that lead nowhere up."""

    def without_switches(self, names: Collection[str]) -> TreeGraph:
        """Return the tree less some switches and their cables."""
        leaves = [row for row, name in enumerate(self.leaves) if name not in names]
        spines = [row for row, name in enumerate(self.spines) if name not in names]
        cores = [row for row, name in enumerate(self.cores) if name not in names]
        return replace(
            self,
            leaves=tuple(self.leaves[row] for row in leaves),
            spines=tuple(self.spines[row] for row in spines),
            cores=tuple(self.cores[row] for row in cores),
            up=self.up[np.ix_(leaves, spines)],
            top=self.top[np.ix_(spines, cores)],
            host_ports=self.host_ports[leaves],
        )

    def without_cable(self, lower: str, upper: str) -> TreeGraph:
        """Return the tree less one cable between two switches."""
        if lower in self.leaves:
            up = self.up.copy()
            up[self.leaves.index(lower), self.spines.index(upper)] -= 1
            return replace(self, up=up)
        top = self.top.copy()
        top[self.spines.index(lower), self.cores.index(upper)] -= 1
        return replace(self, top=top)


def tree_graphs(fabric: Fabric) -> tuple[TreeGraph, ...]:
    """Count the cables of every tree."""
    return tuple(_graph(fabric, tree, cables) for tree, cables in _cables(fabric).items())


def _cables(fabric: Fabric) -> dict[str, list[tuple[str, str]]]:
    """Return both ends of each cable between switches, by tree."""
    tree_of = {switch.name: switch.tree for switch in fabric.switches}
    found: dict[str, list[tuple[str, str]]] = {tree: [] for tree in fabric.trees}
    for cable in fabric.cables:
        if cable.role is CableRole.TREE:
            tree = tree_of[cable.a.device]
            assert tree is not None
            found[tree].append((cable.a.device, cable.z.device))
    return found


def _graph(fabric: Fabric, tree: str, cables: Iterable[tuple[str, str]]) -> TreeGraph:
    leaves = list(fabric.switches_of(Layer.LEAF, tree))
    spines = [switch.name for switch in fabric.switches_of(Layer.SPINE, tree)]
    cores = [switch.name for switch in fabric.switches_of(Layer.CORE, tree)]
    names = [leaf.name for leaf in leaves]
    row = {name: index for index, name in enumerate(names)}
    middle = {name: index for index, name in enumerate(spines)}
    column = {name: index for index, name in enumerate(cores)}
    up = np.zeros((len(names), len(spines)))
    top = np.zeros((len(spines), len(cores)))
    low = [(row[a], middle[z]) for a, z in cables if a in row]
    high = [(middle[a], column[z]) for a, z in cables if a in middle]
    for matrix, ends in ((up, low), (top, high)):
        if ends:
            np.add.at(matrix, tuple(np.array(ends).T), 1)
    return TreeGraph(
        name=tree,
        gbps=leaves[0].model.port_gbps,
        leaves=tuple(names),
        spines=tuple(spines),
        cores=tuple(cores),
        up=up,
        top=top,
        host_ports=np.array([leaf.model.ports for leaf in leaves], float) - up.sum(axis=1),
    )


def oversubscription(graph: TreeGraph) -> float:
    """Return host bandwidth over the bandwidth above it, at the worst leaf and spine.

    Infinite where a switch with something below it has nothing above.
    """
    leaf = _worst(graph.host_ports, graph.up.sum(axis=1))
    if not graph.cores:
        return leaf
    return max(leaf, leaf * _worst(graph.up.sum(axis=0), graph.top.sum(axis=1)))


def _worst(below: Counts, above: Counts) -> float:
    used = below > 0
    if not used.any():
        return 0.0
    if (above[used] == 0).any():
        return float("inf")
    return float((below[used] / above[used]).max())


def bisection_tbps(graph: TreeGraph) -> float:
    """Return what one half of the leaves' host ports can send to the other, Tb/s each way.

    Leaves are halved in order; one in the middle counts half on each side. It is the least of
    the cuts at hosts, at leaf uplinks, at spines and at cores.
    """
    count = len(graph.leaves)
    first = np.clip(count / 2 - np.arange(count), 0.0, 1.0)
    uplinks = np.minimum(graph.host_ports, graph.up.sum(axis=1))
    a, b = first @ graph.up, (1 - first) @ graph.up
    across = np.minimum(a, b).sum()
    if graph.cores:
        across += _through_cores(graph, a - b)
    return float(min(first @ uplinks, (1 - first) @ uplinks, across)) * graph.gbps / 1000


def hosts_tbps(graph: TreeGraph) -> float:
    """Return what half the host ports can send, Tb/s."""
    return float(graph.host_ports.sum()) / 2 * graph.gbps / 1000


def _through_cores(graph: TreeGraph, surplus: Counts) -> float:
    """Return what cores carry between spines whose leaves are more in one half (links).

    Each spine spreads evenly over its cores; where that is not the best it could do, as in a
    tree of an odd number of pods with few cores, this is a little less than the maximum flow.
    """
    above = graph.top.sum(axis=1)
    spread = np.clip(np.divide(surplus, above, where=above > 0, out=np.zeros_like(above)), -1, 1)
    there, here = np.maximum(spread, 0) @ graph.top, np.maximum(-spread, 0) @ graph.top
    return float(np.minimum(there, here).sum())


@dataclass(frozen=True, slots=True)
class Paths:
    """Ways between hosts on different leaves, at the pair of leaves that has the worst."""

    switches: int | None
    """On the shortest path, both leaves counted; None if some leaves cannot reach others."""
    shortest: int
    """Shortest paths that differ in a switch."""
    disjoint: int
    """Paths that share no cable."""


def paths(graph: TreeGraph) -> Paths:
    """Return the ways between a tree's leaves."""
    if len(graph.leaves) == 1:
        return Paths(1, 1, 0)
    others = ~np.eye(len(graph.leaves), dtype=bool)
    uplinks = graph.up.sum(axis=1)
    low, high = (graph.up > 0).astype(float), (graph.top > 0).astype(float)
    spines = low @ low.T
    joined = spines[others]
    if (joined > 0).all():
        return Paths(3, int(joined.min()), int(uplinks.min()))
    far = others & (spines == 0)
    cores = low @ high
    through = (cores @ cores.T)[far]
    if not graph.cores or not through.min():
        return Paths(None, 0, 0)
    wide = np.minimum(graph.up, graph.top.sum(axis=1)).sum(axis=1)
    return Paths(5, int(through.min()), int(min(uplinks.min(), wide.min())))


def switches_to(graph: TreeGraph, leaf: str) -> int | None:
    """Return the switches on the way from the farthest leaf to one, both counted."""
    row, low = graph.leaves.index(leaf), (graph.up > 0).astype(float)
    others = np.arange(len(graph.leaves)) != row
    if not others.any():
        return 1
    near = (low @ low[row] > 0)[others]
    if near.all():
        return 3
    cores = low @ (graph.top > 0).astype(float)
    return 5 if bool((near | (cores @ cores[row] > 0)[others]).all()) else None
