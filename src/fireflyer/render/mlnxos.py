"""MLNX-OS configuration of each switch: who it is, who is at each port, nothing routed.

An InfiniBand switch is configured by the subnet manager in band; this file is its
management plane and its port descriptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fireflyer.model.fabric import Fabric, Port, Switch
from fireflyer.render.template import render


@dataclass(frozen=True, slots=True)
class PortConfig:
    """One port as its switch should hold it."""

    name: str
    """In MLNX-OS's spelling, such as `ib 1/21`."""
    peer: str
    """What is at the other end; empty for a port to keep shut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchConfig:
    """Everything the template may use."""

    name: str
    domain: str
    place: str
    address: str
    prefix_length: int
    gateway: str
    ntp_servers: tuple[str, ...]
    syslog_servers: tuple[str, ...]
    ports: tuple[PortConfig, ...]


def files(fabric: Fabric) -> Mapping[str, str]:
    """Return `<switch>.cfg` for every switch that runs MLNX-OS."""
    return {
        f"{switch.name}.cfg": render("mlnxos/switch.cfg.j2", switch=config(fabric, switch))
        for switch in fabric.switches
        if fabric.system == "mlnxos"
    }


def config(fabric: Fabric, switch: Switch) -> SwitchConfig:
    """Describe a switch: cabled ports by their far end, the others shut."""
    cluster = fabric.intent
    ports = []
    for number in range(1, switch.model.ports + 1):
        far = fabric.far_end.get(Port(switch.name, number))
        peer = f"{far.device} {fabric.port_name(far)}" if far else ""
        interface = switch.model.interface("mlnxos", number)
        ports.append(PortConfig(interface, peer))
    return SwitchConfig(
        name=switch.name,
        domain=cluster.domain,
        place=f"{switch.place.rack} U{switch.place.unit:02d}",
        address=str(switch.management),
        prefix_length=fabric.networks["management"].prefixlen,
        gateway=cluster.addresses.gateway or "",
        ntp_servers=cluster.ntp_servers,
        syslog_servers=cluster.syslog_servers,
        ports=tuple(ports),
    )
