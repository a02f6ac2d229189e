"""SONiC's config_db.json: the text of a small switch, and laws of every table."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.switches import MARKED, NUMBERED, WATCHED, lab_roce

from fireflyer.design.switch_config import switch_configs
from fireflyer.model.fabric import Fabric
from fireflyer.model.switch_config import PortRole, SwitchConfig
from fireflyer.render import sonic

Tables = dict[str, dict[str, Any]]


def both(fabric: Fabric) -> list[tuple[SwitchConfig, Tables]]:
    return [(config, json.loads(sonic.text(config))) for config in switch_configs(fabric)]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Fabric:
    return lab_roce(tmp_path_factory.mktemp("lab"), "sonic")


@pytest.mark.parametrize("name", ["a-leaf01", "interzone01"])
def test_text(name: str, lab: Fabric, golden: Callable[[str, str], None]) -> None:
    golden(f"lab-roce/sonic/{name}.json", dict(sonic.files(lab))[f"{name}.json"])


def test_only_sites_that_run_sonic(tmp_path: Path) -> None:
    assert not dict(sonic.files(lab_roce(tmp_path, "eos")))


def test_a_row_a_line(lab: Fabric) -> None:
    for config, tables in both(lab):
        lines = sonic.text(config).splitlines()
        rows = [line for line in lines if line.startswith('"') and "}" in line]
        assert len(rows) == sum(len(table) for table in tables.values())


def test_every_port_is_there_and_only_cabled_ones_are_up(lab: Fabric) -> None:
    for config, tables in both(lab):
        up = {name for name, port in tables["PORT"].items() if port["admin_status"] == "up"}
        assert list(tables["PORT"]) == [port.name for port in config.ports]
        assert up == {p.name for p in config.ports if p.role is not PortRole.UNUSED}
        assert up == tables["DEVICE_NEIGHBOR"].keys() == tables["PFC_WD"].keys() - {"GLOBAL"}


def test_ports_are_the_platforms(lab: Fabric) -> None:
    """Of the virtual switch: lanes in no order, indexes from 0."""
    for _, tables in both(lab):
        rows = [tables["PORT"][f"Ethernet{4 * n}"] for n in range(8)]
        assert [row["lanes"] for row in rows[3:6]] == ["37,38,39,40", "45,46,47,48", "41,42,43,44"]
        assert [row["alias"] for row in rows[:2]] == ["fortyGigE0/0", "fortyGigE0/4"]
        assert [row["index"] for row in rows] == [str(n) for n in range(8)]


def test_every_code_point_has_a_class(lab: Fabric) -> None:
    for config, tables in both(lab):
        points = tables["DSCP_TO_TC_MAP"]["FABRIC"]
        assert [int(point) for point in points] == list(range(64))
        for queue in config.queues:
            assert {points[str(point)] for point in queue.dscp} <= {str(queue.number)}


def test_lossless_groups_are_alone_and_reserve_what_they_need(lab: Fabric) -> None:
    for config, tables in both(lab):
        lossless = {str(queue.number) for queue in config.queues if queue.lossless}
        groups = tables["TC_TO_PRIORITY_GROUP_MAP"]["FABRIC"]
        assert {tc for tc, group in groups.items() if group in lossless} == lossless
        assert config.lossless is not None
        for port in (p for p in config.ports if p.role is not PortRole.UNUSED):
            profile = tables["BUFFER_PROFILE"][tables["BUFFER_PG"][f"{port.name}|1-3"]["profile"]]
            planned = config.lossless.by_cable[port.gbps, port.cable_m]
            assert int(profile["xoff"]) == planned.xoff_bytes
            assert int(profile["size"]) == planned.xoff_bytes + planned.xon_bytes


def test_no_cable_has_a_length_by_which_profiles_are_replaced(lab: Fabric) -> None:
    for config, tables in both(lab):
        used = [port.name for port in config.ports if port.role is not PortRole.UNUSED]
        assert tables["CABLE_LENGTH"] == {"FABRIC": dict.fromkeys(used, "0m")}
        assert tables["DEVICE_METADATA"]["localhost"]["buffer_model"] == "traditional"


def test_pools_and_lossless_groups_fit_the_memory(lab: Fabric) -> None:
    for config, tables in both(lab):
        reserved = 0
        for key, group in tables["BUFFER_PG"].items():
            first, _, last = key.split("|")[1].partition("-")
            count = int(last or first) - int(first) + 1
            reserved += count * int(tables["BUFFER_PROFILE"][group["profile"]]["size"])
        assert config.model.buffer is not None
        pools = {name: int(pool["size"]) for name, pool in tables["BUFFER_POOL"].items()}
        # Each port's droppable and own groups and its mirror, and the switch's own packets.
        ports = len(config.ports_in_use)
        rest = ports * (2 * 19 + 10) * 1024 + 256 * 1024
        assert pools["ingress_lossless_pool"] + reserved + rest == config.model.buffer.total_bytes
        assert pools["egress_lossy_pool"] == pools["ingress_lossless_pool"]
        assert pools["egress_lossless_pool"] == config.model.buffer.total_bytes


def test_unnumbered_sessions_are_at_ports(lab: Fabric) -> None:
    for config, tables in both(lab):
        links = {port.name: str(port.peer_asn) for port in config.ports_of(PortRole.SWITCH)}
        sessions = {k.split("|")[1]: row["asn"] for k, row in tables["BGP_NEIGHBOR"].items()}
        assert sessions == links
        assert tables["INTERFACE"].keys() == links.keys()


def test_numbered_sessions_are_at_addresses(tmp_path: Path) -> None:
    addresses = []
    for config, tables in both(lab_roce(tmp_path, "sonic", NUMBERED)):
        for port in config.ports_of(PortRole.SWITCH):
            assert f"{port.name}|{port.address}/31" in tables["INTERFACE"]
            assert f"default|{port.peer_address}" in tables["BGP_NEIGHBOR"]
            addresses.append(port.address)
            assert int(port.address or 0) ^ int(port.peer_address or 0) == 1
    assert len(addresses) == len(set(addresses))


def test_marking_only_where_dcqcn_is_on(tmp_path: Path, lab: Fabric) -> None:
    assert all("WRED_PROFILE" not in tables for _, tables in both(lab))
    for config, tables in both(lab_roce(tmp_path, "sonic", MARKED)):
        lossless = {str(queue.number) for queue in config.queues if queue.lossless}
        marked = {k.split("|")[1] for k, row in tables["QUEUE"].items() if "wred_profile" in row}
        assert marked == lossless
        assert tables["WRED_PROFILE"]["FABRIC"]["ecn"] == "ecn_all"


def test_management_plane(tmp_path: Path) -> None:
    for config, tables in both(lab_roce(tmp_path, "sonic", WATCHED)):
        own = f"eth0|{config.management.address}/24"
        assert tables["MGMT_INTERFACE"] == {own: {"gwaddr": "10.89.0.254"}}
        assert tables["NTP_SERVER"].keys() == {"10.89.0.1"}
        assert tables["SYSLOG_SERVER"].keys() == {"10.89.0.2"}
        assert "SNMP_AGENT_ADDRESS_CONFIG" not in tables
        rules = [row for key, row in tables["ACL_RULE"].items() if key.startswith("GNMI|")]
        allowed = [row["SRC_IP"] for row in rules if row["PACKET_ACTION"] == "ACCEPT"]
        assert allowed == ["10.0.0.0/8", "192.168.0.0/16"]
        assert rules[-1]["PACKET_ACTION"] == "DROP"
        assert all(row.get("L4_DST_PORT") == tables["GNMI"]["gnmi"]["port"] for row in rules)


def test_no_secret(lab: Fabric) -> None:
    for text in dict(sonic.files(lab)).values():
        assert "password" not in text.lower()
        assert "community" not in text.lower()
