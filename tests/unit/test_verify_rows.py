"""Rows of a file against the plan: every difference once, none where there is none."""

from __future__ import annotations

from fireflyer.verify.rows import MOST, Row, bounded, row_findings

PLAN = {"a": {"port": 1, "gbps": 200}, "b": {"port": 2, "gbps": 200}}
SAME = [Row("a", {"port": 1, "gbps": 200}, 2), Row("b", {"port": 2, "gbps": 200}, 3)]


def said(seen: list[Row], *, ordered: bool = False) -> list[str]:
    findings = row_findings("x.csv", PLAN, seen, ordered=ordered)
    return [f"{finding.subject}: {finding.message}" for finding in findings]


def test_rows_as_planned_give_nothing() -> None:
    assert said(SAME, ordered=True) == []
    assert said(SAME[::-1]) == []


def test_a_missing_row() -> None:
    assert said(SAME[:1]) == ["x.csv: b: is missing"]


def test_a_row_twice() -> None:
    assert said([*SAME, Row("a", {}, 4)]) == ["x.csv:4: a: is there twice, first in line 2"]


def test_a_row_too_many() -> None:
    assert said([*SAME, Row("c", {}, 4)]) == ["x.csv:4: c: is there, and is not planned"]


def test_other_values() -> None:
    other = Row("b", {"port": 3, "speed": 1}, 3)
    assert said([SAME[0], other]) == [
        "x.csv:3: b: port is 3, planned 2",
        "x.csv:3: b: gbps is missing, planned 200",
        "x.csv:3: b: speed is 1, none is planned",
    ]


def test_order_where_it_has_a_meaning() -> None:
    assert said(SAME[::-1], ordered=True) == ["x.csv:3: b: stands where a is planned"]


def test_many_differences_are_counted() -> None:
    plan = {str(number): {"x": number} for number in range(100)}
    findings = list(bounded("x.csv", row_findings("x.csv", plan, [])))
    assert len(findings) == MOST + 1
    assert findings[-1].message == "80 more differences"
