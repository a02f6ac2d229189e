"""OpenSM's own words: which of them are findings."""

from __future__ import annotations

import pytest

from fireflyer.model.fabric import Fabric
from fireflyer.verify.log import log_findings
from fireflyer.verify.qos import PathAnswer, PortTables, path_findings, table_findings

STAMP = "Nov 21 12:05:01 469289 [3896F6C0] 0x02 -> "
UP = STAMP + "SUBNET UP"


@pytest.mark.parametrize(
    "line",
    [
        'Unrecognized token: "routing_enginee"',
        "Invalid Cached Option Value:lmc = 9:Using Default:0",
        STAMP + "PARSE ERROR: line 2: bad partition definition",
        STAMP
        + "osm_qos_policy_validate: ERR AC11: qos-match-rule num 1: qos-level 'NOPE' not found",
        STAMP + "fabric_mark_leaf_switches: ERR AB26: CN port 0x1 is connected to switch 0x2",
        STAMP + "ucast_mgr_route: updn routing failed, falling back to minhop",
        STAMP + "updn_lid_matrices: no root nodes were found",
        STAMP + "Errors during initialization",
    ],
)
def test_an_error_line_is_a_finding(line: str) -> None:
    (found,) = log_findings([line, UP])
    assert found.subject == line.removeprefix(STAMP)


def test_a_clean_log_has_none() -> None:
    assert (
        log_findings([" Loading Cached Option:qos = TRUE", STAMP + "Entering MASTER state", UP])
        == ()
    )


def test_the_same_error_is_told_once() -> None:
    lines = [f"{STAMP}ERR AB26: CN port 0x{n:x} has rank {n}" for n in range(9)]
    (found,) = log_findings([*lines, UP])
    assert found.message == "OpenSM said so 9 times"


def test_silence_is_a_finding() -> None:
    (found,) = log_findings([])
    assert found.message == "OpenSM never said it"


LANES = (0, 1, 2, 3) + (0,) * 12
HIGH, LOW = ((1, 128), (2, 64), (3, 96)), ((0, 32),)


def test_tables_as_planned(lab: Fabric) -> None:
    tables = PortTables("a-leaf01", 1, {2: LANES}, HIGH, LOW, 3)
    assert table_findings(lab.intent.traffic, [tables], 1) == ()


@pytest.mark.parametrize(
    ("tables", "subject"),
    [
        (
            PortTables("a-leaf01", 1, {2: LANES[::-1]}, HIGH, LOW, 3),
            "SL2VL",
        ),
        (
            PortTables("a-leaf01", 1, {2: LANES}, HIGH[:2], LOW, 3),
            "VL arbitration high",
        ),
        (PortTables("a-leaf01", 1, {2: LANES}, HIGH, (), 3), "VL arbitration low"),
        (PortTables("a-leaf01", 1, {2: LANES}, HIGH, LOW, 2), "OperationalVLs"),
    ],
)
def test_a_table_that_differs(lab: Fabric, tables: PortTables, subject: str) -> None:
    (found,) = table_findings(lab.intent.traffic, [tables], 1)
    assert found.subject.startswith(f"{subject} at a-leaf01/1")


def test_the_same_fault_everywhere_is_one_finding(lab: Fabric) -> None:
    tables = [PortTables("a-leaf01", port, {1: LANES}, HIGH, (), 3) for port in range(1, 9)]
    (found,) = table_findings(lab.intent.traffic, tables, 8)
    assert found.subject == "VL arbitration low at a-leaf01/1 and 7 more"


def test_a_port_that_does_not_answer(lab: Fabric) -> None:
    (found,) = table_findings(lab.intent.traffic, [], 1)
    assert found.message == "0 ports answered, 1 have a link"


def test_a_path_with_another_service_level() -> None:
    right, wrong, none = (PathAnswer("x", sl, 3) for sl in (3, 0, None))
    assert path_findings([right]) == ()
    assert [f.message for f in path_findings([wrong, none])] == [
        "gets SL 0, planned 3",
        "the subnet administrator knows no path",
    ]
