"""One switch as Arista's AVD describes it (eos_cli_config_gen), from the design's values.

Nothing is shared with `templates/eos`: two ways to the same lines, and AVD's is the reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from fireflyer.model.switch_config import (
    Bgp,
    Lossless,
    PortConfig,
    PortRole,
    Queue,
    SwitchConfig,
)

Avd: TypeAlias = str | int | bool | Sequence["Avd"] | Mapping[str, "Avd"]
VRF = "MGMT"
ACL = "MANAGEMENT"
PROFILE = GROUP = "FABRIC"
OWN, HEARD, TOLD = "OWN", "FABRIC_IN", "FABRIC_OUT"
CODE_POINTS = 64


def structured(config: SwitchConfig) -> dict[str, Avd]:
    """Return AVD's structured configuration of a switch."""
    found: dict[str, Avd] = {
        "hostname": config.name,
        "dns_domain": config.management.domain,
        "service_routing_protocols_model": "multi-agent",
        "ip_routing": True,
        "lldp": {"timer": 30, "holdtime": 120, "run": True},
        "vrfs": [{"name": VRF, "ip_routing": False}],
        "loopback_interfaces": [{"name": "Loopback0", "ip_address": f"{config.loopback}/32"}],
        "ethernet_interfaces": [_interface(config, port) for port in config.ports],
    }
    found |= _management(config)
    if config.hosts is not None:
        vlan, hosts = config.hosts.vlan, config.hosts
        address = f"{hosts.gateway}/{hosts.network.prefixlen}"
        found["vlans"] = [{"id": vlan, "name": "HOSTS"}]
        svi: dict[str, Avd] = {"name": f"Vlan{vlan}", "mtu": config.mtu, "ip_address": address}
        found["vlan_interfaces"] = [svi]
    if config.bgp is not None:
        found |= _bgp(config)
    if config.adaptive_routing:
        dynamic: Avd = {"load_balance_distribution": {"dynamic": {"enabled": True}}}
        found["ip_hardware"] = {"fib": dynamic}
    if config.queues:
        found |= _qos(config.queues, config.lossless)
    return found


def _management(config: SwitchConfig) -> dict[str, Avd]:
    management = config.management
    sources = enumerate(management.allowed_sources, start=1)
    entries: list[Avd] = [
        {
            "sequence": 10 * n,
            "action": "permit",
            "protocol": "ip",
            "source": str(s),
            "destination": "any",
        }
        for n, s in sources
    ]
    last = 10 * len(management.allowed_sources)
    entries.append(
        {
            "sequence": last + 10,
            "action": "permit",
            "protocol": "tcp",
            "source": "any",
            "destination": "any",
            "tcp_flags": ["established"],
        }
    )
    entries.append(
        {
            "sequence": last + 20,
            "action": "permit",
            "protocol": "udp",
            "source": "any",
            "source_ports_match": "eq",
            "source_ports": ["ntp"],
            "destination": "any",
        }
    )
    entries.append(
        {
            "sequence": last + 30,
            "action": "deny",
            "protocol": "ip",
            "source": "any",
            "destination": "any",
        }
    )
    found: dict[str, Avd] = {
        "ip_access_lists": [{"name": ACL, "entries": entries}],
        "management_interfaces": [
            {
                "name": "Management1",
                "description": "management",
                "vrf": VRF,
                "ip_address": f"{management.address}/{management.network.prefixlen}",
            }
        ],
        "system": {"control_plane": {"ipv4_access_groups": [{"acl_name": ACL, "vrf": VRF}]}},
        "management_ssh": {
            "vrfs": [{"name": VRF, "enable": True}, {"name": "default", "enable": False}]
        },
        "management_api_http": {
            "enable_http": False,
            "enable_https": True,
            "enable_vrfs": [{"name": VRF}],
        },
        "snmp_server": {"location": config.place},
    }
    if management.gateway:
        route: Avd = {"vrf": VRF, "prefix": "0.0.0.0/0", "next_hop": management.gateway}
        found["static_routes"] = [route]
    if management.ntp_servers:
        servers: list[Avd] = [{"name": s, "iburst": True} for s in management.ntp_servers]
        found["ntp"] = {"vrf": VRF, "servers": servers}
    if management.syslog_servers:
        hosts: list[Avd] = [{"name": server} for server in management.syslog_servers]
        found["logging"] = {"vrfs": [{"name": VRF, "hosts": hosts}]}
    if management.monitoring == "snmpv3":
        group: Avd = {"name": "MONITOR", "version": "v3", "authentication": "priv"}
        found["snmp_server"] = {
            "location": config.place,
            "groups": [group],
            "vrfs": [{"name": VRF, "enable": True}],
        }
    if management.monitoring == "gnmi":
        grpc: Avd = {"name": "MANAGEMENT", "vrf": VRF}
        found["management_api_gnmi"] = {"provider": "eos-native", "transport": {"grpc": [grpc]}}
    return found


def _interface(config: SwitchConfig, port: PortConfig) -> dict[str, Avd]:
    if not port.in_use:
        return {"name": port.name, "shutdown": True}
    found: dict[str, Avd] = {
        "name": port.name,
        "description": port.description,
        "shutdown": False,
        "speed": f"{port.gbps}g-{config.model.lanes_per_port}",
        "mtu": config.mtu,
        "error_correction_encoding": {"enabled": True, "reed_solomon": True},
    }
    if config.queues:
        found["service_profile"] = PROFILE
    if port.role is PortRole.HOST:
        assert config.hosts is not None
        access: Avd = {"enabled": True, "mode": "access", "access_vlan": config.hosts.vlan}
        return found | {"switchport": access, "spanning_tree_portfast": "edge"}
    found["switchport"] = {"enabled": False}
    if port.address is None:
        return found | {"ipv6_enable": True}
    return found | {"ip_address": f"{port.address}/31"}


def _bgp(config: SwitchConfig) -> dict[str, Avd]:
    bgp = config.bgp
    assert bgp is not None
    group: dict[str, Avd] = {
        "name": GROUP,
        "activate": True,
        "route_map_in": HEARD,
        "route_map_out": TOLD,
    }
    links = config.ports_of(PortRole.SWITCH)
    router: dict[str, Avd] = {
        "as": str(bgp.asn),
        "router_id": str(bgp.router_id),
        "maximum_paths": {"paths": bgp.maximum_paths, "ecmp": bgp.maximum_paths},
        "bgp": {"default": {"ipv4_unicast": False}},
        "updates": {"wait_install": True},
        "peer_groups": [
            {
                "name": GROUP,
                "timers": f"{bgp.keepalive_s} {bgp.hold_s}",
                "bfd": True,
                "bfd_timers": {
                    "interval": bgp.bfd_interval_ms,
                    "min_rx": bgp.bfd_interval_ms,
                    "multiplier": bgp.bfd_multiplier,
                },
            }
        ],
    }
    found: dict[str, Avd] = {"router_bgp": router, **_policy(bgp)}
    if bgp.unnumbered:
        group["next_hop"] = {"address_family_ipv6": {"enabled": True, "originate": True}}
        router["neighbor_interfaces"] = [
            {"name": port.name, "peer_group": GROUP, "remote_as": str(port.peer_asn)}
            for port in links
        ]
        found |= {"ipv6_unicast_routing": True, "ip_routing_ipv6_interfaces": True}
    else:
        router["neighbors"] = [
            {
                "ip_address": str(port.peer_address),
                "peer_group": GROUP,
                "remote_as": str(port.peer_asn),
                "description": port.peer,
            }
            for port in links
        ]
    networks: list[Avd] = [{"prefix": str(network)} for network in bgp.networks]
    router["address_family_ipv4"] = {"networks": networks, "peer_groups": [group]}
    return found


def _policy(bgp: Bgp) -> dict[str, Avd]:
    allowed = []
    for prefixes in bgp.accepted:
        only = "" if prefixes.whole else f" eq {prefixes.length}"
        allowed.append(f"{prefixes.network}{only}")
    lists = {OWN: [str(network) for network in bgp.networks], GROUP: allowed}
    maps = {HEARD: GROUP, TOLD: GROUP if bgp.transit else OWN}
    return {
        "prefix_lists": [
            {
                "name": name,
                "sequence_numbers": [
                    {"sequence": 10 * n, "action": f"permit {text}"}
                    for n, text in enumerate(texts, start=1)
                ],
            }
            for name, texts in lists.items()
        ],
        "route_maps": [
            {
                "name": name,
                "sequence_numbers": [
                    {
                        "sequence": 10,
                        "type": "permit",
                        "match": [f"ip address prefix-list {prefixes}"],
                    }
                ],
            }
            for name, prefixes in maps.items()
        ],
    }


def _qos(queues: tuple[Queue, ...], lossless: Lossless | None) -> dict[str, Avd]:
    profile: dict[str, Avd] = {
        "name": PROFILE,
        "trust": "dscp",
        "uc_tx_queues": [_queue(queue, lossless) for queue in queues],
    }
    points: list[Avd] = []
    named = {point for queue in queues for point in queue.dscp}
    for queue in queues:
        rest = [p for p in range(CODE_POINTS) if p not in named] if queue.default else []
        if ranged := sorted({*queue.dscp, *rest}):
            text = " ".join(str(point) for point in ranged)
            points.append(f"{text} to traffic-class {queue.number}")
    classes: list[Avd] = [f"{q.number} to tx-queue {q.number}" for q in queues]
    found: dict[str, Avd] = {
        "qos": {"map": {"dscp": points, "traffic_class": classes}},
        "qos_profiles": [profile],
    }
    if lossless is not None:
        profile["priority_flow_control"] = {
            "enabled": True,
            "priorities": [{"priority": q.number, "no_drop": True} for q in queues if q.lossless],
            "watchdog": {"enabled": True, "action": "drop"},
        }
        found["priority_flow_control"] = {
            "watchdog": {
                "action": "drop",
                "timeout": f"{lossless.watchdog_detect_ms / 1000:.2f}",
                "polling_interval": "0.100",
                "recovery_time": f"{lossless.watchdog_restore_ms / 1000:.2f}",
            }
        }
    return found


def _queue(queue: Queue, lossless: Lossless | None) -> dict[str, Avd]:
    found: dict[str, Avd] = {"id": queue.number}
    if queue.strict:
        return found | {"priority": "priority strict"}
    found |= {"priority": "no priority", "bandwidth_percent": queue.weight_percent}
    if queue.lossless and lossless is not None and lossless.ecn is not None:
        ecn = lossless.ecn
        threshold: Avd = {
            "units": "bytes",
            "min": ecn.minimum_bytes,
            "max": ecn.maximum_bytes,
            "max_probability": ecn.maximum_percent,
        }
        found["random_detect"] = {"ecn": {"threshold": threshold}}
    return found
