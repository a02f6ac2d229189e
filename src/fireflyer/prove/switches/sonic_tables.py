"""Where each table of `config_db.json` stands in SONiC's YANG models.

SONiC's tables have no types, its models no keys with bars: this is the way between the two.
A row's key is split at its bars; as many parts as a list has keys name that list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Keys: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableModel:
    """The model of one table."""

    module: str
    lists: Mapping[str, Keys] = field(default_factory=dict)
    """Lists of rows and their keys; empty where rows are containers of fixed names."""
    entry: Keys = ()
    """Key and value of the list inside a row, where a row is a map of its own."""


def _rows(module: str, table: str, *keys: str) -> TableModel:
    return TableModel(module, {f"{table}_LIST": keys})


def _addresses(module: str, table: str) -> TableModel:
    """Return a table with a row for an interface, and one for each of its addresses."""
    found = {f"{table}_LIST": ("name",), f"{table}_IPPREFIX_LIST": ("name", "ip-prefix")}
    return TableModel(module, found)


def _map(module: str, table: str, key: str, value: str) -> TableModel:
    return TableModel(module, {f"{table}_LIST": ("name",)}, (key, value))


TABLES: Mapping[str, TableModel] = {
    "ACL_RULE": _rows("sonic-acl", "ACL_RULE", "ACL_TABLE_NAME", "RULE_NAME"),
    "ACL_TABLE": _rows("sonic-acl", "ACL_TABLE", "ACL_TABLE_NAME"),
    "BGP_GLOBALS": _rows("sonic-bgp-global", "BGP_GLOBALS", "vrf_name"),
    "BGP_GLOBALS_AF": _rows("sonic-bgp-global", "BGP_GLOBALS_AF", "vrf_name", "afi_safi"),
    "BGP_GLOBALS_AF_NETWORK": _rows(
        "sonic-bgp-global", "BGP_GLOBALS_AF_NETWORK", "vrf_name", "afi_safi", "ip_prefix"
    ),
    "BGP_NEIGHBOR": _rows("sonic-bgp-neighbor", "BGP_NEIGHBOR", "vrf_name", "neighbor"),
    "BGP_PEER_GROUP": _rows("sonic-bgp-peergroup", "BGP_PEER_GROUP", "vrf_name", "peer_group_name"),
    "BGP_PEER_GROUP_AF": _rows(
        "sonic-bgp-peergroup", "BGP_PEER_GROUP_AF", "vrf_name", "peer_group_name", "afi_safi"
    ),
    "BUFFER_PG": _rows("sonic-buffer-pg", "BUFFER_PG", "port", "pg_num"),
    "BUFFER_POOL": _rows("sonic-buffer-pool", "BUFFER_POOL", "name"),
    "BUFFER_PROFILE": _rows("sonic-buffer-profile", "BUFFER_PROFILE", "name"),
    "BUFFER_QUEUE": _rows("sonic-buffer-queue", "BUFFER_QUEUE", "port", "qindex"),
    "CABLE_LENGTH": _map("sonic-cable-length", "CABLE_LENGTH", "port", "length"),
    "DEVICE_METADATA": TableModel("sonic-device_metadata"),
    "DEVICE_NEIGHBOR": _rows("sonic-device_neighbor", "DEVICE_NEIGHBOR", "peer_name"),
    "DSCP_TO_TC_MAP": _map("sonic-dscp-tc-map", "DSCP_TO_TC_MAP", "dscp", "tc"),
    "FEATURE": _rows("sonic-feature", "FEATURE", "name"),
    "FLEX_COUNTER_TABLE": TableModel("sonic-flex_counter"),
    "GNMI": TableModel("sonic-gnmi"),
    "INTERFACE": _addresses("sonic-interface", "INTERFACE"),
    "LLDP": TableModel("sonic-lldp"),
    "LOOPBACK_INTERFACE": _addresses("sonic-loopback-interface", "LOOPBACK_INTERFACE"),
    "MAP_PFC_PRIORITY_TO_QUEUE": _map(
        "sonic-pfc-priority-queue-map", "MAP_PFC_PRIORITY_TO_QUEUE", "pfc_priority", "qindex"
    ),
    "MGMT_INTERFACE": _rows("sonic-mgmt_interface", "MGMT_INTERFACE", "name", "ip_prefix"),
    "MGMT_PORT": _rows("sonic-mgmt_port", "MGMT_PORT", "name"),
    "NTP": TableModel("sonic-ntp"),
    "NTP_SERVER": _rows("sonic-ntp", "NTP_SERVER", "server_address"),
    "PFC_WD": _rows("sonic-pfcwd", "PFC_WD", "ifname"),
    "PORT": _rows("sonic-port", "PORT", "name"),
    "PORT_QOS_MAP": _rows("sonic-port-qos-map", "PORT_QOS_MAP", "ifname"),
    "PREFIX": TableModel(
        "sonic-routing-policy-sets",
        {"PREFIX_NOSEQ_LIST": ("name", "ip_prefix", "masklength_range")},
    ),
    "PREFIX_SET": _rows("sonic-routing-policy-sets", "PREFIX_SET", "name"),
    "QUEUE": _rows("sonic-queue", "QUEUE", "ifname", "qindex"),
    "ROUTE_MAP": _rows("sonic-route-map", "ROUTE_MAP", "name", "stmt_name"),
    "ROUTE_MAP_SET": _rows("sonic-route-map", "ROUTE_MAP_SET", "name"),
    "SCHEDULER": _rows("sonic-scheduler", "SCHEDULER", "name"),
    "SNMP": TableModel("sonic-snmp"),
    "SNMP_AGENT_ADDRESS_CONFIG": _rows(
        "sonic-snmp", "SNMP_AGENT_ADDRESS_CONFIG", "agent_ip", "port", "vrf_name"
    ),
    "SWITCH_HASH": TableModel("sonic-hash"),
    "SYSLOG_SERVER": _rows("sonic-syslog", "SYSLOG_SERVER", "server_address"),
    "TC_TO_PRIORITY_GROUP_MAP": _map(
        "sonic-tc-priority-group-map", "TC_TO_PRIORITY_GROUP_MAP", "tc", "pg"
    ),
    "TC_TO_QUEUE_MAP": _map("sonic-tc-queue-map", "TC_TO_QUEUE_MAP", "tc", "qindex"),
    "VLAN": _rows("sonic-vlan", "VLAN", "name"),
    "VLAN_INTERFACE": _addresses("sonic-vlan", "VLAN_INTERFACE"),
    "VLAN_MEMBER": _rows("sonic-vlan", "VLAN_MEMBER", "name", "port"),
    "WRED_PROFILE": _rows("sonic-wred-profile", "WRED_PROFILE", "name"),
}
"""Every table that is rendered."""
