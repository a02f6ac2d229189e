"""FRR configuration of each Ethernet switch: eBGP between neighbours, nothing else announced.

The file says all that routing needs, addresses included, so FRR alone can run it. SONiC and
Cumulus Linux route with FRR. EOS does not; there ports have the names Linux would give them, and
the file is only good to prove the routing with.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from fireflyer.design.switch_config import switch_configs
from fireflyer.model.fabric import Fabric, Port
from fireflyer.model.hardware import System
from fireflyer.model.switch_config import PortConfig, PortRole, Prefixes, SwitchConfig
from fireflyer.render.switch_files import file_name
from fireflyer.render.template import render

VLAN_INTERFACES: dict[System, str] = {"sonic": "Vlan{vlan}"}
"""What a system calls the router's interface in a VLAN; the others say vlan100."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrrConfig:
    """Everything the template may use."""

    name: str
    place: str
    addresses: tuple[tuple[str, str], ...]
    """Interfaces that have an address, with it."""
    ports: tuple[tuple[str, str], ...]
    """Ports with the one line each has."""
    networks: tuple[str, ...]
    """Announced: the switch's own."""
    fabric_networks: tuple[str, ...]
    """Prefix-list rules for every network that a switch of the fabric may announce."""
    announced: str
    """Prefix list of what neighbours are told: OWN at a leaf of hosts, FABRIC elsewhere."""
    asn: int
    router_id: str
    neighbours: tuple[tuple[str, str, int], ...]
    """Address or interface of each neighbour, the words that open a session, its number."""
    maximum_paths: int
    keepalive_s: int
    hold_s: int
    connect_s: int
    bfd_interval_ms: int
    bfd_multiplier: int


def files(fabric: Fabric) -> Iterator[tuple[str, str]]:
    """Yield the configuration of every switch of an Ethernet fabric, whatever it runs."""
    if not fabric.is_ethernet:
        return
    for switch in switch_configs(fabric):
        value = config(switch, fabric.system)
        yield file_name("frr", switch.name), render("frr/frr.conf.j2", switch=value)


def config(switch: SwitchConfig, system: System | None) -> FrrConfig:
    """Say a switch's configuration in FRR's words.

    Args:
        switch: what it should hold.
        system: what it runs; names of interfaces follow from it.
    """
    bgp = switch.bgp
    assert bgp is not None
    addresses = [("lo", f"{switch.loopback}/32")]
    if switch.hosts is not None:
        vlan = vlan_interface(system, switch.hosts.vlan)
        length = switch.hosts.network.prefixlen
        addresses.append((vlan, f"{switch.hosts.gateway}/{length}"))
    ports, neighbours = [], []
    for port in switch.ports:
        name = port_name(switch, system, port)
        ports.append((name, f"description {port.description}" if port.peer else "shutdown"))
        if port.role is not PortRole.SWITCH:
            continue
        if port.address is None:
            neighbours.append((name, "interface remote-as", port.peer_asn))
        else:
            addresses.append((name, f"{port.address}/31"))
            neighbours.append((str(port.peer_address), "remote-as", port.peer_asn))
    return FrrConfig(
        name=switch.name,
        place=switch.place,
        addresses=tuple(addresses),
        ports=tuple(ports),
        networks=tuple(map(str, bgp.networks)),
        fabric_networks=_rules(bgp.accepted),
        announced="FABRIC" if bgp.transit else "OWN",
        asn=bgp.asn,
        router_id=str(bgp.router_id),
        neighbours=tuple(neighbours),
        maximum_paths=bgp.maximum_paths,
        keepalive_s=bgp.keepalive_s,
        hold_s=bgp.hold_s,
        connect_s=bgp.connect_s,
        bfd_interval_ms=bgp.bfd_interval_ms,
        bfd_multiplier=bgp.bfd_multiplier,
    )


def vlan_interface(system: System | None, vlan: int) -> str:
    """Return what a system calls the router's interface in a VLAN.

    >>> vlan_interface("sonic", 100), vlan_interface("nvue", 100)
    ('Vlan100', 'vlan100')
    """
    return VLAN_INTERFACES.get(system or "frr", "vlan{vlan}").format(vlan=vlan)


def port_name(switch: SwitchConfig, system: System | None, port: PortConfig) -> str:
    """Return a port's name under Linux: the system's own, where that is Linux."""
    return switch.model.interface("frr", port.number) if system == "eos" else port.name


def port_interface(fabric: Fabric, port: Port) -> str:
    """Return the name of a switch's port under Linux."""
    assert fabric.system is not None
    system: System = "frr" if fabric.system == "eos" else fabric.system
    return fabric.switch[port.device].model.interface(system, port.number)


@lru_cache(maxsize=4)
def _rules(accepted: tuple[Prefixes, ...]) -> tuple[str, ...]:
    """Return prefix-list rules; FRR refuses a range that holds nothing but the network."""
    return tuple(
        str(p.network) if p.whole else f"{p.network} ge {p.length} le {p.length}" for p in accepted
    )
