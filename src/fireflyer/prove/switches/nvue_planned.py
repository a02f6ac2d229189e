"""What a switch's NVUE file must hold, from the design's values alone.

Keys are paths of the object tree of Cumulus Linux 5.11. Nothing is shared with `render/nvue.py`
or `templates/nvue`: names and constants stand here a second time, as the reader's own.
"""

from __future__ import annotations

from math import ceil

from fireflyer.model.switch_config import Bgp, PortConfig, PortRole, SwitchConfig
from fireflyer.prove.switches.values import Values

EMPTY = "{}"
CODE_POINTS = range(64)
_POLL_MS = 100
_BGP = "vrf default router bgp"
_UNICAST = "address-family ipv4-unicast"


def planned(config: SwitchConfig) -> Values:
    """Return every leaf of a switch's object tree."""
    values: Values = {}
    _management(config, values)
    _interfaces(config, values)
    for port in config.ports:
        _port(config, port, values)
    if config.bgp is not None:
        _policy(config.bgp, values)
        _routing(config, config.bgp, values)
    if config.adaptive_routing:
        _put(values, "router adaptive-routing enable", "on")
    if config.queues:
        _classes(config, values)
        _lossless(config, values)
    return values


def _put(values: Values, path: str, value: str = EMPTY, *, at: tuple[str, ...] = ()) -> None:
    values[(*at, *path.split(" "))] = value


def _management(config: SwitchConfig, values: Values) -> None:
    management = config.management
    _put(values, "system hostname", config.name)
    _put(values, "acl MANAGEMENT type", "ipv4")
    _put(values, "acl MANAGEMENT rule 5 match ip protocol", "udp")
    _put(values, "acl MANAGEMENT rule 5 match ip udp source-port 123")
    _put(values, "acl MANAGEMENT rule 5 action permit")
    for place, source in enumerate(management.allowed_sources, start=1):
        _put(values, f"acl MANAGEMENT rule {10 * place} match ip source-ip", str(source))
        _put(values, f"acl MANAGEMENT rule {10 * place} action permit")
    _put(values, "acl MANAGEMENT rule 65535 match ip source-ip", "ANY")
    _put(values, "acl MANAGEMENT rule 65535 action deny")
    if management.monitoring == "gnmi":
        _put(values, "system gnmi-server state", "enabled")
    if management.monitoring == "snmpv3":
        _put(values, "system snmp-server state", "enabled")
        _put(values, "system snmp-server system-name", f"{config.name}.{management.domain}")
        _put(values, "system snmp-server system-location", config.place)
        _put(values, f"system snmp-server listening-address {management.address} vrf", "mgmt")
    for field in ("ip-protocol", "source-ip", "destination-ip", "source-port", "destination-port"):
        _put(values, f"system forwarding ecmp-hash {field}", "on")
    _put(values, "service lldp tx-interval", "30")
    _put(values, "service lldp tx-hold-multiplier", "4")
    for server in management.ntp_servers:
        _put(values, f"service ntp mgmt server {server} iburst", "on")
    for server in management.syslog_servers:
        _put(values, f"service syslog mgmt server {server} port", "514")
        _put(values, f"service syslog mgmt server {server} protocol", "udp")
    if not management.ntp_servers:
        _put(values, "service ntp mgmt server")
    if not management.syslog_servers:
        _put(values, "service syslog mgmt server")


def _interfaces(config: SwitchConfig, values: Values) -> None:
    """Put the interfaces that are no port: management, loopback, hosts' VLAN, cages."""
    management = config.management
    _put(values, "interface eth0 type", "eth")
    _put(values, "interface eth0 acl MANAGEMENT inbound control-plane")
    _put(values, "interface eth0 ip vrf", "mgmt")
    length = management.network.prefixlen
    _put(values, f"interface eth0 ip address {management.address}/{length}")
    if management.gateway:
        _put(values, f"interface eth0 ip gateway {management.gateway}")
    _put(values, "interface lo type", "loopback")
    _put(values, f"interface lo ip address {config.loopback}/32")
    if config.hosts is not None:
        vlan, hosts = config.hosts.vlan, config.hosts
        _put(values, f"bridge domain br_default vlan {vlan}")
        _put(values, f"interface vlan{vlan} type", "svi")
        _put(values, f"interface vlan{vlan} vlan", str(vlan))
        _put(values, f"interface vlan{vlan} link mtu", str(config.mtu))
        address = f"{hosts.gateway}/{hosts.network.prefixlen}"
        _put(values, f"interface vlan{vlan} ip address {address}")
    legs = config.model.ports_per_cage
    for cage in range(1, config.model.ports // legs + 1) if legs > 1 else ():
        _put(values, f"interface swp{cage} type", "swp")
        _put(values, f"interface swp{cage} link breakout {legs}x")


def _port(config: SwitchConfig, port: PortConfig, values: Values) -> None:
    at = ("interface", port.name)
    values[(*at, "type")] = "swp"
    if not port.peer:
        values[(*at, "link", "state", "down")] = EMPTY
        return
    values[(*at, "description")] = f"{port.peer} {port.peer_port}"
    values[(*at, "link", "state", "up")] = EMPTY
    values[(*at, "link", "speed")] = f"{port.gbps}G"
    values[(*at, "link", "mtu")] = str(config.mtu)
    values[(*at, "link", "fec")] = "rs"
    values[(*at, "link", "auto-negotiate")] = "off"
    if port.role is PortRole.HOST:
        assert config.hosts is not None
        values[(*at, "bridge", "domain", "br_default", "access")] = str(config.hosts.vlan)
    else:
        if port.address is not None:
            values[(*at, "ip", "address", f"{port.address}/31")] = EMPTY
        if config.adaptive_routing:
            values[(*at, "router", "adaptive-routing", "enable")] = "on"
    if config.lossless is not None:
        profile = config.lossless.by_cable[port.gbps, port.cable_m]
        values[(*at, "qos", "pfc", "profile")] = profile.name
        values[(*at, "qos", "pfc-watchdog", "state")] = "enable"


def _policy(bgp: Bgp, values: Values) -> None:
    lists = "router policy prefix-list"
    for name in ("OWN", "FABRIC"):
        _put(values, f"{lists} {name} type", "ipv4")
    for place, network in enumerate(bgp.networks, start=1):
        _put(values, f"{lists} OWN rule {10 * place} action", "permit")
        _put(values, f"{lists} OWN rule {10 * place} match {network}")
    for place, prefixes in enumerate(bgp.accepted, start=1):
        rule = f"{lists} FABRIC rule {10 * place}"
        _put(values, f"{rule} action", "permit")
        if prefixes.network.prefixlen == prefixes.length:
            _put(values, f"{rule} match {prefixes.network}")
            continue
        for end in ("min", "max"):
            path = f"{rule} match {prefixes.network} {end}-prefix-len"
            _put(values, path, str(prefixes.length))
    advertised = "FABRIC" if bgp.transit else "OWN"
    for name, asked in (("FABRIC_IN", "FABRIC"), ("FABRIC_OUT", advertised)):
        rule = f"router policy route-map {name} rule 10"
        _put(values, f"{rule} action permit")
        _put(values, f"{rule} match type", "ipv4")
        _put(values, f"{rule} match ip-prefix-list", asked)


def _routing(config: SwitchConfig, bgp: Bgp, values: Values) -> None:
    _put(values, "router bgp enable", "on")
    _put(values, "router bgp autonomous-system", str(bgp.asn))
    _put(values, "router bgp router-id", str(bgp.router_id))
    _put(values, "router bgp wait-for-install", "on")
    _put(values, f"{_BGP} enable", "on")
    _put(values, f"{_BGP} path-selection multipath aspath-ignore", "on")
    _put(values, f"{_BGP} {_UNICAST} enable", "on")
    _put(values, f"{_BGP} {_UNICAST} multipaths ebgp", str(bgp.maximum_paths))
    for network in bgp.networks:
        _put(values, f"{_BGP} {_UNICAST} network {network}")
    group = f"{_BGP} peer-group FABRIC"
    _put(values, f"{group} timers keepalive", str(bgp.keepalive_s))
    _put(values, f"{group} timers hold", str(bgp.hold_s))
    _put(values, f"{group} timers connection-retry", str(bgp.connect_s))
    _put(values, f"{group} bfd enable", "on")
    _put(values, f"{group} bfd detect-multiplier", str(bgp.bfd_multiplier))
    _put(values, f"{group} bfd min-rx-interval", str(bgp.bfd_interval_ms))
    _put(values, f"{group} bfd min-tx-interval", str(bgp.bfd_interval_ms))
    _put(values, f"{group} {_UNICAST} enable", "on")
    _put(values, f"{group} {_UNICAST} policy inbound route-map", "FABRIC_IN")
    _put(values, f"{group} {_UNICAST} policy outbound route-map", "FABRIC_OUT")
    links = config.ports_of(PortRole.SWITCH)
    if not links:
        _put(values, f"{_BGP} neighbor")
    for port in links:
        at = (*_BGP.split(" "), "neighbor")
        at = (*at, port.name if bgp.unnumbered else str(port.peer_address))
        values[(*at, "type")] = "unnumbered" if bgp.unnumbered else "numbered"
        values[(*at, "remote-as")] = str(port.peer_asn)
        values[(*at, "peer-group")] = "FABRIC"


def _classes(config: SwitchConfig, values: Values) -> None:
    default = next(queue.number for queue in config.queues if queue.default)
    of_point = {point: queue.number for queue in config.queues for point in queue.dscp}
    mapping = "qos mapping default-global"
    _put(values, f"{mapping} trust", "l3")
    for point in CODE_POINTS:
        number = of_point.get(point, default)
        _put(values, f"{mapping} dscp {point} switch-priority", str(number))
    for queue in config.queues:
        to = f"qos egress-queue-mapping default-global switch-priority {queue.number}"
        _put(values, f"{to} traffic-class", str(queue.number))
        scheduler = f"qos egress-scheduler default-global traffic-class {queue.number}"
        _put(values, f"{scheduler} mode", "strict" if queue.strict else "dwrr")
        if not queue.strict:
            _put(values, f"{scheduler} bw-percent", str(queue.weight_percent))


def _lossless(config: SwitchConfig, values: Values) -> None:
    lossless = config.lossless
    if lossless is None:
        return
    numbers = [queue.number for queue in config.queues if queue.lossless]
    percent = sum(queue.weight_percent for queue in config.queues if queue.lossless)
    _put(values, "qos traffic-pool default-lossless memory-percent", str(percent))
    _put(values, "qos traffic-pool default-lossy memory-percent", str(100 - percent))
    _put(values, "qos pfc-watchdog polling-interval", str(_POLL_MS))
    periods = ceil(lossless.watchdog_detect_ms / _POLL_MS)
    _put(values, "qos pfc-watchdog robustness", str(periods))
    for profile in lossless.profiles:
        pfc = f"qos pfc {profile.name}"
        _put(values, f"{pfc} cable-length", str(profile.cable_m))
        _put(values, f"{pfc} tx", "enable")
        _put(values, f"{pfc} rx", "enable")
        for number in numbers:
            _put(values, f"{pfc} switch-priority {number}")
    control = "qos congestion-control default-global traffic-class"
    if lossless.ecn is None:
        _put(values, f"{control} 0 ecn", "disable")
        return
    for number in numbers:
        _put(values, f"{control} {number} ecn", "enable")
        _put(values, f"{control} {number} red", "disable")
        _put(values, f"{control} {number} min-threshold", str(lossless.ecn.minimum_bytes))
        _put(values, f"{control} {number} max-threshold", str(lossless.ecn.maximum_bytes))
        _put(values, f"{control} {number} probability", str(lossless.ecn.maximum_percent))
