"""NetBox's and Nautobot's import files, with every reference followed to the name behind it.

The forms themselves are the matter of the check suite `netbox`; here both sets of files are read
into the same rows: places, devices, interfaces, addresses, cables.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from fireflyer.design.switch_config import switch_configs
from fireflyer.model.fabric import Fabric, Node, Switch
from fireflyer.prove.files.exports.links import Link
from fireflyer.prove.files.source import read
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
_PLACES = "dcim.device,dcim.rack,ipam.prefix,ipam.vlan"
Cells = dict[str, str]


def netbox_places(fabric: Fabric, links: list[Link], tree: Path) -> Iterator[Finding]:
    """Yield where NetBox's places, types, roles and prefixes differ."""
    site, wanted = fabric.intent.name, _facts(fabric)
    for name, key, plan in (
        ("manufacturers", "name", {m: {"slug": _slug(m)} for m in wanted["makers"]}),
        ("platforms", "name", {p: {"slug": _slug(p)} for p in wanted["platforms"]}),
        ("device-roles", "name", {r: {"slug": r, "vm_role": "false"} for r in wanted["roles"]}),
        ("device-types", "model", wanted["types"]),
        ("rirs", "name", _registry(fabric)),
        ("asns", "asn", {a: {"rir": "RFC 6996"} for a in wanted["asns"]}),
        ("sites", "name", {site: {"slug": site, "status": "planned"}}),
        (
            "locations",
            "name",
            {line: {"site": site, "slug": line, "status": "planned"} for line in wanted["lines"]},
        ),
        (
            "racks",
            "name",
            {
                rack: {"site": site, "status": "planned", "width": "19", **held}
                for rack, held in wanted["racks"].items()
            },
        ),
        (
            "prefixes",
            "prefix",
            {p: {"status": "active", **h} for p, h in wanted["prefixes"].items()},
        ),
        ("devices", "name", {n: {"face": "front", **h} for n, h in wanted["devices"].items()}),
        (
            "ip-addresses",
            "address",
            {a: {"status": "active", **h} for a, h in wanted["addresses"].items()},
        ),
    ):
        for path, rows in _tables(tree, "netbox", name, needed=bool(plan)):
            yield from rows.faults
            if rows or not rows.faults:
                yield from bounded(path, row_findings(path, plan, _rows(rows, key, plan)))
            yield from _alike(path, rows, key, ("color",))
    for path, rows in _tables(tree, "netbox", "interfaces"):
        if not rows:
            yield from rows.faults
            continue
        yield from rows.faults
        yield from bounded(path, row_findings(path, *_interfaces(fabric, rows, "device")))
        yield from _alike(path, rows, "name", ("enabled",))
        yield from _kinds(fabric, path, rows, "device")
    for path, rows in _tables(tree, "netbox", "cables"):
        if not rows:
            yield from rows.faults
            continue
        yield from rows.faults
        plan, seen = _cables(
            links, rows, ("side_a_device", "side_a_name"), ("side_b_device", "side_b_name")
        )
        yield from bounded(path, row_findings(path, plan, seen))
        yield from _alike(path, rows, "label", ("status", "side_a_type", "side_b_type"))
        yield from _media(links, path, rows)


def nautobot(fabric: Fabric, links: list[Link], tree: Path) -> Iterator[Finding]:
    """Yield where Nautobot's files differ; an id stands for the name of its row."""
    site, wanted = fabric.intent.name, _facts(fabric)
    names, devices, interfaces = _identities(tree)
    within = {"namespace__name": site, "status__name": "Active"}
    placed = {"content_types": _PLACES}
    site_row = {"location_type__name": "Site", "status__name": "Planned"}
    plans: tuple[tuple[str, str, Mapping[str, Mapping[str, Value]]], ...] = (
        ("manufacturers", "name", {m: {} for m in wanted["makers"]}),
        ("platforms", "name", {p: {} for p in wanted["platforms"]}),
        (
            "device-types",
            "model",
            {
                model: {"manufacturer__name": held["manufacturer"], "u_height": held["u_height"]}
                for model, held in wanted["types"].items()
            },
        ),
        ("roles", "name", {role: {"content_types": "dcim.device"} for role in wanted["roles"]}),
        ("location-types", "name", {"Site": placed}),
        ("location-types--rows", "name", {"Row": {**placed, "parent__name": "Site"}}),
        ("namespaces", "name", {site: {}}),
        ("locations", "name", {site: site_row}),
        (
            "locations--rows",
            "name",
            {
                line: {**site_row, "location_type__name": "Row", "parent": site}
                for line in wanted["lines"]
            },
        ),
        (
            "racks",
            "name",
            {
                rack: {"status__name": "Planned", "width": "19", **held}
                for rack, held in wanted["racks"].items()
            },
        ),
        (
            "vlans",
            "vid",
            {
                v: {"name": f"hosts-{v}", "status__name": "Active", "locations": site}
                for v in wanted["vlans"]
            },
        ),
        ("prefixes", "prefix", {p: {**within, **h} for p, h in wanted["prefixes"].items()}),
        ("devices", "name", {n: _nautobot_device(h) for n, h in wanted["devices"].items()}),
        (
            "ip-addresses",
            "address",
            {a: {**within, "dns_name": h["dns_name"]} for a, h in wanted["addresses"].items()},
        ),
        (
            "ip-address-to-interface",
            "ip_address",
            {
                a: {"interface": f"{h['device']} {h['interface']}"}
                for a, h in wanted["addresses"].items()
            },
        ),
    )
    for name, key, plan in plans:
        for path, rows in _tables(
            tree, "nautobot", name, {**names, **devices, **interfaces}, needed=bool(plan)
        ):
            yield from rows.faults
            if rows or not rows.faults:
                yield from bounded(path, row_findings(path, plan, _rows(rows, key, plan)))
            yield from _alike(path, rows, key, ("color",))
    for path, rows in _tables(tree, "nautobot", "interfaces", devices):
        if not rows:
            yield from rows.faults
            continue
        yield from rows.faults
        yield from bounded(path, row_findings(path, *_interfaces(fabric, rows, "device")))
        yield from _alike(path, rows, "name", ("enabled", "status__name"))
        yield from _kinds(fabric, path, rows, "device")
    for path, rows in _tables(tree, "nautobot", "cables", interfaces):
        if not rows:
            yield from rows.faults
            continue
        yield from rows.faults
        plan, seen = _cables(links, rows, ("termination_a_id",), ("termination_b_id",))
        yield from bounded(path, row_findings(path, plan, seen))
        yield from _alike(
            path, rows, "label", ("status__name", "termination_a_type", "termination_b_type")
        )
        yield from _media(links, path, rows)


def _registry(fabric: Fabric) -> dict[str, dict[str, Value]]:
    """Return the registry of private AS numbers; InfiniBand has none."""
    registry: dict[str, Value] = {"slug": "rfc-6996", "is_private": "true"}
    return {"RFC 6996": registry} if fabric.is_ethernet else {}


class _Table(list[Cells]):
    """The rows of a file, and what is wrong with them."""

    def __init__(self) -> None:
        """Begin without rows."""
        super().__init__()
        self.faults: list[Finding] = []


def _tables(
    tree: Path,
    system: str,
    name: str,
    named: Mapping[str, str] | None = None,
    *,
    needed: bool = True,
) -> Iterator[tuple[str, _Table]]:
    """Yield the file of a name, if there is one; ids in it become what they stand for."""
    found = [
        file
        for file in sorted((tree / "exports" / system).glob(f"*/[0-9]*-{name}.csv"))
        if file.stem.partition("-")[2] == name
    ]
    if not found and needed:
        table = _Table()
        table.faults.append(fault(f"exports/{system}/{name}.csv", "the file is missing"))
        yield f"exports/{system}/{name}.csv", table
    for file in found:
        table = _Table()
        path = str(file.relative_to(tree))
        table.faults += read(tree, path, lambda text: _fill(path, text, table, named or {}))  # noqa: B023 - called at once
        yield path, table


def _fill(path: str, text: str, table: _Table, named: Mapping[str, str]) -> Iterator[Finding]:
    rows = csv.reader(io.StringIO(text))
    header = next(rows, [])
    for cells in rows:
        if cells and len(cells) != len(header):
            yield fault(path, f"has {len(cells)} fields, the header {len(header)}", rows.line_num)
        if cells:
            held = dict(zip(header, [*cells, *[""] * len(header)], strict=False))
            table.append(
                {k: v if k == "id" else named.get(v, v) for k, v in held.items()}
                | {"line": str(rows.line_num)}
            )


def _identities(tree: Path) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Return what ids of places and addresses, of devices and of interfaces stand for."""
    names: dict[str, str] = {}
    for sheet, key in (
        ("locations", "name"),
        ("locations--rows", "name"),
        ("racks", "name"),
        ("ip-addresses", "address"),
    ):
        for _, rows in _tables(tree, "nautobot", sheet):
            names |= {row.get("id", ""): row.get(key, "") for row in rows}
    devices: dict[str, str] = {}
    for _, rows in _tables(tree, "nautobot", "devices"):
        devices |= {row.get("id", ""): row.get("name", "") for row in rows}
    interfaces: dict[str, str] = {}
    for _, rows in _tables(tree, "nautobot", "interfaces", devices):
        interfaces |= {row.get("id", ""): f"{row.get('device')} {row.get('name')}" for row in rows}
    return names, devices, interfaces


def _rows(rows: _Table, key: str, plan: Mapping[str, Mapping[str, Value]]) -> Iterator[Row]:
    columns = {column for held in plan.values() for column in held}
    for row in rows:
        held: dict[str, Value] = {column: row[column] for column in columns if column in row}
        yield Row(row.get(key, "none"), held, int(row["line"]))


def _facts(fabric: Fabric) -> dict[str, dict[str, dict[str, Value]]]:
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


def _nautobot_device(held: Mapping[str, Value]) -> dict[str, Value]:
    return {
        "device_type__manufacturer__name": held["manufacturer"],
        "device_type__model": held["device_type"],
        "role__name": held["role"],
        "platform__name": held["platform"] or "NoObject",
        "status__name": "Planned",
        "location": held["location"],
        "rack": held["rack"],
        "serial": held["serial"],
        "position": held["position"],
        "face": "front",
        "comments": held["description"],
    }


def _by_system(fabric: Fabric, device: Switch | Node) -> str:
    return fabric.system or "" if isinstance(device, Switch) else ""


def _management(fabric: Fabric, device: Switch | Node) -> str:
    names = {"sonic": "eth0", "nvue": "eth0", "frr": "eth0", "eos": "Management1"}
    return names.get(_by_system(fabric, device), "mgmt0")


def _loopback(fabric: Fabric, device: Switch | Node) -> str:
    return "Loopback0" if _by_system(fabric, device) in ("sonic", "eos") else "lo"


def _vlan(fabric: Fabric, number: int) -> str:
    return f"{'Vlan' if fabric.system in ('sonic', 'eos') else 'vlan'}{number}"


def _slug(name: str) -> str:
    return "-".join(name.lower().replace(".", "-").split())


def _interfaces(
    fabric: Fabric, rows: _Table, device: str
) -> tuple[dict[str, dict[str, Value]], list[Row]]:
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
        key = f"{row.get(device)} {row.get('name')}"
        columns = plan.get(key, {"label": "", "mgmt_only": "", "mtu": ""})
        held = {column: row.get(column, "") for column in columns}
        seen.append(Row(key, dict(held), int(row["line"])))
    return plan, seen


def _kinds(fabric: Fabric, path: str, rows: _Table, device: str) -> Iterator[Finding]:
    """Yield interfaces of another type or speed than the like ones of the same model."""
    known: dict[tuple[str, str], Counter[tuple[str, str]]] = {}
    models = {d.name: d.model.name for d in fabric.switches} | {
        d.name: d.model.name for d in fabric.nodes
    }
    mine: list[tuple[tuple[str, str], tuple[str, str], Cells]] = []
    for row in rows:
        name, owner = row.get("name", ""), row.get(device, "")
        kind = name.rstrip("0123456789/:s").rstrip("0123456789") or name
        shown = row.get("type", ""), row.get("speed", "")
        mine.append(((models.get(owner, owner), kind), shown, row))
        known.setdefault(mine[-1][0], Counter())[shown] += 1
    for group, shown, row in mine:
        common = known[group].most_common(1)[0][0]
        if shown != common:
            message = f"{row.get(device)} {row.get('name')}: is {' '.join(shown).strip()}, the like"
            yield fault(path, f"{message} are {' '.join(common).strip()}", int(row["line"]))


def _cables(
    links: list[Link], rows: _Table, a: tuple[str, ...], z: tuple[str, ...]
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


def _media(links: list[Link], path: str, rows: _Table) -> Iterator[Finding]:
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


def _alike(path: str, rows: _Table, key: str, columns: tuple[str, ...]) -> Iterator[Finding]:
    """Yield rows that differ from the others in a column that has one value."""
    for column in columns:
        counts = Counter(row[column] for row in rows if column in row)
        for row in rows if len(counts) > 1 else ():
            common = counts.most_common(1)[0][0]
            if row.get(column) != common:
                message = f"{row.get(key)}: {column} is {row.get(column)}, that of others {common}"
                yield fault(path, message, int(row["line"]))
