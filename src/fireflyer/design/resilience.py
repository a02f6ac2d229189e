"""What one failure costs: of each kind of device and cable, the one that costs most."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fireflyer.design.plan.tree_graph import (
    TreeGraph,
    bisection_tbps,
    oversubscription,
    tree_graphs,
)
from fireflyer.model.fabric import CableRole, Fabric, Layer, Node, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What is gone with one device or cable."""

    kind: str
    name: str
    """Of the one that costs most; others of its kind cost as much or less."""
    nodes_cut_off: int
    """Nodes with no port left that leads to another leaf."""
    nodes_narrowed: int
    """Nodes that lose a port and keep another."""
    storage_feet: int
    """Storage nodes among them."""
    bisection_share: float
    """Share lost of its tree's bisection, 0 to 1."""
    oversubscription: float
    """Of the tree afterwards; infinite where a leaf has no uplink left."""
    interzone_share: float
    """Share lost of the links from its zone to others; of all where it is in none."""


@dataclass(frozen=True, slots=True)
class _Hosts:
    """Nodes that lose ports."""

    cut_off: int = 0
    narrowed: int = 0
    storage: int = 0


def losses(fabric: Fabric) -> tuple[Loss, ...]:
    """Return the worst loss of each kind, devices first."""
    return tuple(_Losses(fabric).all())


class _Losses:
    """The counts that every kind needs."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.graphs = {graph.name: graph for graph in tree_graphs(fabric)}
        self.bisection = {name: bisection_tbps(graph) for name, graph in self.graphs.items()}
        self.uplinks = {name: graph.up.sum(axis=1) for name, graph in self.graphs.items()}
        self.nodes_on = _nodes_on_leaves(fabric)
        self.interzone = [
            (cable.a.device, cable.z.device)
            for cable in fabric.cables
            if cable.role is CableRole.INTERZONE
        ]

    def all(self) -> Iterator[Loss]:
        gateways = dict.fromkeys(a for a, _ in self.interzone)
        leaves = [leaf for leaf in self.fabric.switches_of(Layer.LEAF) if leaf.name not in gateways]
        yield self._switch("leaf", [leaf.name for leaf in leaves])
        if gateways:
            yield self._switch("gateway leaf", list(gateways))
        yield self._switch("spine", [name for g in self.graphs.values() for name in g.spines])
        if cores := [name for graph in self.graphs.values() for name in graph.cores]:
            yield self._switch("core", cores)
        if self.interzone:
            switch, links = Counter(z for _, z in self.interzone).most_common(1)[0]
            share = links / len(self.interzone)
            yield self._of_zones("interzone switch", switch, share)
        if (cable := self._host_cable()) is not None:
            yield cable
        yield from self._tree_cables()
        if self.interzone:
            a, z = self.interzone[0]
            share = 1 / sum(end == a for end, _ in self.interzone)
            yield self._of_zones("interzone cable", f"{a} to {z}", share)

    def _switch(self, kind: str, names: Sequence[str]) -> Loss:
        """Return the loss of the switch that most hosts feel, the first of them if they tie."""
        hosts = {name: self._without_leaves(self._dark_without(name)) for name in names}
        worst = max(names, key=lambda name: _weight(hosts[name]))
        graph = self._graph_of(worst)
        gateway = any(a == worst for a, _ in self.interzone)
        after = graph.without_switch(worst)
        return self._loss(kind, worst, hosts[worst], graph, after, float(gateway))

    def _dark_without(self, name: str) -> list[str]:
        """Return the leaves that have no way up, or are gone, with a switch."""
        graph = self._graph_of(name)
        if name in graph.cores:
            return []
        if name in graph.leaves:
            return [name]
        only = graph.up[:, graph.spines.index(name)] == self.uplinks[graph.name]
        return [graph.leaves[row] for row in np.flatnonzero(only)]

    def _graph_of(self, name: str) -> TreeGraph:
        tree = self.fabric.switch[name].tree
        assert tree is not None
        return self.graphs[tree]

    def _loss(
        self,
        kind: str,
        name: str,
        hosts: _Hosts,
        before: TreeGraph,
        after: TreeGraph,
        interzone_share: float = 0.0,
    ) -> Loss:
        whole = self.bisection[before.name]
        return Loss(
            kind=kind,
            name=name,
            nodes_cut_off=hosts.cut_off,
            nodes_narrowed=hosts.narrowed,
            storage_feet=hosts.storage,
            bisection_share=1 - bisection_tbps(after) / whole if whole else 0.0,
            oversubscription=oversubscription(after),
            interzone_share=interzone_share,
        )

    def _of_zones(self, kind: str, name: str, share: float) -> Loss:
        """Return the loss of something between zones, which no tree feels."""
        graph = next(iter(self.graphs.values()))
        return self._loss(kind, name, _Hosts(), graph, graph, share)

    def _without_leaves(self, dark: Sequence[str]) -> _Hosts:
        """Return what nodes lose when ports on these leaves lead nowhere."""
        lost: Counter[str] = Counter()
        for leaf in dark:
            lost.update(self.nodes_on[leaf])
        hit = [(self.fabric.node[name], ports) for name, ports in lost.items()]
        narrowed = [node for node, ports in hit if ports < len(node.ports)]
        return _Hosts(len(hit) - len(narrowed), len(narrowed), _storage(narrowed))

    def _host_cable(self) -> Loss | None:
        """Return the loss of a cable to a host: a node with no other, else a storage node."""
        nodes = [node for node in self.fabric.nodes if node.ports]
        if not nodes:
            return None
        node = min(nodes, key=lambda node: (len(node.ports) > 1, node.role is not Role.STORAGE))
        alone = len(node.ports) == 1
        hosts = _Hosts(int(alone), int(not alone), 0 if alone else _storage([node]))
        graph = self.graphs[node.ports[0].tree]
        return self._loss("host cable", f"{node.name}:1", hosts, graph, graph)

    def _tree_cables(self) -> Iterator[Loss]:
        """Yield the loss of a cable from leaf to spine, and of one from spine to core."""
        hosts, graph, row = max(
            (
                (self._without_leaves([leaf] if uplinks == 1 else []), graph, row)
                for graph in self.graphs.values()
                for row, (leaf, uplinks) in enumerate(
                    zip(graph.leaves, self.uplinks[graph.name], strict=True)
                )
            ),
            key=lambda found: _weight(found[0]),
        )
        leaf, spine = graph.leaves[row], graph.spines[int(graph.up[row].argmax())]
        after = graph.without_cable(leaf, spine)
        yield self._loss("leaf-spine cable", f"{leaf} to {spine}", hosts, graph, after)
        if graph.cores:
            core = graph.cores[int(graph.top[0].argmax())]
            after = graph.without_cable(graph.spines[0], core)
            name = f"{graph.spines[0]} to {core}"
            yield self._loss("spine-core cable", name, _Hosts(), graph, after)


def _nodes_on_leaves(fabric: Fabric) -> Mapping[str, Counter[str]]:
    """Return the ports that each node has on each leaf."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for node in fabric.nodes:
        for port in node.ports:
            found[port.leaf.device][node.name] += 1
    return found


def _storage(nodes: Sequence[Node]) -> int:
    return sum(node.role is Role.STORAGE for node in nodes)


def _weight(hosts: _Hosts) -> tuple[int, int, int]:
    return hosts.cut_off, hosts.narrowed, hosts.storage
