"""FRR configuration of each Ethernet switch: eBGP between neighbours, nothing else announced.

The file says all that routing needs, addresses included, so FRR alone can run it. SONiC and
Cumulus Linux route with FRR. EOS does not; there ports have the names Linux would give them, and
the file is only good to prove the routing with.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fireflyer.design.switch_config import switch_configs
from fireflyer.model.fabric import Fabric, Layer, Port
from fireflyer.model.hardware import System
from fireflyer.model.switch_config import PortConfig, PortRole, SwitchConfig
from fireflyer.render.template import render

KEEPALIVE_S, HOLD_S, CONNECT_S = 3, 9, 10
"""FRR's own values for data centres: a neighbour that says nothing is given up after 9 s."""
BFD_INTERVAL_MS, BFD_MULTIPLIER = 300, 3
"""FRR's own values (RFC 5880): a cable that is up but carries nothing is given up after 0.9 s."""
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
    keepalive_s: int = KEEPALIVE_S
    hold_s: int = HOLD_S
    connect_s: int = CONNECT_S
    bfd_interval_ms: int = BFD_INTERVAL_MS
    bfd_multiplier: int = BFD_MULTIPLIER


def files(fabric: Fabric) -> Iterator[tuple[str, str]]:
    """Yield `<switch>.conf` of every switch of an Ethernet fabric."""
    if not fabric.is_ethernet:
        return
    rules = _fabric_networks(fabric)
    between = {switch.name for switch in fabric.switches_of(Layer.INTERZONE)}
    for switch in switch_configs(fabric):
        value = config(switch, fabric.system, rules, transit=_is_transit(switch, between))
        yield f"{switch.name}.conf", render("frr/frr.conf.j2", switch=value)


def config(
    switch: SwitchConfig, system: System | None, rules: tuple[str, ...], *, transit: bool
) -> FrrConfig:
    """Say a switch's configuration in FRR's words.

    Args:
        switch: what it should hold.
        system: what it runs; names of interfaces follow from it.
        rules: prefix-list rules of the whole fabric.
        transit: whether it passes routes on, as all but leaves of hosts do.
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
        fabric_networks=rules,
        announced="FABRIC" if transit else "OWN",
        asn=bgp.asn,
        router_id=str(bgp.router_id),
        neighbours=tuple(neighbours),
        maximum_paths=bgp.maximum_paths,
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


def _is_transit(switch: SwitchConfig, between: set[str]) -> bool:
    """Return whether a switch passes on what it learns: all but leaves that join no zones."""
    return switch.layer is not Layer.LEAF or any(port.peer in between for port in switch.ports)


def _fabric_networks(fabric: Fabric) -> tuple[str, ...]:
    """Return prefix-list rules for loopbacks, and for the leaves' networks of each tree."""
    lengths = {port.network.prefixlen for port in fabric.node_port.values()}
    rules = [f"{fabric.networks['loopback']} ge 32"]
    for tree in fabric.trees:
        network = fabric.networks[f"roce_{tree}"]
        rules += [f"{network} ge {length} le {length}" for length in sorted(lengths)]
    return tuple(rules)
