"""Tables for NetBox's bulk import, numbered in the order in which it can take them.

The columns are those of its import forms (checked against NetBox 4.7); the same rows go through
its API with `fireflyer export-netbox`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from fireflyer.design.switch_config import switch_configs
from fireflyer.model.fabric import Fabric, Node, Switch
from fireflyer.render.exports import netbox_interfaces
from fireflyer.render.exports.netbox_interfaces import Row, cable_type
from fireflyer.render.exports.wiring import Files, Link, Wiring
from fireflyer.render.interface_names import UNCONFIGURED, interface_names

_INTERFACE: Final = "dcim.interface"


class Table(NamedTuple):
    """One import: the object's name in NetBox's address, columns, rows."""

    name: str
    columns: Row
    rows: list[Row]


def files(wiring: Wiring) -> Files:
    """Yield `NN-<objects>.csv`. No value holds a comma or a quote."""
    for number, table in enumerate(tables(wiring), start=1):
        lines = [",".join(row) + "\n" for row in (table.columns, *table.rows)]
        yield f"{number:02d}-{table.name}.csv", "".join(lines)


def tables(wiring: Wiring) -> Iterator[Table]:
    """Yield every table in the order of import."""
    fabric = wiring.fabric
    yield from _kinds(fabric)
    yield from _places(fabric)
    yield _devices(fabric)
    rows = netbox_interfaces.interface_rows(wiring)
    yield Table("interfaces", netbox_interfaces.COLUMNS, rows)
    yield _prefixes(fabric)
    yield _addresses(fabric)
    yield _cables(wiring)


def manufacturer(description: str) -> str:
    """Return who makes a model: hardware profiles name a vendor first, or none."""
    return "NVIDIA" if description.startswith("NVIDIA") else "Unnamed"


def _every_device(fabric: Fabric) -> tuple[Switch | Node, ...]:
    return (*fabric.switches, *fabric.nodes)


def _kinds(fabric: Fabric) -> Iterator[Table]:
    models = {device.model.name: device.model for device in _every_device(fabric)}
    makers = sorted({manufacturer(model.description) for model in models.values()})
    yield Table("manufacturers", ("name", "slug"), [(name, name.lower()) for name in makers])
    yield Table(
        "device-types",
        ("manufacturer", "model", "slug", "u_height"),
        [
            (manufacturer(model.description), name, name, str(model.rack_units))
            for name, model in models.items()
        ],
    )
    roles = dict.fromkeys(str(s.layer) for s in fabric.switches)
    roles |= dict.fromkeys(str(n.role) for n in fabric.nodes)
    yield Table(
        "device-roles",
        ("name", "slug", "color", "vm_role"),
        [(role, role, "9e9e9e", "false") for role in roles],
    )


def _places(fabric: Fabric) -> Iterator[Table]:
    site = fabric.intent.name
    yield Table("sites", ("name", "slug", "status"), [(site, site, "planned")])
    racks = sorted({device.place.rack for device in _every_device(fabric)})
    rows = sorted({location(rack) for rack in racks})
    yield Table(
        "locations",
        ("site", "name", "slug", "status"),
        [(site, row, row, "planned") for row in rows],
    )
    height = str(fabric.intent.racks.units)
    yield Table(
        "racks",
        ("site", "location", "name", "status", "width", "u_height"),
        [(site, location(rack), rack, "planned", "19", height) for rack in racks],
    )


def location(rack: str) -> str:
    """Return the row a rack stands in: `a-r02` of `a-r02-07`."""
    return rack.rpartition("-")[0] or rack


def _devices(fabric: Fabric) -> Table:
    columns = (
        "name",
        "role",
        "manufacturer",
        "device_type",
        "serial",
        "status",
        "site",
        "location",
        "rack",
        "position",
        "face",
    )
    site = fabric.intent.name
    rows: list[Row] = [
        (
            device.name,
            str(device.layer if isinstance(device, Switch) else device.role),
            manufacturer(device.model.description),
            device.model.name,
            device.serial,
            "planned",
            site,
            location(device.place.rack),
            device.place.rack,
            str(device.place.unit),
            "front",
        )
        for device in _every_device(fabric)
    ]
    return Table("devices", columns, rows)


def _prefixes(fabric: Fabric) -> Table:
    """Return the site's networks, and each leaf's where it routes."""
    named = {str(network): name for name, network in fabric.networks.items()}
    leaves = {
        port.leaf.device: port.network for n in fabric.nodes for port in n.ports if port.gateway
    }
    named |= {str(network): leaf for leaf, network in leaves.items()}
    rows: list[Row] = [(prefix, "active", name) for prefix, name in named.items()]
    return Table("prefixes", ("prefix", "status", "description"), rows)


def _addresses(fabric: Fabric) -> Table:
    """Return the address of every interface: of devices, of routers in VLANs, of numbered links."""
    columns = ("address", "status", "dns_name", "device", "interface", "is_primary")
    length = fabric.networks["management"].prefixlen
    domain = fabric.intent.domain
    of_switches = interface_names(fabric.system)
    rows: list[Row] = []
    for device in _every_device(fabric):
        name, names = device.name, of_switches if isinstance(device, Switch) else UNCONFIGURED
        dns, at = f"{name}.{domain}", names.management
        rows.append((f"{device.management}/{length}", "active", dns, name, at, "true"))
        rows.append((f"{device.loopback}/32", "active", "", name, names.loopback, "false"))
    for switch in switch_configs(fabric):
        if hosts := switch.hosts:
            address = f"{hosts.gateway}/{hosts.network.prefixlen}"
            at = of_switches.of_vlan(hosts.vlan)
            rows.append((address, "active", "", switch.name, at, "false"))
        rows += [
            (f"{port.address}/31", "active", "", switch.name, port.name, "false")
            for port in switch.ports
            if port.address is not None
        ]
    for node in fabric.nodes:
        for node_port in node.ports:
            address = f"{node_port.address}/{node_port.network.prefixlen}"
            at = node_port.name if fabric.is_ethernet else node_port.hca
            rows.append((address, "active", "", node.name, at, "false"))
    return Table("ip-addresses", columns, rows)


def _cables(wiring: Wiring) -> Table:
    columns = (
        "side_a_device",
        "side_a_type",
        "side_a_name",
        "side_b_device",
        "side_b_type",
        "side_b_name",
        "type",
        "status",
        "label",
        "length",
        "length_unit",
    )
    kinds: dict[tuple[str, str], str] = {}

    def row(link: Link) -> Row:
        kind = kinds.get((link.medium, link.part))
        if kind is None:
            kind = kinds[link.medium, link.part] = cable_type(link.medium, link.part)
        return (
            link.a,
            _INTERFACE,
            link.a_port,
            link.z,
            _INTERFACE,
            link.z_port,
            kind,
            "planned",
            link.id,
            f"{link.length_m:g}",
            "m",
        )

    return Table("cables", columns, [row(link) for link in wiring.links])
