"""NetBox's interfaces, and its names of interface and cable types."""

from __future__ import annotations

from typing import Final

from fireflyer.design.switch_config import switch_configs
from fireflyer.render.exports.netbox_table import Row
from fireflyer.render.exports.wiring import Wiring
from fireflyer.render.interface_names import UNCONFIGURED, InterfaceNames, interface_names

COLUMNS: Final = ("device", "name", "label", "type", "enabled", "mgmt_only", "speed", "mtu")
_KBPS_PER_GBPS: Final = 1_000_000
_INFINIBAND: Final = {100: "infiniband-edr-4x", 200: "infiniband-hdr-4x", 400: "infiniband-ndr-4x"}
_SUFFIX: Final = {"qsfp56": "qsfp56", "qsfp112": "qsfp112", "osfp": "osfp", "qsfp-dd": "qsfpdd"}


def interface_type(technology: str, gbps: int, connector: str) -> str:
    """Return NetBox's name of an interface type; `other` where it has none.

    >>> interface_type("ethernet", 400, "osfp")
    '400gbase-x-osfp'
    """
    if technology == "infiniband":
        return _INFINIBAND.get(gbps, "other")
    return f"{gbps}gbase-x-{_SUFFIX[connector]}" if gbps in (200, 400, 800) else "other"


def cable_type(medium: str, part: str) -> str:
    """Return NetBox's name of a cable's type; of fibre, the vendor's number says which.

    >>> cable_type("fibre", "MFP1-OM4-MPO12")
    'mmf-om4'
    """
    if medium.startswith("dac"):
        return "dac-passive"
    if medium.startswith("aoc"):
        return "aoc"
    return "mmf-om4" if "OM4" in part else "smf-os2"


def interface_rows(wiring: Wiring) -> list[Row]:
    """Return every port of every device, its management port, loopback and router's interface.

    A node's adapter is labelled with what the interface does not say: its RDMA device.
    """
    fabric = wiring.fabric
    technology = "ethernet" if fabric.is_ethernet else "infiniband"
    names = interface_names(fabric.system)
    ethernet = fabric.intent.fabric.ethernet
    mtu = str(ethernet.mtu) if ethernet is not None else ""
    vlans = {
        switch.name: names.of_vlan(switch.hosts.vlan)
        for switch in switch_configs(fabric)
        if switch.hosts is not None
    }
    of_switch: dict[str, list[Row]] = {}
    for model in {switch.model.name: switch.model for switch in fabric.switches}.values():
        kind = interface_type(technology, model.port_gbps, model.connector)
        speed = str(model.port_gbps * _KBPS_PER_GBPS)
        ports = wiring.switch_ports[model.name]
        of_switch[model.name] = [
            *_always(names),
            *((port, "", kind, "true", "false", speed, mtu) for port in ports),
        ]
    rows: list[Row] = []
    for switch in fabric.switches:
        rows += [(switch.name, *rest) for rest in of_switch[switch.model.name]]
        if vlan := vlans.get(switch.name):
            rows.append((switch.name, *_virtual(vlan)))
    of_node: dict[str, list[Row]] = {}
    for node in fabric.nodes:
        if node.model.name not in of_node:
            of_node[node.model.name] = _always(UNCONFIGURED) + [
                (
                    nic.name if fabric.is_ethernet else nic.hca,
                    nic.hca if fabric.is_ethernet else nic.name,
                    interface_type(technology, nic.gbps, nic.connector),
                    "true",
                    "false",
                    str(nic.gbps * _KBPS_PER_GBPS),
                    mtu,
                )
                for nic in node.model.nics
            ]
        rows += [(node.name, *rest) for rest in of_node[node.model.name]]
    return rows


def _always(names: InterfaceNames) -> list[Row]:
    """Return what every device has beside its ports, without the device."""
    return [(names.management, "", "1000base-t", "true", "true", "", ""), _virtual(names.loopback)]


def _virtual(name: str) -> Row:
    return (name, "", "virtual", "true", "false", "", "")
