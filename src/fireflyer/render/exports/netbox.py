"""Tables for NetBox's bulk import, in the order in which it can take them.

The columns are those of its import forms (checked against NetBox 4.7); the same rows go through
its API with `fireflyer export-netbox`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from netaddr import cidr_merge

from fireflyer.design.switch_config import switch_configs
from fireflyer.model.fabric import Fabric, Node, Switch
from fireflyer.render.exports import netbox_interfaces
from fireflyer.render.exports.netbox_cables import cables
from fireflyer.render.exports.netbox_shared import PLATFORMS, asns, device_type, shared_tables
from fireflyer.render.exports.netbox_table import Row, Table
from fireflyer.render.exports.wiring import Files, Wiring
from fireflyer.render.interface_names import UNCONFIGURED, interface_names


def files(wiring: Wiring) -> Files:
    """Yield `<folder>/NN-<objects>.csv`. No value holds a comma or a quote."""
    for table in tables(wiring):
        if table.rows:
            lines = [",".join(row) + "\n" for row in (table.columns, *table.rows)]
            yield table.file, "".join(lines)


@lru_cache(maxsize=1)
def tables(wiring: Wiring) -> tuple[Table, ...]:
    """Return every table in the order of import; some have no rows. Nautobot's have the same."""
    return tuple(_tables(wiring))


def _tables(wiring: Wiring) -> Iterator[Table]:
    fabric = wiring.fabric
    yield from shared_tables(fabric)
    yield from _places(fabric)
    yield _vlans(fabric)
    yield _devices(fabric)
    yield Table(
        folder="site",
        number=6,
        name="interfaces",
        columns=netbox_interfaces.COLUMNS,
        rows=netbox_interfaces.interface_rows(wiring),
    )
    yield _macs(fabric)
    yield _prefixes(fabric)
    yield _addresses(fabric)
    yield cables(wiring)


def _every_device(fabric: Fabric) -> tuple[Switch | Node, ...]:
    return (*fabric.switches, *fabric.nodes)


def _places(fabric: Fabric) -> Iterator[Table]:
    site = fabric.intent.name
    yield Table(
        folder="site",
        number=1,
        name="sites",
        columns=("name", "slug", "status"),
        rows=[(site, site, "planned")],
    )
    racks = sorted({device.place.rack for device in _every_device(fabric)})
    yield Table(
        folder="site",
        number=2,
        name="locations",
        columns=("site", "name", "slug", "status"),
        rows=[(site, row, row, "planned") for row in sorted({location(rack) for rack in racks})],
    )
    height = str(fabric.intent.racks.units)
    yield Table(
        folder="site",
        number=3,
        name="racks",
        columns=("site", "location", "name", "status", "width", "u_height"),
        rows=[(site, location(rack), rack, "planned", "19", height) for rack in racks],
    )


def location(rack: str) -> str:
    """Return the row a rack stands in: `a-r02` of `a-r02-07`."""
    return rack.rpartition("-")[0] or rack


def _vlans(fabric: Fabric) -> Table:
    """Return the hosts' VLAN; each leaf has one of its own under the same number."""
    numbers = sorted({switch.hosts.vlan for switch in switch_configs(fabric) if switch.hosts})
    site = fabric.intent.name
    return Table(
        folder="site",
        number=4,
        name="vlans",
        columns=("site", "vid", "name", "status"),
        rows=[(site, str(number), f"hosts-{number}", "active") for number in numbers],
    )


def _devices(fabric: Fabric) -> Table:
    columns = (
        "name",
        "role",
        "manufacturer",
        "device_type",
        "platform",
        "serial",
        "status",
        "site",
        "location",
        "rack",
        "position",
        "face",
        "description",
    )
    site, numbers = fabric.intent.name, asns(fabric)
    platform = PLATFORMS[fabric.system] if fabric.system else ""
    rows: list[Row] = []
    for device in _every_device(fabric):
        is_switch, kind = isinstance(device, Switch), device_type(device.model)
        rows.append(
            (
                device.name,
                str(device.layer if isinstance(device, Switch) else device.role),
                kind.manufacturer,
                kind.model,
                platform if is_switch else "",
                device.serial,
                "planned",
                site,
                location(device.place.rack),
                device.place.rack,
                str(device.place.unit),
                "front",
                f"AS {numbers[device.name]}" if device.name in numbers else "",
            )
        )
    return Table(folder="site", number=5, name="devices", columns=columns, rows=rows)


def _macs(fabric: Fabric) -> Table:
    """Return the address of each management port that the asset list has."""
    names = interface_names(fabric.system)
    return Table(
        folder="site",
        number=7,
        name="mac-addresses",
        columns=("mac_address", "device", "interface", "is_primary"),
        rows=[
            (
                device.mac.upper(),
                device.name,
                (names if isinstance(device, Switch) else UNCONFIGURED).management,
                "true",
            )
            for device in _every_device(fabric)
            if device.mac
        ],
    )


def _prefixes(fabric: Fabric) -> Table:
    """Return the site's networks, and each leaf's where it routes."""
    named = {str(network): name for name, network in fabric.networks.items()}
    leaves = {
        port.leaf.device: port.network for n in fabric.nodes for port in n.ports if port.gateway
    }
    named |= {str(network): leaf for leaf, network in leaves.items()}
    rows: list[Row] = [(prefix, "active", name) for prefix, name in named.items()]
    return Table(
        folder="site",
        number=8,
        name="prefixes",
        columns=("prefix", "status", "description"),
        rows=rows,
        networks=_merged(row[0] for row in rows),
    )


def _merged(networks: Iterable[str]) -> Row:
    return tuple(str(network) for network in cidr_merge(networks))


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
    return Table(
        folder="site",
        number=9,
        name="ip-addresses",
        columns=columns,
        rows=rows,
        networks=_merged(str(network) for network in fabric.networks.values()),
    )
