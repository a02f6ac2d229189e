"""Compare what switches hold of the traffic classes with the table of the intent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fireflyer.design.traffic import arbitration, operational_vls, sl_to_vl
from fireflyer.model.intent import TrafficIntent
from fireflyer.verify.finding import Finding


@dataclass(frozen=True, slots=True)
class PortTables:
    """What one output port holds."""

    switch: str
    port: int
    sl_to_vl: Mapping[int, tuple[int, ...]]
    """By input port."""
    high: tuple[tuple[int, int], ...]
    """(VL, weight) with a weight, in the order of the table."""
    low: tuple[tuple[int, int], ...]
    operational_vls: int
    """OperationalVLs of PortInfo: 1 is one lane, 2 two, 3 four, 4 eight (IBTA vol. 1, 14.2.5.6)."""


@dataclass(frozen=True, slots=True)
class PathAnswer:
    """The service level that the subnet administrator gives for a path."""

    question: str
    sl: int | None
    """None: it knows no such path."""
    planned_sl: int


def table_findings(
    traffic: TrafficIntent, read: Iterable[PortTables], expected_ports: int
) -> tuple[Finding, ...]:
    """Return the tables that differ, one finding for all ports that hold the same."""
    lanes = sl_to_vl(traffic)
    high, low = arbitration(traffic, "high"), arbitration(traffic, "low")
    operational = operational_vls(len(traffic.classes))
    wrong: dict[tuple[str, str], list[str]] = {}
    ports = 0
    for tables in read:
        ports += 1
        where = f"{tables.switch}/{tables.port}"
        for number, held in tables.sl_to_vl.items():
            if held != lanes:
                text = f"is {_joined(held)}, planned {_joined(lanes)}"
                wrong.setdefault(("SL2VL", text), []).append(f"{where} from port {number}")
        for name, entries, planned in (("high", tables.high, high), ("low", tables.low, low)):
            if entries != planned:
                text = f"is {entries}, planned {planned}"
                wrong.setdefault((f"VL arbitration {name}", text), []).append(where)
        if tables.operational_vls != operational:
            text = f"is {tables.operational_vls}, planned {operational}"
            wrong.setdefault(("OperationalVLs", text), []).append(where)
    findings = [
        Finding(
            "qos",
            f"{what} at {places[0]}" + (f" and {len(places) - 1:,} more" if places[1:] else ""),
            text,
            "compare the qos options of opensm.conf with the switch's capabilities",
        )
        for (what, text), places in wrong.items()
    ]
    if ports != expected_ports:
        message = f"{ports} ports answered, {expected_ports} have a link"
        findings.append(Finding("qos", "ports", message, "look for switches without a path"))
    return tuple(findings)


def _joined(lanes: Iterable[int]) -> str:
    return ",".join(map(str, lanes))


def path_findings(answers: Iterable[PathAnswer]) -> tuple[Finding, ...]:
    """Return every path that gets another service level than planned."""
    return tuple(
        Finding(
            "qos",
            answer.question,
            f"gets SL {answer.sl}, planned {answer.planned_sl}"
            if answer.sl is not None
            else "the subnet administrator knows no path",
            "check qos-policy.conf and partitions.conf",
        )
        for answer in answers
        if answer.sl != answer.planned_sl
    )
