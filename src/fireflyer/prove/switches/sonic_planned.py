"""What a switch's `config_db.json` must hold, from the design's values alone.

Keys are table, row and field as SONiC's Configuration.md and YANG models name them. Nothing is
shared with `render/sonic`: names and constants stand here a second time, as the reader's own.
"""

from __future__ import annotations

from fireflyer.model.fabric import Layer
from fireflyer.model.switch_config import Bgp, Lossless, PortConfig, PortRole, SwitchConfig
from fireflyer.prove.switches.values import Values, add

CODE_POINTS, CLASSES = range(64), range(8)
NO_LENGTH = "0m"
"""The only length at which SONiC's buffer manager leaves a port's profiles alone."""
_LAYER_TYPES = {
    Layer.LEAF: "ToRRouter",
    Layer.SPINE: "LeafRouter",
    Layer.CORE: "SpineRouter",
    Layer.INTERZONE: "SpineRouter",
}
_COUNTED = ("PORT", "QUEUE", "PFCWD", "PG_WATERMARK", "QUEUE_WATERMARK", "PORT_BUFFER_DROP")
_GNMI = {
    "gnmi": {"port": "8080", "client_auth": "true", "user_auth": "cert"},
    "certs": {
        "ca_crt": "/etc/sonic/telemetry/ca.cer",
        "server_crt": "/etc/sonic/telemetry/server.cer",
        "server_key": "/etc/sonic/telemetry/server.key",
    },
}
_UNICAST = "ipv4_unicast"


def planned(config: SwitchConfig) -> Values:
    """Return every value of a switch's tables."""
    values: Values = {}
    _system(config, values)
    _management(config, values)
    _access(config, values)
    for port in config.ports:
        _port(config, port, values)
    if config.hosts is not None:
        _host_network(config, values)
    if config.bgp is not None:
        _routing(config, config.bgp, values)
    if config.queues:
        _classes(config, values)
    if config.queues and config.lossless is not None:
        _lossless(config, config.lossless, values)
    return values


def _system(config: SwitchConfig, values: Values) -> None:
    localhost = {
        "hostname": config.name,
        "type": _LAYER_TYPES[config.layer],
        "docker_routing_config_mode": "unified",
        "frr_mgmt_framework_config": "true",
        "buffer_model": "traditional",
        "default_pfcwd_status": "disable",
    }
    if config.model.sonic is not None:
        localhost["platform"] = config.model.sonic.platform
        localhost["hwsku"] = config.model.sonic.hwsku
    if config.bgp is not None:
        localhost["bgp_asn"] = str(config.bgp.asn)
    add(values, "DEVICE_METADATA", "localhost", localhost)
    add(values, "LOOPBACK_INTERFACE", "Loopback0", {})
    add(values, "LOOPBACK_INTERFACE", f"Loopback0|{config.loopback}/32", {})
    add(
        values,
        "SWITCH_HASH",
        "GLOBAL",
        {"ecmp_hash": "DST_IP,IP_PROTOCOL,L4_DST_PORT,L4_SRC_PORT,SRC_IP"},
    )
    lldp = {
        "enabled": "true",
        "system_name": config.name,
        "supp_mgmt_address_tlv": "true",
        "supp_system_capabilities_tlv": "true",
    }
    add(values, "LLDP", "GLOBAL", lldp)
    for name in _COUNTED:
        add(values, "FLEX_COUNTER_TABLE", name, {"FLEX_COUNTER_STATUS": "enable"})


def _management(config: SwitchConfig, values: Values) -> None:
    management = config.management
    address = f"eth0|{management.address}/{management.network.prefixlen}"
    gateway = {"gwaddr": management.gateway} if management.gateway else {}
    add(values, "MGMT_PORT", "eth0", {"alias": "eth0", "admin_status": "up"})
    add(values, "MGMT_INTERFACE", address, gateway)
    add(values, "NTP", "global", {"admin_state": "enabled", "src_intf": "eth0"})
    for server in management.ntp_servers:
        add(values, "NTP_SERVER", server, {"association_type": "server", "iburst": "on"})
    for server in management.syslog_servers:
        add(values, "SYSLOG_SERVER", server, {})
    for feature, asked in (("snmp", "snmpv3"), ("gnmi", "gnmi")):
        state = "enabled" if management.monitoring == asked else "disabled"
        add(values, "FEATURE", feature, {"state": state})
    add(values, "SNMP", "LOCATION", {"Location": config.place})
    if management.monitoring == "snmpv3":
        add(values, "SNMP_AGENT_ADDRESS_CONFIG", f"{management.address}|161|", {})
    if management.monitoring == "gnmi":
        for row, fields in _GNMI.items():
            add(values, "GNMI", row, fields)


def _access(config: SwitchConfig, values: Values) -> None:
    """Put who may reach the switch: each allowed network, and then nobody."""
    services: dict[str, tuple[str, dict[str, str]]] = {"SSH": ("SSH", {})}
    if config.management.monitoring == "snmpv3":
        services["SNMP"] = ("SNMP", {})
    if config.management.monitoring == "gnmi":
        services["GNMI"] = ("EXTERNAL_CLIENT", {"L4_DST_PORT": "8080"})
    for name, (service, port) in services.items():
        row = {"type": "CTRLPLANE", "policy_desc": f"{name} clients", "services": service}
        add(values, "ACL_TABLE", name, row)
        for place, source in enumerate(config.management.allowed_sources):
            rule = {"PRIORITY": str(9999 - place), "SRC_IP": str(source)}
            rule |= {"PACKET_ACTION": "ACCEPT"} | port
            add(values, "ACL_RULE", f"{name}|RULE_{place + 1}", rule)
        last = {"PRIORITY": "1", "ETHER_TYPE": "2048", "PACKET_ACTION": "DROP"} | port
        add(values, "ACL_RULE", f"{name}|DEFAULT", last)


def _port(config: SwitchConfig, port: PortConfig, values: Values) -> None:
    """Put a port; `port_table.py` compares its lanes with those that the platform publishes."""
    platform = config.model.sonic_ports[port.number - 1]
    row = {
        "alias": platform.alias,
        "lanes": ",".join(str(lane) for lane in platform.lanes),
        "index": str(platform.index),
        "subport": str(platform.subport),
        "speed": str(port.gbps * 1000),
        "mtu": str(config.mtu),
        "fec": "rs",
        "autoneg": "off",
        "admin_status": "up" if port.peer else "down",
    }
    if port.peer:
        row["description"] = f"{port.peer} {port.peer_port}"
        neighbour = {"name": port.peer, "port": port.peer_port}
        add(values, "DEVICE_NEIGHBOR", port.name, neighbour)
    add(values, "PORT", port.name, row)


def _host_network(config: SwitchConfig, values: Values) -> None:
    hosts = config.hosts
    assert hosts is not None
    vlan = f"Vlan{hosts.vlan}"
    add(values, "VLAN", vlan, {"vlanid": str(hosts.vlan), "mtu": str(config.mtu)})
    for port in config.ports_of(PortRole.HOST):
        add(values, "VLAN_MEMBER", f"{vlan}|{port.name}", {"tagging_mode": "untagged"})
    add(values, "VLAN_INTERFACE", vlan, {})
    add(values, "VLAN_INTERFACE", f"{vlan}|{hosts.gateway}/{hosts.network.prefixlen}", {})


def _routing(config: SwitchConfig, bgp: Bgp, values: Values) -> None:
    instance = {
        "local_asn": str(bgp.asn),
        "router_id": str(bgp.router_id),
        "load_balance_mp_relax": "true",
        "log_nbr_state_changes": "true",
        "default_ipv4_unicast": "false",
    }
    add(values, "BGP_GLOBALS", "default", instance)
    paths = {"max_ebgp_paths": str(bgp.maximum_paths)}
    add(values, "BGP_GLOBALS_AF", f"default|{_UNICAST}", paths)
    group = {
        "keepalive": str(bgp.keepalive_s),
        "holdtime": str(bgp.hold_s),
        "conn_retry": str(bgp.connect_s),
        "bfd": "true",
        "capability_ext_nexthop": "true" if bgp.unnumbered else "false",
        "admin_status": "up",
    }
    add(values, "BGP_PEER_GROUP", "default|FABRIC", group)
    policy = {"admin_status": "up", "route_map_in": "FABRIC_IN", "route_map_out": "FABRIC_OUT"}
    add(values, "BGP_PEER_GROUP_AF", f"default|FABRIC|{_UNICAST}", policy)
    for port in config.ports_of(PortRole.SWITCH):
        if bgp.unnumbered:
            row = {"ipv6_use_link_local_only": "enable"}
        else:
            row = {}
            add(values, "INTERFACE", f"{port.name}|{port.address}/31", {})
        add(values, "INTERFACE", port.name, row)
        neighbour = port.name if bgp.unnumbered else str(port.peer_address)
        session = {"peer_group_name": "FABRIC", "asn": str(port.peer_asn), "name": port.peer}
        add(values, "BGP_NEIGHBOR", f"default|{neighbour}", session)
    _policy(bgp, values)


def _policy(bgp: Bgp, values: Values) -> None:
    for network in bgp.networks:
        add(values, "BGP_GLOBALS_AF_NETWORK", f"default|{_UNICAST}|{network}", {})
        add(values, "PREFIX", f"OWN|{network}|exact", {"action": "permit"})
    for prefixes in bgp.accepted:
        exact = prefixes.network.prefixlen == prefixes.length
        span = "exact" if exact else f"{prefixes.length}..{prefixes.length}"
        add(values, "PREFIX", f"FABRIC|{prefixes.network}|{span}", {"action": "permit"})
    for name in ("OWN", "FABRIC"):
        add(values, "PREFIX_SET", name, {"mode": "IPv4"})
    advertised = "FABRIC" if bgp.transit else "OWN"
    for name, prefixes_of in (("FABRIC_IN", "FABRIC"), ("FABRIC_OUT", advertised)):
        add(values, "ROUTE_MAP_SET", name, {})
        rule = {"route_operation": "permit", "match_prefix_set": prefixes_of}
        add(values, "ROUTE_MAP", f"{name}|10", rule)


def _classes(config: SwitchConfig, values: Values) -> None:
    """Put the maps from code point to class to queue, and each port's queues."""
    queues = config.queues
    default = next(queue.number for queue in queues if queue.default)
    lossless = {queue.number for queue in queues if queue.lossless}
    lossy = min(set(CLASSES) - lossless)
    of_point = {point: queue.number for queue in queues for point in queue.dscp}
    for point in CODE_POINTS:
        values["DSCP_TO_TC_MAP", "FABRIC", str(point)] = str(of_point.get(point, default))
    for number in CLASSES:
        group = number if number in lossless else lossy
        values["TC_TO_QUEUE_MAP", "FABRIC", str(number)] = str(number)
        values["TC_TO_PRIORITY_GROUP_MAP", "FABRIC", str(number)] = str(group)
        values["MAP_PFC_PRIORITY_TO_QUEUE", "FABRIC", str(number)] = str(number)
    for queue in queues:
        share = {"type": "DWRR", "weight": str(queue.weight_percent)}
        add(values, "SCHEDULER", queue.name, {"type": "STRICT"} if queue.strict else share)
    maps = dict.fromkeys(
        ("dscp_to_tc_map", "tc_to_queue_map", "tc_to_pg_map", "pfc_to_queue_map"), "FABRIC"
    )
    if config.lossless is not None:
        numbers = ",".join(str(number) for number in sorted(lossless))
        maps |= {"pfc_enable": numbers, "pfcwd_sw_enable": numbers}
    marks = config.lossless is not None and config.lossless.ecn is not None
    for port in config.ports_in_use:
        add(values, "PORT_QOS_MAP", port.name, maps)
        for queue in queues:
            row = {"scheduler": queue.name}
            if marks and queue.lossless:
                row["wred_profile"] = "FABRIC"
            add(values, "QUEUE", f"{port.name}|{queue.number}", row)


def _lossless(config: SwitchConfig, lossless: Lossless, values: Values) -> None:
    if (ecn := lossless.ecn) is not None:
        marking = {"ecn": "ecn_all"}
        for colour in ("green", "yellow", "red"):
            marking |= {
                f"wred_{colour}_enable": "true",
                f"{colour}_min_threshold": str(ecn.minimum_bytes),
                f"{colour}_max_threshold": str(ecn.maximum_bytes),
                f"{colour}_drop_probability": str(ecn.maximum_percent),
            }
        add(values, "WRED_PROFILE", "FABRIC", marking)
    add(values, "PFC_WD", "GLOBAL", {"POLL_INTERVAL": "100"})
    watchdog = {
        "action": "drop",
        "detection_time": str(lossless.watchdog_detect_ms),
        "restoration_time": str(lossless.watchdog_restore_ms),
    }
    for port in config.ports_in_use:
        add(values, "PFC_WD", port.name, watchdog)
        values["CABLE_LENGTH", "FABRIC", port.name] = NO_LENGTH
    _buffers(config, lossless, values)


def _buffers(config: SwitchConfig, lossless: Lossless, values: Values) -> None:
    """Put pools, profiles, and the profile of each group and queue of each port in use."""
    assert config.model.buffer is not None
    numbers = {queue.number for queue in config.queues if queue.lossless}
    profile_of = {(one.gbps, one.cable_m): one for one in lossless.profiles}
    ports = {port.name: profile_of[port.gbps, port.cable_m] for port in config.ports_in_use}
    total, shared = config.model.buffer.total_bytes, lossless.pool_bytes
    for name, kind, size in (
        ("ingress_lossless_pool", "ingress", shared),
        ("egress_lossless_pool", "egress", total),
        ("egress_lossy_pool", "egress", shared),
    ):
        pool = {"type": kind, "mode": "dynamic", "size": str(size)}
        add(values, "BUFFER_POOL", name, pool)
    for name, pool_name, alpha in (
        ("ingress_lossy", "ingress_lossless_pool", "3"),
        ("egress_lossless", "egress_lossless_pool", "7"),
        ("egress_lossy", "egress_lossy_pool", "3"),
    ):
        row = {"pool": pool_name, "size": "0", "dynamic_th": alpha}
        add(values, "BUFFER_PROFILE", name, row)
    for profile in lossless.profiles:
        row = {
            "pool": "ingress_lossless_pool",
            "size": str(profile.size_bytes),
            "xon": str(profile.xon_bytes),
            "xoff": str(profile.xoff_bytes),
            "dynamic_th": "0",
        }
        add(values, "BUFFER_PROFILE", profile.name, row)
    lossy = min(set(CLASSES) - numbers)
    for name, profile in ports.items():
        values["BUFFER_PG", f"{name}|{lossy}", "profile"] = "ingress_lossy"
        for number in numbers:
            values["BUFFER_PG", f"{name}|{number}", "profile"] = profile.name
        for queue in config.queues:
            side = "egress_lossless" if queue.lossless else "egress_lossy"
            values["BUFFER_QUEUE", f"{name}|{queue.number}", "profile"] = side
