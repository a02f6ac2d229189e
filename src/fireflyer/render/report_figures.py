"""The figures of the report, as text: tiles, bars, the port budget and the networks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from fireflyer.design.plan.figures import interzone_gbps, tree_figures
from fireflyer.design.plan.tree_graph import tree_graphs
from fireflyer.model.fabric import Fabric, Layer, Role

_SYSTEMS = {
    "mlnxos": "MLNX-OS",
    "sonic": "SONiC",
    "nvue": "Cumulus Linux",
    "eos": "EOS",
    "frr": "FRR",
}
_TECHNOLOGIES = {"infiniband": "InfiniBand", "ethernet": "Ethernet (RoCE)"}


@dataclass(frozen=True, slots=True)
class Figure:
    """One tile: a number, what it counts and what it is made of."""

    name: str
    value: str
    unit: str
    detail: str


@dataclass(frozen=True, slots=True)
class Bar:
    """One row of a bar chart; `amount` of `most` is its length."""

    name: str
    amount: float
    most: float
    text: str


@dataclass(frozen=True, slots=True)
class BudgetPart:
    """Host ports of one tree with one use."""

    use: str
    ports: int


@dataclass(frozen=True, slots=True)
class Budget:
    """Host ports of one tree."""

    tree: str
    total: int
    used: int
    parts: tuple[BudgetPart, ...]


@dataclass(frozen=True, slots=True)
class LayerPorts:
    """Ports of the switches of one layer, of all trees together."""

    layer: str
    switches: int
    ports: int
    cabled: int
    free: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Everything that the page prints without its program."""

    site: str
    domain: str
    subtitle: str
    tree_kind: str
    figures: tuple[Figure, ...]
    budgets: tuple[Budget, ...]
    layers: tuple[LayerPorts, ...]
    media: tuple[Bar, ...]
    power: tuple[Bar, ...]
    networks: tuple[tuple[str, str], ...]
    note: str
    """What is not known yet; empty if nothing is missing."""


def summary(fabric: Fabric) -> Summary:
    """Return the figures of a fabric."""
    whole = (cable for cable in fabric.cables if cable.assembly == cable.id)
    media = sorted(Counter((c.medium, c.length_m) for c in whole).items())
    return Summary(
        site=fabric.intent.name,
        domain=fabric.intent.domain,
        subtitle=_subtitle(fabric),
        tree_kind=fabric.tree_kind,
        figures=tuple(_figures(fabric)),
        budgets=tuple(_budgets(fabric)),
        layers=tuple(_layers(fabric)),
        media=_bars((f"{m} {length:g} m", n, f"{n:,}") for (m, length), n in media),
        power=_bars((name, kw, _kilowatts(kw)) for name, kw in _draws(fabric).items() if kw),
        networks=tuple((name, str(network)) for name, network in fabric.networks.items()),
        note=_note(fabric),
    )


def _subtitle(fabric: Fabric) -> str:
    leaf = next(fabric.switches_of(Layer.LEAF))
    trees, kind = len(fabric.trees), fabric.tree_kind
    parts = [
        f"{_TECHNOLOGIES[fabric.intent.fabric.technology]} {leaf.model.port_gbps} Gb/s",
        f"{trees} {kind}{'s' if trees > 1 else ''} of {fabric.intent.fabric.layers} layers",
        f"leaves {leaf.model.name}, {leaf.model.ports} ports",
    ]
    if fabric.system is not None:
        parts.append(_SYSTEMS[fabric.system])
    return " · ".join(parts)


def _figures(fabric: Fabric) -> Iterator[Figure]:
    layers = {str(layer): sum(1 for _ in fabric.switches_of(layer)) for layer in Layer}
    yield Figure("switches", _number(len(fabric.switches)), "", _counts(layers))
    for role in Role:
        zones = Counter(node.zone for node in fabric.nodes_of(role))
        if zones:
            where = _counts(zones, "in ") if len(fabric.zones) > 1 else f"in zone {fabric.zones[0]}"
            yield Figure(str(role), _number(zones.total()), "nodes", where)
    compute = list(fabric.nodes_of(Role.COMPUTE))
    if compute and (gpus := compute[0].model.gpus):
        total = _number(len(compute) * len(gpus))
        yield Figure("GPUs", total, "", f"{len(gpus)} {gpus[0].model} a node")
    roles = Counter(str(cable.role) for cable in fabric.cables)
    yield Figure("links", _number(len(fabric.cables)), "", _counts(roles))
    total_ports = sum(budget.total for budget in fabric.budgets.values())
    free = sum(budget.free for budget in fabric.budgets.values())
    yield Figure("host ports", _number(total_ports), "", f"{free:,} free")
    yield from _bandwidth(fabric)
    yield Figure("power", f"{sum(_draws(fabric).values()):,.0f}", "kW", "nodes under load")
    racks = {switch.place.rack for switch in fabric.switches}
    racks |= {node.place.rack for node in fabric.nodes}
    limit = f"of {fabric.intent.racks.power_kw:g} kW each"
    yield Figure("racks", _number(len(racks)), "", limit)


def _bandwidth(fabric: Fabric) -> Iterator[Figure]:
    """Yield what `plan` counts over the cables; trees that differ have a figure each."""
    trees = tree_figures(tree_graphs(fabric)).values()
    bisection = " / ".join(dict.fromkeys(f"{tree.bisection_tbps:,g}" for tree in trees))
    fullness = " / ".join(dict.fromkeys(tree.fullness for tree in trees))
    ratio = " / ".join(dict.fromkeys(f"{tree.oversubscription:.2f}" for tree in trees))
    yield Figure("bisection", bisection, "Tb/s", f"{fullness}, a {fabric.tree_kind} each way")
    yield Figure("oversubscription", ratio, "", "at the worst leaf and spine")
    if between := interzone_gbps(fabric):
        yield Figure("between zones", f"{between / 1000:g}", "Tb/s", "from a zone, each way")


def _budgets(fabric: Fabric) -> Iterator[Budget]:
    for tree, budget in fabric.budgets.items():
        uses = {
            "compute": budget.compute,
            "storage": budget.storage,
            "management": budget.management,
            "interzone": budget.interzone,
            "free": budget.free,
        }
        parts = tuple(BudgetPart(use, ports) for use, ports in uses.items())
        yield Budget(tree, budget.total, budget.used, parts)


def _layers(fabric: Fabric) -> Iterator[LayerPorts]:
    layer = {switch.name: switch.layer for switch in fabric.switches}
    cabled = Counter(layer.get(cable.a.device) for cable in fabric.cables)
    cabled.update(layer.get(cable.z.device) for cable in fabric.cables)
    for name in Layer:
        ports = [switch.model.ports for switch in fabric.switches_of(name)]
        if total := sum(ports):
            yield LayerPorts(name, len(ports), total, cabled[name], total - cabled[name])


def _draws(fabric: Fabric) -> dict[str, float]:
    """Return what nodes of each role and the switches draw, kW."""
    watts = {str(role): sum(n.model.power_w for n in fabric.nodes_of(role)) for role in Role}
    watts["switches"] = sum(switch.model.power_w for switch in fabric.switches)
    return {name: draw / 1000 for name, draw in watts.items()}


def _bars(rows: Iterable[tuple[str, float, str]]) -> tuple[Bar, ...]:
    found = list(rows)
    most = max((amount for _, amount, _ in found), default=1.0)
    return tuple(Bar(name, amount, most, text) for name, amount, text in found)


def _number(count: int) -> str:
    return f"{count:,}"


def _kilowatts(draw: float) -> str:
    return f"{draw:,.0f} kW" if draw >= 100 else f"{draw:.3g} kW"


def _counts(counts: Mapping[str, int], prefix: str = "") -> str:
    return ", ".join(f"{count:,} {prefix}{name}" for name, count in counts.items() if count)


def _note(fabric: Fabric) -> str:
    if not fabric.placeholders:
        return ""
    return f"{fabric.placeholders:,} GUIDs are placeholders: assets.csv does not have them"
