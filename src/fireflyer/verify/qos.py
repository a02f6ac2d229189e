"""Compare what switches hold of the traffic classes with the table of the intent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fireflyer.design.traffic import arbitration, sl_to_vl
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
    """Return every port whose tables differ from the intent, one finding a table."""
    lanes = sl_to_vl(traffic)
    high, low = arbitration(traffic, "high"), arbitration(traffic, "low")
    findings: list[Finding] = []
    ports = 0
    remedy = "compare the qos options of opensm.conf with the switch's capabilities"
    for tables in read:
        ports += 1
        where = f"{tables.switch}/{tables.port}"
        wrong = [number for number, held in tables.sl_to_vl.items() if held != lanes]
        if wrong:
            held = ",".join(map(str, tables.sl_to_vl[wrong[0]]))
            message = f"SL2VL from port {wrong[0]} is {held}, planned {','.join(map(str, lanes))}"
            findings.append(Finding("qos", f"{where} SL2VL", message, remedy))
        for name, held_table, planned in (("high", tables.high, high), ("low", tables.low, low)):
            if held_table != planned:
                message = f"VL arbitration {name} is {held_table}, planned {planned}"
                findings.append(Finding("qos", f"{where} {name}", message, remedy))
    if ports != expected_ports:
        message = f"{ports} ports answered, {expected_ports} are cabled"
        findings.append(Finding("qos", "ports", message, "look for links that are down"))
    return tuple(findings)


def path_findings(answers: Iterable[PathAnswer]) -> tuple[Finding, ...]:
    """Return every path that gets another service level than planned."""
    return tuple(
        Finding(
            "qos",
            answer.question,
            f"gets SL {answer.sl}, planned {answer.planned_sl}"
            if answer.sl is not None
            else "the subnet administrator knows no path",
            "check qos-policy.conf",
        )
        for answer in answers
        if answer.sl != answer.planned_sl
    )
