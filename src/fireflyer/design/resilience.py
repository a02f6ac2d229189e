"""What one failure costs: for each kind of device, rack, feed or cable, the one that costs most."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from fireflyer.design.plan.tree_graph import (
    TreeGraph,
    bisection_tbps,
    oversubscription,
    tree_graphs,
)
from fireflyer.design.power import feed_names, lost_with
from fireflyer.design.subnet_managers import Managed
from fireflyer.model.fabric import CableRole, Fabric, Layer, Node, Role, Switch


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What is gone with one device, rack, power feed or cable."""

    kind: str
    name: str
    """Of the one that costs most; others of its kind cost as much or less."""
    nodes_cut_off: int
    """Nodes without power, or with no port left that leads to another leaf."""
    nodes_narrowed: int
    """Nodes that lose a port and keep another."""
    storage_narrowed: int
    """Storage nodes among them."""
    bisection_share: float
    """Share lost of the bisection of a tree, 0 to 1: of the tree that loses most."""
    oversubscription: float
    """Of that tree afterwards; infinite where a leaf has no uplink left."""
    interzone_share: float
    """Share lost of a zone's links to others, at the zone that loses most."""
    ports_without_sm: int
    """Host ports on working leaves that no subnet manager reaches; 0 on Ethernet."""


@dataclass(frozen=True, slots=True)
class _Hosts:
    """Nodes that lose ports."""

    cut_off: int = 0
    narrowed: int = 0
    storage: int = 0


def losses(fabric: Fabric) -> tuple[Loss, ...]:
    """Return the worst loss of each kind: devices, cables, then racks and power feeds."""
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
        self.managed = Managed(fabric, self.graphs, self.interzone)

    def all(self) -> Iterator[Loss]:
        gateways = self.fabric.gateways
        leaves = [leaf for leaf in self.fabric.switches_of(Layer.LEAF) if leaf.name not in gateways]
        yield self._switch("leaf", [leaf.name for leaf in leaves])
        if gateways:
            yield self._switch("gateway leaf", gateways)
        yield self._switch("spine", [name for g in self.graphs.values() for name in g.spines])
        if cores := [name for graph in self.graphs.values() for name in graph.cores]:
            yield self._switch("core", cores)
        if self.interzone:
            switch = Counter(z for _, z in self.interzone).most_common(1)[0][0]
            yield self._without("interzone switch", switch, {switch})
        hosts = self.managed.hosts
        if hosts:
            yield self._worst("subnet manager", [(name, {name}) for name in hosts])
            on = dict.fromkeys(p.leaf.device for n in hosts for p in self.fabric.node[n].ports)
            yield self._worst("leaf of a manager", [(name, {name}) for name in on])
        if (cable := self._host_cable()) is not None:
            yield cable
        yield from self._tree_cables()
        if self.interzone:
            a, z = self.interzone[0]
            share = 1 / sum(end == a for end, _ in self.interzone)
            graph = next(iter(self.graphs.values()))
            ports = self.managed.ports_without((), interzone=self.interzone[1:])
            yield self._loss("interzone cable", f"{a} to {z}", _Hosts(), graph, graph, share, ports)
        yield from self._racks()
        names = feed_names(self.fabric)
        feeds = [(f"feed {name}", lost_with(self.fabric, name)) for name in names]
        yield self._worst("power feed", feeds)

    def _racks(self) -> Iterator[Loss]:
        """Yield the loss of a network rack, and of a node rack."""
        content: dict[str, set[str]] = {}
        network = dict.fromkeys(switch.place.rack for switch in self.fabric.switches)
        devices: Iterator[Switch | Node] = chain(self.fabric.switches, self.fabric.nodes)
        for device in devices:
            content.setdefault(device.place.rack, set()).add(device.name)
        yield self._worst("network rack", [(rack, content[rack]) for rack in network])
        gateways = set(self.fabric.gateways)
        if across := [(rack, content[rack]) for rack in network if content[rack] & gateways]:
            yield self._worst("rack of a gateway", across)
        others = [(rack, held) for rack, held in content.items() if rack not in network]
        if others:
            rack, held = max(others, key=lambda other: len(other[1]))
            yield self._without("node rack", rack, held)

    def _switch(self, kind: str, names: Sequence[str]) -> Loss:
        """Return the loss of the switch that most hosts feel, the first of them if they tie."""
        worst = max(names, key=lambda name: _weight(self._hosts({name})))
        return self._without(kind, worst, {worst})

    def _worst(self, kind: str, candidates: Sequence[tuple[str, set[str]]]) -> Loss:
        """Return the worst of a few losses: by hosts, then by what else is gone."""
        found = [self._without(kind, name, gone) for name, gone in candidates]
        return max(
            found,
            key=lambda loss: (
                loss.nodes_cut_off,
                loss.nodes_narrowed,
                loss.storage_narrowed,
                loss.ports_without_sm,
                loss.bisection_share,
                loss.interzone_share,
            ),
        )

    def _without(self, kind: str, name: str, gone: set[str]) -> Loss:
        """Return the loss of several devices at once."""
        trees = {self.fabric.switch[d].tree for d in gone if d in self.fabric.switch} - {None}
        graphs = [graph for tree, graph in self.graphs.items() if tree in trees]
        graphs = graphs or [next(iter(self.graphs.values()))]
        hosts, interzone = self._hosts(gone), self._interzone_share(gone)
        ports = self.managed.ports_without(gone)
        found = [
            self._loss(kind, name, hosts, graph, graph.without_switches(gone), interzone, ports)
            for graph in graphs
        ]
        return max(found, key=lambda loss: (loss.bisection_share, loss.oversubscription))

    def _interzone_share(self, gone: Collection[str]) -> float:
        """Return the share of its links between zones that the worst zone loses."""
        links = Counter(a for a, _ in self.interzone)
        left = Counter(a for a, z in self.interzone if a not in gone and z not in gone)
        return max((1 - left[gateway] / count for gateway, count in links.items()), default=0.0)

    def _hosts(self, gone: set[str]) -> _Hosts:
        """Return what nodes lose without some devices."""
        dark = [
            leaf for name, graph in self.graphs.items() for leaf in self._dark(name, graph, gone)
        ]
        return self._without_leaves(dark, [name for name in gone if name in self.fabric.node])

    def _dark(self, name: str, graph: TreeGraph, gone: set[str]) -> Sequence[str]:
        """Return the leaves that are gone, or have no spine left."""
        if not gone.intersection(graph.leaves) and not gone.intersection(graph.spines):
            return ()
        lost = [column for column, spine in enumerate(graph.spines) if spine in gone]
        cut = self.uplinks[name] == graph.up[:, lost].sum(axis=1)
        if not lost:
            cut[:] = False
        return [
            leaf for leaf, is_cut in zip(graph.leaves, cut, strict=True) if is_cut or leaf in gone
        ]

    def _loss(
        self,
        kind: str,
        name: str,
        hosts: _Hosts,
        before: TreeGraph,
        after: TreeGraph,
        interzone_share: float = 0.0,
        ports_without_sm: int = 0,
    ) -> Loss:
        whole = self.bisection[before.name]
        return Loss(
            kind=kind,
            name=name,
            nodes_cut_off=hosts.cut_off,
            nodes_narrowed=hosts.narrowed,
            storage_narrowed=hosts.storage,
            bisection_share=max(0.0, 1 - bisection_tbps(after) / whole) if whole else 0.0,
            oversubscription=oversubscription(after),
            interzone_share=interzone_share,
            ports_without_sm=ports_without_sm,
        )

    def _without_leaves(self, dark: Sequence[str], gone: Sequence[str] = ()) -> _Hosts:
        """Return what nodes lose when ports on these leaves lead nowhere and some are gone."""
        lost: Counter[str] = Counter()
        for leaf in dark:
            lost.update(self.nodes_on[leaf])
        hit = [self.fabric.node[name] for name in lost if name not in gone]
        narrowed = [node for node in hit if lost[node.name] < len(node.ports)]
        return _Hosts(len(hit) - len(narrowed) + len(gone), len(narrowed), _storage(narrowed))

    def _host_cable(self) -> Loss | None:
        """Return the loss of a cable to a host: a node with no other, else a storage node."""
        nodes = [node for node in self.fabric.nodes if node.ports]
        if not nodes:
            return None
        node = min(nodes, key=lambda node: (len(node.ports) > 1, node.role is not Role.STORAGE))
        alone = len(node.ports) == 1
        hosts = _Hosts(int(alone), int(not alone), 0 if alone else _storage([node]))
        graph = self.graphs[node.ports[0].tree]
        ports = self.managed.ports_without({node.name} if alone else ())
        return self._loss("host cable", f"{node.name}:1", hosts, graph, graph, 0.0, ports)

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
        ports, name = self.managed.ports_without((), tree=after), f"{leaf} to {spine}"
        yield self._loss("leaf-spine cable", name, hosts, graph, after, 0.0, ports)
        if graph.cores:
            core = graph.cores[int(graph.top[0].argmax())]
            after = graph.without_cable(graph.spines[0], core)
            name = f"{graph.spines[0]} to {core}"
            ports = self.managed.ports_without((), tree=after)
            yield self._loss("spine-core cable", name, _Hosts(), graph, after, 0.0, ports)


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
