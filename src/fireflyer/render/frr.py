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
from fireflyer.model.switch_config import PortRole, Prefixes, SwitchConfig
from fireflyer.render.interface_names import INTERFACE_NAMES
from fireflyer.render.switch_files import file_name
from fireflyer.render.template import render


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
    own = linux(system)
    for port in switch.ports:
        name = port.name if own == system else switch.model.interface(own, port.number)
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


def linux(system: System | None) -> System:
    """Return the system by whose names Linux knows a switch's interfaces: its own, but for EOS."""
    return "frr" if system is None or system == "eos" else system


def vlan_interface(system: System | None, vlan: int) -> str:
    """Return the name of the router's interface in a VLAN under Linux.

    >>> vlan_interface("sonic", 100), vlan_interface("eos", 100)
    ('Vlan100', 'vlan100')
    """
    return INTERFACE_NAMES[linux(system)].of_vlan(vlan)


def port_interface(fabric: Fabric, port: Port) -> str:
    """Return the name of a switch's port under Linux."""
    return fabric.switch[port.device].model.interface(linux(fabric.system), port.number)


@lru_cache(maxsize=4)
def _rules(accepted: tuple[Prefixes, ...]) -> tuple[str, ...]:
    """Return prefix-list rules; FRR refuses a range that holds nothing but the network."""
    return tuple(
        str(p.network) if p.whole else f"{p.network} ge {p.length} le {p.length}" for p in accepted
    )
