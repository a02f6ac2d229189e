"""What a switch's FRR file must hold, from the design's values alone.

Keys are a block, a row in it and a command's words. Nothing is shared with `render/frr.py` or
its template: names and constants stand here a second time, as the reader's own.
"""

from __future__ import annotations

from fireflyer.model.hardware import System
from fireflyer.model.switch_config import Bgp, PortConfig, PortRole, Prefixes, SwitchConfig
from fireflyer.prove.switches.values import Values

_BGP, _UNICAST = "router bgp", "ipv4 unicast"
_GROUP = "neighbor FABRIC"


def planned(config: SwitchConfig, system: System | None) -> Values:
    """Return every command of a switch.

    Args:
        config: what the switch should hold.
        system: what it runs; Linux names its interfaces as that does, except on EOS.
    """
    bgp = config.bgp
    assert bgp is not None
    values: Values = {
        ("frr defaults",): "datacenter",
        ("hostname",): config.name,
        ("log syslog",): "informational",
        ("service integrated-vtysh-config",): "",
        ("no zebra nexthop kernel enable",): "",
        ("interface", "lo"): "",
        ("interface", "lo", "ip address"): f"{config.loopback}/32",
    }
    if config.hosts is not None:
        vlan = f"{'Vlan' if system == 'sonic' else 'vlan'}{config.hosts.vlan}"
        address = f"{config.hosts.gateway}/{config.hosts.network.prefixlen}"
        values["interface", vlan] = ""
        values["interface", vlan, "ip address"] = address
    for port in config.ports:
        _port(_name(config, port, system), port, bgp, values)
    _bfd(bgp, values)
    _policy(bgp, values)
    _session(bgp, values)
    return values


def _name(config: SwitchConfig, port: PortConfig, system: System | None) -> str:
    if system in (None, "eos"):
        return config.model.interface("frr", port.number)
    return port.name


def _port(name: str, port: PortConfig, bgp: Bgp, values: Values) -> None:
    values["interface", name] = ""
    if not port.peer:
        values["interface", name, "shutdown"] = ""
        return
    values["interface", name, "description"] = f"{port.peer} {port.peer_port}"
    if port.role is not PortRole.SWITCH:
        return
    if bgp.unnumbered:
        neighbour, session = f"neighbor {name}", "interface remote-as"
    else:
        values["interface", name, "ip address"] = f"{port.address}/31"
        neighbour, session = f"neighbor {port.peer_address}", "remote-as"
    values[_BGP, neighbour, session] = str(port.peer_asn)
    values[_BGP, neighbour, "peer-group"] = "FABRIC"


def _bfd(bgp: Bgp, values: Values) -> None:
    profile = ("bfd profile", "FABRIC")
    values["bfd",] = values[profile] = ""
    values[(*profile, "detect-multiplier")] = str(bgp.bfd_multiplier)
    for way in ("receive", "transmit"):
        values[(*profile, f"{way}-interval")] = str(bgp.bfd_interval_ms)


def _policy(bgp: Bgp, values: Values) -> None:
    for network in bgp.networks:
        values["prefix-list OWN", str(network)] = "permit"
    for prefixes in bgp.accepted:
        values["prefix-list FABRIC", _matched(prefixes)] = "permit"
    advertised = "FABRIC" if bgp.transit else "OWN"
    for name, asked in (("FABRIC-IN", "FABRIC"), ("FABRIC-OUT", advertised)):
        values["route-map", f"{name} 10"] = "permit"
        values["route-map", f"{name} 10", "match ip address prefix-list"] = asked


def _matched(prefixes: Prefixes) -> str:
    """Return what a prefix list names; FRR refuses a range that is the network itself."""
    if prefixes.network.prefixlen == prefixes.length:
        return str(prefixes.network)
    return f"{prefixes.network} ge {prefixes.length} le {prefixes.length}"


def _session(bgp: Bgp, values: Values) -> None:
    values[_BGP,] = str(bgp.asn)
    values[_BGP, "bgp router-id"] = str(bgp.router_id)
    for switch_on in (
        "bgp log-neighbor-changes",
        "bgp suppress-fib-pending",
        "bgp bestpath as-path multipath-relax",
        "no bgp default ipv4-unicast",
    ):
        values[_BGP, switch_on] = ""
    values[_BGP, _GROUP, "peer-group"] = ""
    values[_BGP, _GROUP, "bfd profile"] = "FABRIC"
    values[_BGP, _GROUP, "timers"] = f"{bgp.keepalive_s} {bgp.hold_s}"
    values[_BGP, _GROUP, "timers connect"] = str(bgp.connect_s)
    values[_UNICAST, _GROUP, "activate"] = ""
    values[_UNICAST, _GROUP, "route-map in"] = "FABRIC-IN"
    values[_UNICAST, _GROUP, "route-map out"] = "FABRIC-OUT"
    values[_UNICAST,] = ""
    values[_UNICAST, "maximum-paths"] = str(bgp.maximum_paths)
    for network in bgp.networks:
        values[_UNICAST, f"network {network}"] = ""
