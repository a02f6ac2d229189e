"""What a site needs, in numbers: the report of `fireflyer plan`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

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
class Plan:
    """The figures of a fabric."""

    site: str
    technology: str
    switches: Mapping[str, int]
    """By layer."""
    roles: Mapping[str, RoleCount]
    cables: Mapping[str, int]
    """By what they join."""
    media: Mapping[tuple[str, float], int]
    """Cables by medium and length in metres."""
    budgets: Mapping[str, PortBudget]
    oversubscription: float
    bisection_tbps: float
    """Of one zone, each way, with half its host ports on each side."""
    interzone_gbps: int
    """From one zone to the others, each way."""
    networks: Mapping[str, str]
    racks: int
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
    oversubscription = float(shape.oversubscription)
    return Plan(
        site=fabric.intent.name,
        technology=fabric.intent.fabric.technology,
        switches={str(layer): sum(1 for _ in fabric.switches_of(layer)) for layer in Layer},
        roles={str(role): _count(fabric, role) for role in Role},
        cables={str(role): links[str(role)] for role in CableRole},
        media=dict(sorted(Counter((c.medium, c.length_m) for c in fabric.cables).items())),
        budgets=fabric.budgets,
        oversubscription=oversubscription,
        bisection_tbps=hosts_gbps / 2 / max(oversubscription, 1.0) / 1000,
        interzone_gbps=links[str(CableRole.INTERZONE)] // len(fabric.zones) * gbps,
        networks={name: str(network) for name, network in fabric.networks.items()},
        racks=len(
            {node.place.rack for node in fabric.nodes}
            | {switch.place.rack for switch in fabric.switches}
        ),
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


def as_json(found: Plan) -> dict[str, object]:
    """Return the plan as one JSON object."""
    zones = {
        zone: {**asdict(budget), "used": budget.used, "free": budget.free}
        for zone, budget in found.budgets.items()
    }
    full = found.oversubscription <= 1.0
    return {
        "site": found.site,
        "technology": found.technology,
        "switches": {"total": sum(found.switches.values()), **found.switches},
        **{role: asdict(count) for role, count in found.roles.items()},
        "cables": {"total": sum(found.cables.values()), **found.cables},
        "media": [
            {"medium": medium, "length_m": length, "count": count}
            for (medium, length), count in found.media.items()
        ],
        "ports": {"zones": zones},
        "bisection": {
            "zones": {
                zone: {
                    "full": full,
                    "oversubscription": found.oversubscription,
                    "tbps": found.bisection_tbps,
                }
                for zone in found.budgets
            },
            "interzone_gbps": found.interzone_gbps,
        },
        "addresses": dict(found.networks),
        "racks": found.racks,
        "power_kw": {**asdict(found.power), "total_kw": found.power.total_kw},
        "relative_price": {"network": found.network_price, "servers": found.server_price},
        "placeholder_guids": found.placeholder_guids,
    }


def as_text(found: Plan) -> str:
    """Return the plan as a page."""
    layers = ", ".join(f"{count} {layer}" for layer, count in found.switches.items() if count)
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in found.cables.items() if count)
    power = found.power
    lines = [
        f"{found.site}: {found.technology}, {len(found.budgets)} zone(s)",
        "",
        f"switches    {sum(found.switches.values()):>8,}   {layers}",
        *(_role(name, count) for name, count in found.roles.items()),
        f"cables      {sum(found.cables.values()):>8,}   {kinds}",
        f"racks       {found.racks:>8,}",
        "",
        f"{'host ports':<12}{'total':>8}{'compute':>9}{'storage':>9}{'mgmt':>7}"
        f"{'interzone':>11}{'used':>7}{'free':>7}",
    ]
    for zone, b in found.budgets.items():
        lines.append(
            f"  zone {zone:<5}{b.total:>8,}{b.compute:>9,}{b.storage:>9,}{b.management:>7,}"
            f"{b.interzone:>11,}{b.used:>7,}{b.free:>7,}"
        )
    full = "full" if found.oversubscription <= 1.0 else "reduced"
    lines += [
        "",
        f"bisection   {found.bisection_tbps:>8g}   Tb/s a zone each way, {full}"
        f" (oversubscription {found.oversubscription:.2f})",
        f"interzone   {found.interzone_gbps / 1000:>8g}   Tb/s each way",
        f"power       {power.total_kw:>8,.0f}   kW: compute {power.compute_kw:,.0f}, storage"
        f" {power.storage_kw:,.0f}, switches {power.switches_kw:,.0f}, management"
        f" {power.management_kw:,.1f}",
        f"price       {found.network_price + found.server_price:>8,.0f}   units of the paper's"
        f" Table III: network {found.network_price:,.0f}, servers {found.server_price:,.0f}",
        "networks    " + ", ".join(f"{name} {net}" for name, net in found.networks.items()),
        "cable sales "
        + ", ".join(f"{n:,} x {m} {length:g} m" for (m, length), n in found.media.items()),
    ]
    if found.placeholder_guids:
        lines.append(
            f"note        {found.placeholder_guids:,} GUIDs are placeholders, assets.csv lacks them"
        )
    return "\n".join(lines)


def _role(name: str, count: RoleCount) -> str:
    zones = ", ".join(f"{number:,} in zone {zone}" for zone, number in count.per_zone.items())
    gpus = f", {count.gpus:,} GPUs" if count.gpus else ""
    return f"{name:<12}{count.nodes:>8,}   {zones}{gpus}"
