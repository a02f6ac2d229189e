"""The part of NVUE's object tree that is rendered, with the values each leaf may have.

From the Cumulus Linux 5.11 user guide and NVUE command reference; the vendor publishes no
schema that can be had without a switch. `*` stands for one name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

Rule: TypeAlias = "re.Pattern[str] | range"
"""What a value may be: text of a pattern, or a whole number."""

_IP = r"\d{1,3}(\.\d{1,3}){3}"
_NET = rf"{_IP}/\d{{1,2}}"
_NAME = r"[A-Za-z0-9_.-]+"
ON = re.compile("on|off")
STATE = re.compile("enable|disable")
EMPTY = re.compile(r"\{\}")
_SWITCH = range(8)
_PERCENT = range(1, 101)
_LENGTH = range(33)
_ASN = range(1, 2**32)
_BYTES = range(1, 2**32)


def _text(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


TREE: Mapping[str, Rule] = {
    "acl.*.type": _text("ipv4"),
    "acl.*.rule.*.match.ip.source-ip": _text(rf"ANY|{_NET}"),
    "acl.*.rule.*.match.ip.protocol": _text("udp|tcp"),
    "acl.*.rule.*.match.ip.udp.source-port.*": EMPTY,
    "acl.*.rule.*.action.permit": EMPTY,
    "acl.*.rule.*.action.deny": EMPTY,
    "system.hostname": _text(_NAME),
    "system.gnmi-server.state": _text("enabled|disabled"),
    "system.snmp-server.state": _text("enabled|disabled"),
    "system.snmp-server.system-name": _text(_NAME),
    "system.snmp-server.system-location": _text(".{1,255}"),
    "system.snmp-server.listening-address.*.vrf": _text("mgmt"),
    "system.forwarding.ecmp-hash.ip-protocol": ON,
    "system.forwarding.ecmp-hash.source-ip": ON,
    "system.forwarding.ecmp-hash.destination-ip": ON,
    "system.forwarding.ecmp-hash.source-port": ON,
    "system.forwarding.ecmp-hash.destination-port": ON,
    "service.lldp.tx-interval": range(10, 301),
    "service.lldp.tx-hold-multiplier": range(1, 11),
    "service.ntp.mgmt.server": EMPTY,
    "service.ntp.mgmt.server.*.iburst": ON,
    "service.syslog.mgmt.server": EMPTY,
    "service.syslog.mgmt.server.*.port": range(1, 65536),
    "service.syslog.mgmt.server.*.protocol": _text("udp|tcp"),
    "bridge.domain.br_default.vlan.*": EMPTY,
    "interface.*.type": _text("eth|loopback|svi|swp"),
    "interface.*.vlan": range(1, 4095),
    "interface.*.description": _text(".{1,255}"),
    "interface.*.acl.*.inbound.control-plane": EMPTY,
    "interface.*.ip.vrf": _text("mgmt"),
    "interface.*.ip.address.*": EMPTY,
    "interface.*.ip.gateway.*": EMPTY,
    "interface.*.bridge.domain.br_default.access": range(1, 4095),
    "interface.*.link.state.up": EMPTY,
    "interface.*.link.state.down": EMPTY,
    "interface.*.link.speed": _text("(10|25|40|50|100|200|400|800)G"),
    "interface.*.link.mtu": range(552, 9217),
    "interface.*.link.fec": _text("rs|baser|off|auto"),
    "interface.*.link.auto-negotiate": ON,
    "interface.*.link.breakout.*": EMPTY,
    "interface.*.router.adaptive-routing.enable": ON,
    "interface.*.qos.pfc.profile": _text(_NAME),
    "interface.*.qos.pfc-watchdog.state": STATE,
    "router.adaptive-routing.enable": ON,
    "router.policy.prefix-list.*.type": _text("ipv4|ipv6"),
    "router.policy.prefix-list.*.rule.*.action": _text("permit|deny"),
    "router.policy.prefix-list.*.rule.*.match.*": EMPTY,
    "router.policy.prefix-list.*.rule.*.match.*.min-prefix-len": _LENGTH,
    "router.policy.prefix-list.*.rule.*.match.*.max-prefix-len": _LENGTH,
    "router.policy.route-map.*.rule.*.action.permit": EMPTY,
    "router.policy.route-map.*.rule.*.match.type": _text("ipv4|ipv6"),
    "router.policy.route-map.*.rule.*.match.ip-prefix-list": _text(_NAME),
    "router.bgp.enable": ON,
    "router.bgp.wait-for-install": ON,
    "router.bgp.autonomous-system": _ASN,
    "router.bgp.router-id": _text(_IP),
    "vrf.default.router.bgp.enable": ON,
    "vrf.default.router.bgp.path-selection.multipath.aspath-ignore": ON,
    "vrf.default.router.bgp.address-family.ipv4-unicast.enable": ON,
    "vrf.default.router.bgp.address-family.ipv4-unicast.multipaths.ebgp": range(1, 257),
    "vrf.default.router.bgp.address-family.ipv4-unicast.network.*": EMPTY,
    "vrf.default.router.bgp.peer-group.*.timers.keepalive": range(1, 65536),
    "vrf.default.router.bgp.peer-group.*.timers.hold": range(3, 65536),
    "vrf.default.router.bgp.peer-group.*.timers.connection-retry": range(1, 65536),
    "vrf.default.router.bgp.peer-group.*.bfd.enable": ON,
    "vrf.default.router.bgp.peer-group.*.bfd.detect-multiplier": range(2, 256),
    "vrf.default.router.bgp.peer-group.*.bfd.min-rx-interval": range(50, 60_001),
    "vrf.default.router.bgp.peer-group.*.bfd.min-tx-interval": range(50, 60_001),
    "vrf.default.router.bgp.peer-group.*.address-family.ipv4-unicast.enable": ON,
    "vrf.default.router.bgp.peer-group.*.address-family.ipv4-unicast.policy.inbound.route-map": (
        _text(_NAME)
    ),
    "vrf.default.router.bgp.peer-group.*.address-family.ipv4-unicast.policy.outbound.route-map": (
        _text(_NAME)
    ),
    "vrf.default.router.bgp.neighbor": EMPTY,
    "vrf.default.router.bgp.neighbor.*.type": _text("unnumbered|numbered"),
    "vrf.default.router.bgp.neighbor.*.remote-as": _ASN,
    "vrf.default.router.bgp.neighbor.*.peer-group": _text(_NAME),
    "qos.mapping.default-global.trust": _text("l2|l3|both|port"),
    "qos.mapping.default-global.dscp.*.switch-priority": _SWITCH,
    "qos.egress-queue-mapping.default-global.switch-priority.*.traffic-class": _SWITCH,
    "qos.egress-scheduler.default-global.traffic-class.*.mode": _text("dwrr|strict"),
    "qos.egress-scheduler.default-global.traffic-class.*.bw-percent": _PERCENT,
    "qos.traffic-pool.default-lossless.memory-percent": _PERCENT,
    "qos.traffic-pool.default-lossy.memory-percent": _PERCENT,
    "qos.pfc-watchdog.polling-interval": range(100, 5001),
    "qos.pfc-watchdog.robustness": range(1, 1001),
    "qos.pfc.*.switch-priority.*": EMPTY,
    "qos.pfc.*.cable-length": range(1, 100_001),
    "qos.pfc.*.tx": STATE,
    "qos.pfc.*.rx": STATE,
    "qos.congestion-control.default-global.traffic-class.*.ecn": STATE,
    "qos.congestion-control.default-global.traffic-class.*.red": STATE,
    "qos.congestion-control.default-global.traffic-class.*.min-threshold": _BYTES,
    "qos.congestion-control.default-global.traffic-class.*.max-threshold": _BYTES,
    "qos.congestion-control.default-global.traffic-class.*.probability": _PERCENT,
}
