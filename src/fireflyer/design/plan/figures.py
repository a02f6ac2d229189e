"""Count a fabric: switches, nodes, cables, ports, bandwidth, power."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isclose

from fireflyer.design.lossless import MemoryUse, fullest
from fireflyer.design.plan.tree_graph import (
    Paths,
    TreeGraph,
    bisection_tbps,
    hosts_tbps,
    oversubscription,
    paths,
    switches_to,
    tree_graphs,
)
from fireflyer.design.shape import Shape
from fireflyer.model.fabric import CableRole, Fabric, Layer, Node, PortBudget, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleCount:
    """Nodes of one role."""

    nodes: int
    gpus: int
    per_zone: Mapping[str, int]
    """By where they stand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """Draw to plan with, kW: nodes on average under load, switches with their optics."""

    compute_kw: float
    storage_kw: float
    management_kw: float
    switches_kw: float

    @property
    def total_kw(self) -> float:
        return self.compute_kw + self.storage_kw + self.management_kw + self.switches_kw


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeFigures:
    """What one tree carries, counted over its cables."""

    bisection_tbps: float
    """Each way, with half the host ports on each side."""
    hosts_tbps: float
    """What half the host ports can send."""
    oversubscription: float
    paths: Paths

    @property
    def is_full(self) -> bool:
        """Whether all that half the hosts send comes through."""
        return isclose(self.bisection_tbps, self.hosts_tbps)

    @property
    def fullness(self) -> str:
        """What is printed of the bisection beside its figure."""
        return "full" if self.is_full else f"{self.bisection_tbps / self.hosts_tbps:.1%} of full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The figures of a fabric."""

    site: str
    technology: str
    tree_kind: str
    """Zone or plane."""
    switches: Mapping[str, int]
    """By layer."""
    roles: Mapping[str, RoleCount]
    cables: Mapping[str, int]
    """Links, by what they join."""
    media: Mapping[tuple[str, float], int]
    """Links by medium and length of their cable in metres."""
    budgets: Mapping[str, PortBudget]
    """By tree, like `trees`."""
    trees: Mapping[str, TreeFigures]
    asked_oversubscription: float
    asked_bisection_tbps: float
    """Of one tree, by formula from the intent's counts; `trees` has what the cables give."""
    interzone_gbps: int
    """From one zone to the others, each way."""
    interzone_switches: int | None
    """On the longest way from zone to zone; None where no cable leads across."""
    networks: Mapping[str, str]
    racks: int
    memory: tuple[MemoryUse, ...]
    """Packet memory of each layer's fullest switch; nothing where no class is lossless."""
    power: Power
    network_price: float
    server_price: float
    """In the unit of the paper's Table III."""
    placeholder_guids: int


def plan(fabric: Fabric, shape: Shape) -> Plan:
    """Count a fabric."""
    links = Counter(str(cable.role) for cable in fabric.cables)
    gbps = shape.leaf.port_gbps
    hosts_gbps = shape.leaves * shape.host_ports * gbps
    ratio = float(shape.oversubscription)
    graphs = tree_graphs(fabric)
    return Plan(
        site=fabric.intent.name,
        technology=fabric.intent.fabric.technology,
        tree_kind=fabric.tree_kind,
        switches={str(layer): sum(1 for _ in fabric.switches_of(layer)) for layer in Layer},
        roles={str(role): _count(fabric, role) for role in Role},
        cables={str(role): links[str(role)] for role in CableRole},
        media=dict(sorted(Counter((c.medium, c.length_m) for c in fabric.cables).items())),
        budgets=fabric.budgets,
        trees=tree_figures(graphs),
        asked_oversubscription=ratio,
        asked_bisection_tbps=hosts_gbps / 2 / max(ratio, 1.0) / 1000,
        interzone_gbps=interzone_gbps(fabric),
        interzone_switches=_between_zones(graphs) if links[str(CableRole.INTERZONE)] else None,
        networks={name: str(network) for name, network in fabric.networks.items()},
        racks=len(
            {node.place.rack for node in fabric.nodes}
            | {switch.place.rack for switch in fabric.switches}
        ),
        memory=fullest(fabric.intent, fabric.switch, fabric.cables),
        power=Power(
            compute_kw=_kw(fabric.nodes_of(Role.COMPUTE)),
            storage_kw=_kw(fabric.nodes_of(Role.STORAGE)),
            management_kw=_kw(fabric.nodes_of(Role.MANAGEMENT)),
            switches_kw=sum(switch.model.power_w for switch in fabric.switches) / 1000,
        ),
        network_price=sum(switch.model.relative_price for switch in fabric.switches),
        server_price=sum(node.model.relative_price for node in fabric.nodes),
        placeholder_guids=fabric.placeholders,
    )


def tree_figures(graphs: Iterable[TreeGraph]) -> Mapping[str, TreeFigures]:
    """Return what each tree carries."""
    return {
        graph.name: TreeFigures(
            bisection_tbps=bisection_tbps(graph),
            hosts_tbps=hosts_tbps(graph),
            oversubscription=oversubscription(graph),
            paths=paths(graph),
        )
        for graph in graphs
    }


def interzone_gbps(fabric: Fabric) -> int:
    """Return what one zone can send to the others over the links that there are."""
    links = [cable.gbps for cable in fabric.cables if cable.role is CableRole.INTERZONE]
    return sum(links) // len(fabric.zones)


def _count(fabric: Fabric, role: Role) -> RoleCount:
    nodes = list(fabric.nodes_of(role))
    zones = Counter(node.zone for node in nodes)
    return RoleCount(
        nodes=len(nodes),
        gpus=sum(len(node.model.gpus) for node in nodes),
        per_zone={zone: zones[zone] for zone in fabric.zones},
    )


def _kw(nodes: Iterable[Node]) -> float:
    return sum(node.model.power_w for node in nodes) / 1000


def _between_zones(graphs: Iterable[TreeGraph]) -> int | None:
    """Return the switches from leaf to gateway, between zones, and from gateway to leaf."""
    ways = [switches_to(graph, graph.leaves[-1]) for graph in graphs]
    found = sorted((way for way in ways if way is not None), reverse=True)
    return found[0] + 1 + found[1] if len(found) == len(ways) else None
