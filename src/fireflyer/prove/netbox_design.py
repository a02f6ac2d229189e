"""NetBox's import files against the design: each value of a row, not its form alone.

Read from the fabric and the switches' configurations; nothing of the tables' renderer is used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from fireflyer.design.switch_config import switch_configs
from fireflyer.model.fabric import Fabric, Node, Port, Switch
from fireflyer.verify.finding import Finding

CHECK = "netbox"
REMEDY = "render the site again"
Rows: TypeAlias = list[dict[str, str]]
_KBPS = 1_000_000
_MANAGEMENT_SYSTEMS = {"sonic": "eth0", "nvue": "eth0", "frr": "eth0", "eos": "Management1"}
"""What switches call their management port where it is not mgmt0."""


def finding(stem: str, message: str) -> Finding:
    """Return a finding of one import file."""
    return Finding(CHECK, f"exports/netbox/{stem}.csv", message, REMEDY)


def design_findings(fabric: Fabric, tables: Mapping[str, Rows]) -> Iterator[Finding]:
    """Yield, for each file, the first rows that are not the design's."""
    for stem, key, wanted in (
        ("site/05-devices", ("name",), _devices(fabric)),
        ("site/06-interfaces", ("device", "name"), _interfaces(fabric)),
        ("site/07-mac-addresses", ("device",), _macs(fabric)),
        ("site/09-ip-addresses", ("device", "address"), _addresses(fabric)),
        ("site/10-cables", ("label",), _cables(fabric)),
        ("shared/06-asns", ("asn",), _asns(fabric)),
        ("site/04-vlans", ("vid",), _vlans(fabric)),
    ):
        yield from _compared(stem, key, wanted, tables[stem])
    yield from _two_cables(tables["site/10-cables"])


Wanted: TypeAlias = Mapping[tuple[str, ...], Mapping[str, str]]
"""Values by column, by the row's key."""


def _compared(stem: str, key: tuple[str, ...], wanted: Wanted, rows: Rows) -> Iterator[Finding]:
    """Yield one missing row, one that is too many and one wrong value, with how many there are."""
    by_key = {tuple(row.get(name, "") for name in key): row for row in rows}
    missing = [name for name in wanted if name not in by_key]
    if missing:
        yield finding(stem, f"lacks {' '.join(missing[0])}{_more(missing)}")
    extra = [name for name in by_key if name not in wanted]
    if extra:
        yield finding(stem, f"{' '.join(extra[0])} is not of the fabric{_more(extra)}")
    wrong = [
        f"{column} of {' '.join(name)} is {shown or 'empty'}, not {value or 'empty'}"
        for name, values in wanted.items()
        if name in by_key
        for column, value in values.items()
        if (shown := by_key[name].get(column, "")) != value
    ]
    if wrong:
        yield finding(stem, f"{wrong[0]}{_more(wrong)}")


def _more(found: list[str] | list[tuple[str, ...]]) -> str:
    return f", and {len(found) - 1:,} more" if len(found) > 1 else ""


def _devices(fabric: Fabric) -> Wanted:
    numbers = {switch.name: switch.bgp.asn for switch in switch_configs(fabric) if switch.bgp}
    devices: tuple[Switch | Node, ...] = (*fabric.switches, *fabric.nodes)
    return {
        (device.name,): {
            "role": str(device.layer if isinstance(device, Switch) else device.role),
            "rack": device.place.rack,
            "position": str(device.place.unit),
            "serial": device.serial,
            "site": fabric.intent.name,
            "description": f"AS {numbers[device.name]}" if device.name in numbers else "",
        }
        for device in devices
    }


def _interfaces(fabric: Fabric) -> Wanted:
    """Return the ports of the fabric, in use or not, and what every device has beside them."""
    ethernet = fabric.intent.fabric.ethernet
    mtu = str(ethernet.mtu) if ethernet is not None else ""
    found: dict[tuple[str, ...], Mapping[str, str]] = {}
    configs = {config.name: config for config in switch_configs(fabric)}
    for switch in fabric.switches:
        loopback = "Loopback0" if fabric.system in ("sonic", "eos") else "lo"
        found[switch.name, _management(fabric, switch)] = {"mgmt_only": "true"}
        found[switch.name, loopback] = {"type": "virtual"}
        speed = str(switch.model.port_gbps * _KBPS)
        for number in range(1, switch.model.ports + 1):
            name = _port(fabric, Port(switch.name, number))
            found[switch.name, name] = {"speed": speed, "mtu": mtu, "mgmt_only": "false"}
        if (config := configs.get(switch.name)) is not None and config.hosts is not None:
            vlan = "Vlan" if fabric.system in ("sonic", "eos") else "vlan"
            found[switch.name, f"{vlan}{config.hosts.vlan}"] = {"type": "virtual"}
    for node in fabric.nodes:
        found[node.name, "mgmt0"] = {"mgmt_only": "true"}
        found[node.name, "lo"] = {"type": "virtual"}
        for nic in node.model.nics:
            name, label = (nic.name, nic.hca) if fabric.is_ethernet else (nic.hca, nic.name)
            found[node.name, name] = {
                "label": label,
                "speed": str(nic.gbps * _KBPS),
                "mtu": mtu,
            }
    return found


def _management(fabric: Fabric, device: Switch | Node) -> str:
    if isinstance(device, Node) or fabric.system is None:
        return "mgmt0"
    return _MANAGEMENT_SYSTEMS.get(fabric.system, "mgmt0")


def _port(fabric: Fabric, port: Port) -> str:
    """Return a port's name as its own device has it."""
    if port.device in fabric.node:
        found = fabric.node_port[port]
        return found.name if fabric.is_ethernet else found.hca
    model = fabric.switch[port.device].model
    system = fabric.system
    if fabric.is_ethernet and system is not None and system in model.interfaces:
        return model.interface(system, port.number)
    return model.port(port.number)


def _macs(fabric: Fabric) -> Wanted:
    devices: tuple[Switch | Node, ...] = (*fabric.switches, *fabric.nodes)
    return {
        (device.name,): {
            "mac_address": device.mac.upper(),
            "interface": _management(fabric, device),
        }
        for device in devices
        if device.mac
    }


def _addresses(fabric: Fabric) -> Wanted:
    found: dict[tuple[str, ...], Mapping[str, str]] = {}
    length = fabric.networks["management"].prefixlen
    devices: tuple[Switch | Node, ...] = (*fabric.switches, *fabric.nodes)
    for device in devices:
        at = {"interface": _management(fabric, device), "is_primary": "true"}
        found[device.name, f"{device.management}/{length}"] = at
        found[device.name, f"{device.loopback}/32"] = {"is_primary": "false"}
    for config in switch_configs(fabric):
        if config.hosts is not None:
            gateway = f"{config.hosts.gateway}/{config.hosts.network.prefixlen}"
            found[config.name, gateway] = {"is_primary": "false"}
        for port in config.ports:
            if port.address is not None:
                found[config.name, f"{port.address}/31"] = {"interface": port.name}
    for end, node_port in fabric.node_port.items():
        address = f"{node_port.address}/{node_port.network.prefixlen}"
        found[end.device, address] = {"interface": _port(fabric, end)}
    return found


def _cables(fabric: Fabric) -> Wanted:
    return {
        (cable.id,): {
            "side_a_device": cable.a.device,
            "side_a_name": _port(fabric, cable.a),
            "side_b_device": cable.z.device,
            "side_b_name": _port(fabric, cable.z),
            "length": f"{cable.length_m:g}",
            "length_unit": "m",
        }
        for cable in fabric.cables
    }


def _asns(fabric: Fabric) -> Wanted:
    return {
        (str(config.bgp.asn),): {} for config in switch_configs(fabric) if config.bgp is not None
    }


def _vlans(fabric: Fabric) -> Wanted:
    return {(str(config.hosts.vlan),): {} for config in switch_configs(fabric) if config.hosts}


def _two_cables(rows: Rows) -> Iterator[Finding]:
    """Yield the interface that most rows put a cable in, if there is one with two."""
    ends = Counter(
        (row.get(f"side_{s}_device", ""), row.get(f"side_{s}_name", ""))
        for row in rows
        for s in "ab"
    )
    for end, count in ends.most_common(1):
        if count > 1:
            yield finding("site/10-cables", f"{' '.join(end)} has two cables")
