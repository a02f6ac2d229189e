"""What the inventories of NetBox and Nautobot must hold, and rows of either beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from fireflyer.design.switch_config import switch_configs
from fireflyer.model.fabric import Fabric, Node, Switch
from fireflyer.prove.files.exports.inventory_tables import Cells, Table, alike, tables
from fireflyer.prove.files.exports.links import Link
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Row, Value, bounded, fault, row_findings

_PLATFORMS = {
    "mlnxos": "MLNX-OS",
    "sonic": "SONiC",
    "nvue": "Cumulus Linux",
    "eos": "Arista EOS",
    "frr": "FRRouting",
}
_GENERIC = "Generic"
"""Maker of a model that no vendor sells."""


def facts_of(fabric: Fabric) -> dict[str, dict[str, dict[str, Value]]]:
    """Return the planned rows that both programs have, by what they are of."""
    devices: list[Switch | Node] = [*fabric.switches, *fabric.nodes]
    configs = switch_configs(fabric)
    numbers = {c.name: str(c.bgp.asn) for c in configs if c.bgp is not None}
    platform = _PLATFORMS[fabric.system] if fabric.system else ""
    facts: dict[str, dict[str, dict[str, Value]]] = {
        "makers": {},
        "types": {},
        "devices": {},
        "racks": {},
        "lines": {},
        "roles": {},
        "addresses": {},
        "platforms": {platform: {}} if platform else {},
        "asns": {number: {} for number in numbers.values()},
        "vlans": {str(c.hosts.vlan): {} for c in configs if c.hosts is not None},
        "prefixes": {str(net): {"description": name} for name, net in fabric.networks.items()},
    }
    length = fabric.networks["management"].prefixlen
    for device in devices:
        kind, rack = device.model.device_type, device.place.rack
        maker, model = (kind.manufacturer, kind.model) if kind else (_GENERIC, device.model.name)
        slug = kind.slug if kind else device.model.name
        role = str(device.layer if isinstance(device, Switch) else device.role)
        line = rack.rpartition("-")[0]
        facts["makers"][maker], facts["roles"][role], facts["lines"][line] = {}, {}, {}
        height = str(device.model.rack_units)
        facts["types"][model] = {"manufacturer": maker, "slug": slug, "u_height": height}
        facts["racks"][rack] = {"location": line, "u_height": str(fabric.intent.racks.units)}
        facts["devices"][device.name] = {
            "role": role,
            "manufacturer": maker,
            "device_type": model,
            "platform": platform if isinstance(device, Switch) else "",
            "serial": device.serial,
            "status": "planned",
            "site": fabric.intent.name,
            "location": line,
            "rack": rack,
            "position": str(device.place.unit),
            "description": f"AS {numbers[device.name]}" if device.name in numbers else "",
        }
        facts["addresses"][f"{device.management}/{length}"] = {
            "dns_name": f"{device.name}.{fabric.intent.domain}",
            "device": device.name,
            "interface": _management(fabric, device),
            "is_primary": "true",
        }
        facts["addresses"][f"{device.loopback}/32"] = _address(
            device.name, _loopback(fabric, device)
        )
    for config in configs:
        if config.hosts is not None:
            facts["prefixes"][str(config.hosts.network)] = {"description": config.name}
            at = f"{config.hosts.gateway}/{config.hosts.network.prefixlen}"
            facts["addresses"][at] = _address(config.name, _vlan(fabric, config.hosts.vlan))
        for port in config.ports:
            if port.address is not None:
                facts["addresses"][f"{port.address}/31"] = _address(config.name, port.name)
    for node in fabric.nodes:
        for node_port in node.ports:
            name = node_port.name if fabric.is_ethernet else node_port.hca
            at = f"{node_port.address}/{node_port.network.prefixlen}"
            facts["addresses"][at] = _address(node.name, name)
    return facts


def _address(device: str, interface: str) -> dict[str, Value]:
    return {"dns_name": "", "device": device, "interface": interface, "is_primary": "false"}


def _by_system(fabric: Fabric, device: Switch | Node) -> str:
    return fabric.system or "" if isinstance(device, Switch) else ""


def _management(fabric: Fabric, device: Switch | Node) -> str:
    names = {"sonic": "eth0", "nvue": "eth0", "frr": "eth0", "eos": "Management1"}
    return names.get(_by_system(fabric, device), "mgmt0")


def _loopback(fabric: Fabric, device: Switch | Node) -> str:
    return "Loopback0" if _by_system(fabric, device) in ("sonic", "eos") else "lo"


def _vlan(fabric: Fabric, number: int) -> str:
    return f"{'Vlan' if fabric.system in ('sonic', 'eos') else 'vlan'}{number}"


def interface_findings(
    fabric: Fabric,
    tree: Path,
    system: str,
    constant: tuple[str, ...],
    named: Mapping[str, str] | None = None,
) -> Iterator[Finding]:
    """Yield where the table of interfaces differs; `constant` columns have one value."""
    for path, rows in tables(tree, system, "interfaces", named):
        yield from rows.faults
        if rows:
            yield from bounded(path, row_findings(path, *_interfaces(fabric, rows)))
            yield from alike(path, rows, "name", constant)
            yield from _kinds(fabric, path, rows)


def cable_findings(
    links: list[Link],
    tree: Path,
    system: str,
    ends: tuple[tuple[str, ...], tuple[str, ...]],
    constant: tuple[str, ...],
    named: Mapping[str, str] | None = None,
) -> Iterator[Finding]:
    """Yield where the table of cables differs; `ends` are the columns that name both ends."""
    for path, rows in tables(tree, system, "cables", named):
        yield from rows.faults
        if rows:
            yield from bounded(path, row_findings(path, *_cables(links, rows, *ends)))
            yield from alike(path, rows, "label", constant)
            yield from _media(links, path, rows)


def _interfaces(fabric: Fabric, rows: Table) -> tuple[dict[str, dict[str, Value]], list[Row]]:
    """Return the interfaces of every device: what they are called, for what, and their MTU."""
    ethernet = fabric.intent.fabric.ethernet
    mtu = str(ethernet.mtu) if ethernet is not None else ""
    plan: dict[str, dict[str, Value]] = {}

    def put(name: str, interface: str, label: str = "", mtu: str = "", *, own: bool) -> None:
        held: dict[str, Value] = {"label": label, "mgmt_only": str(own).lower(), "mtu": mtu}
        plan[f"{name} {interface}"] = held

    devices: list[Switch | Node] = [*fabric.switches, *fabric.nodes]
    for each in devices:
        put(each.name, _management(fabric, each), own=True)
        put(each.name, _loopback(fabric, each), own=False)
    for switch in fabric.switches:
        system = fabric.system if fabric.is_ethernet else None
        names = switch.model.port_names(system if system in switch.model.interfaces else None)
        for name in names:
            put(switch.name, name, mtu=mtu, own=False)
    for node in fabric.nodes:
        for nic in node.model.nics:
            name, label = (nic.name, nic.hca) if fabric.is_ethernet else (nic.hca, nic.name)
            put(node.name, name, label, mtu, own=False)
    for config in switch_configs(fabric):
        if config.hosts is not None:
            name = _vlan(fabric, config.hosts.vlan)
            plan[f"{config.name} {name}"] = {"label": "", "mgmt_only": "false"}
    seen = []
    for row in rows:
        key = f"{row.get('device')} {row.get('name')}"
        columns = plan.get(key, {"label": "", "mgmt_only": "", "mtu": ""})
        held = {column: row.get(column, "") for column in columns}
        seen.append(Row(key, dict(held), int(row["line"])))
    return plan, seen


def _kinds(fabric: Fabric, path: str, rows: Table) -> Iterator[Finding]:
    """Yield interfaces of another type or speed than the like ones of the same model."""
    known: dict[tuple[str, str], Counter[tuple[str, str]]] = {}
    models = {d.name: d.model.name for d in fabric.switches} | {
        d.name: d.model.name for d in fabric.nodes
    }
    mine: list[tuple[tuple[str, str], tuple[str, str], Cells]] = []
    for row in rows:
        name, owner = row.get("name", ""), row.get("device", "")
        kind = name.rstrip("0123456789/:s").rstrip("0123456789") or name
        shown = row.get("type", ""), row.get("speed", "")
        mine.append(((models.get(owner, owner), kind), shown, row))
        known.setdefault(mine[-1][0], Counter())[shown] += 1
    for group, shown, row in mine:
        common = known[group].most_common(1)[0][0]
        if shown != common:
            name, line = f"{row.get('device')} {row.get('name')}", int(row["line"])
            is_, are = " ".join(shown).strip(), " ".join(common).strip()
            yield fault(path, f"{name}: is {is_}, the like are {are}", line)


def _cables(
    links: list[Link], rows: Table, a: tuple[str, ...], z: tuple[str, ...]
) -> tuple[dict[str, dict[str, Value]], list[Row]]:
    """Return the cables by label: both ends and the length in metres."""
    plan: dict[str, dict[str, Value]] = {
        link.cable.id: {
            "a": f"{link.a.device} {link.a.port}",
            "z": f"{link.z.device} {link.z.port}",
            "length_m": float(link.cable.length_m),
        }
        for link in links
    }
    seen = []
    for row in rows:
        held: dict[str, Value] = {
            "a": " ".join(row.get(column, "") for column in a),
            "z": " ".join(row.get(column, "") for column in z),
            "length_m": _metres(row.get("length", ""), row.get("length_unit", "")),
        }
        seen.append(Row(row.get("label", ""), held, int(row["line"])))
    return plan, seen


def _metres(length: str, unit: str) -> Value:
    try:
        return round(float(length) * {"m": 1.0, "cm": 0.01}[unit], 4)
    except (ValueError, KeyError):
        return f"{length} {unit}"


def _media(links: list[Link], path: str, rows: Table) -> Iterator[Finding]:
    """Yield cables of another type than the cables of the same medium."""
    medium = {link.cable.id: str(link.cable.medium) for link in links}
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        counts.setdefault(medium.get(row.get("label", ""), ""), Counter())[row.get("type", "")] += 1
    for row in rows:
        common = counts[medium.get(row.get("label", ""), "")].most_common(1)[0][0]
        if row.get("type", "") != common:
            message = f"{row.get('label')}: type is {row.get('type')}, the like are {common}"
            yield fault(path, message, int(row["line"]))
