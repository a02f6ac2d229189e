"""SONiC's tables of the switch itself: its name, its management plane, its hashing."""

from __future__ import annotations

from collections.abc import Iterator

from fireflyer.model.fabric import Layer
from fireflyer.model.switch_config import Management, SwitchConfig
from fireflyer.render.sonic.rows import Fields, Table, table

TYPES = {
    Layer.LEAF: "ToRRouter",
    Layer.SPINE: "LeafRouter",
    Layer.CORE: "SpineRouter",
    Layer.INTERZONE: "SpineRouter",
}
"""What SONiC calls a switch of each layer. It seeds its hash by this word, so that two layers
do not choose alike."""
HASHED = ["SRC_IP", "DST_IP", "IP_PROTOCOL", "L4_SRC_PORT", "L4_DST_PORT"]
"""RoCEv2 varies the UDP source port from queue pair to queue pair (IBTA annex A17)."""
GNMI_PORT = 8080
CERTIFICATES = "/etc/sonic/telemetry"
COUNTERS = ("PORT", "QUEUE", "PFCWD", "PG_WATERMARK", "QUEUE_WATERMARK", "PORT_BUFFER_DROP")


def tables(config: SwitchConfig) -> Iterator[Table]:
    """Yield the tables that have a row or two each."""
    management, sonic = config.management, config.model.sonic
    localhost = {
        "hostname": config.name,
        "type": TYPES[config.layer],
        "docker_routing_config_mode": "unified",
        "frr_mgmt_framework_config": "true",
        "buffer_model": "traditional",
        "default_pfcwd_status": "disable",
    }
    if sonic is not None:
        localhost |= {"platform": sonic.platform, "hwsku": sonic.hwsku}
    if config.bgp is not None:
        localhost["bgp_asn"] = str(config.bgp.asn)
    yield table("DEVICE_METADATA", {"localhost": localhost})
    yield table("LOOPBACK_INTERFACE", {"Loopback0": {}, f"Loopback0|{config.loopback}/32": {}})
    yield table("SWITCH_HASH", {"GLOBAL": {"ecmp_hash": HASHED}})
    yield from _management(config)
    yield from _monitoring(config)
    yield from _access(management)
    yield table(
        "LLDP",
        {
            "GLOBAL": {
                "enabled": "true",
                "system_name": config.name,
                "supp_mgmt_address_tlv": "true",
                "supp_system_capabilities_tlv": "true",
            }
        },
    )
    status: dict[str, Fields] = {name: {"FLEX_COUNTER_STATUS": "enable"} for name in COUNTERS}
    yield table("FLEX_COUNTER_TABLE", status)


def _management(config: SwitchConfig) -> Iterator[Table]:
    management = config.management
    gateway = {"gwaddr": management.gateway} if management.gateway else {}
    address = f"eth0|{management.address}/{management.network.prefixlen}"
    yield table("MGMT_PORT", {"eth0": {"alias": "eth0", "admin_status": "up"}})
    yield table("MGMT_INTERFACE", {address: gateway})
    yield table("NTP", {"global": {"admin_state": "enabled", "src_intf": ["eth0"]}})
    server: Fields = {"association_type": "server", "iburst": "on"}
    yield table("NTP_SERVER", dict.fromkeys(management.ntp_servers, server))
    yield table("SYSLOG_SERVER", {server: {} for server in management.syslog_servers})


def _monitoring(config: SwitchConfig) -> Iterator[Table]:
    """Yield SNMP (its users come from Ansible Vault) or gNMI with client certificates."""
    how = config.management.monitoring
    yield table(
        "FEATURE",
        {
            "snmp": {"state": "enabled" if how == "snmpv3" else "disabled"},
            "gnmi": {"state": "enabled" if how == "gnmi" else "disabled"},
        },
    )
    yield table("SNMP", {"LOCATION": {"Location": config.place}})
    if how == "snmpv3":
        yield table("SNMP_AGENT_ADDRESS_CONFIG", {f"{config.management.address}|161|": {}})
    if how == "gnmi":
        yield table(
            "GNMI",
            {
                "gnmi": {"port": str(GNMI_PORT), "client_auth": "true", "user_auth": "cert"},
                "certs": {
                    "ca_crt": f"{CERTIFICATES}/ca.cer",
                    "server_crt": f"{CERTIFICATES}/server.cer",
                    "server_key": f"{CERTIFICATES}/server.key",
                },
            },
        )


def _access(management: Management) -> Iterator[Table]:
    """Yield the list of who may reach the switch itself; it ends in a rule that drops the rest."""
    services: dict[str, tuple[str, Fields]] = {"SSH": ("SSH", {})}
    if management.monitoring == "snmpv3":
        services["SNMP"] = ("SNMP", {})
    if management.monitoring == "gnmi":
        services["GNMI"] = ("EXTERNAL_CLIENT", {"L4_DST_PORT": str(GNMI_PORT)})
    lists: dict[str, Fields] = {}
    rules: dict[str, Fields] = {}
    for name, (service, to) in services.items():
        lists[name] = {"type": "CTRLPLANE", "policy_desc": f"{name} clients", "services": [service]}
        for number, source in enumerate(management.allowed_sources, start=1):
            rules[f"{name}|RULE_{number}"] = {
                "PRIORITY": str(10000 - number),
                "SRC_IP": str(source),
                "PACKET_ACTION": "ACCEPT",
                **to,
            }
        rules[f"{name}|DEFAULT"] = {
            "PRIORITY": "1",
            "ETHER_TYPE": "2048",
            "PACKET_ACTION": "DROP",
            **to,
        }
    yield table("ACL_TABLE", lists)
    yield table("ACL_RULE", rules)
