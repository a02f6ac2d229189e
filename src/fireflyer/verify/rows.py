"""Compare what a file says with the plan, object by object.

A reader turns a file into rows: one for each object that the file describes, by the name that
the plan has for it, with the values that its consumer takes from it. This module knows neither
files nor formats.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from fireflyer.verify.finding import Finding

CHECK = "file"
REMEDY = "correct it, or render the site again"
MOST = 20
"""Findings of one file; the rest is counted."""

Value: TypeAlias = str | int | float | bool | tuple["Value", ...] | None


@dataclass(frozen=True, slots=True)
class Row:
    """One object as a file describes it."""

    key: str
    values: Mapping[str, Value]
    line: int = 0
    """Where it stands, from 1; 0 where the format has no lines."""


def row_findings(
    file: str,
    planned: Mapping[str, Mapping[str, Value]],
    seen: Iterable[Row],
    *,
    ordered: bool = False,
) -> Iterator[Finding]:
    """Yield every row that is missing, not planned, there twice or other than planned.

    Args:
        file: Its path below the tree.
        planned: The values of each object, by the name that `seen` uses.
        seen: The rows of the file, in order.
        ordered: Whether the order of the rows has a meaning.
    """
    first: dict[str, int] = {}
    order: list[Row] = []
    for row in seen:
        if row.key in first:
            at = f", first in line {first[row.key]}" if first[row.key] else ""
            yield fault(file, f"{row.key}: is there twice{at}", row.line)
            continue
        first[row.key] = row.line
        plan = planned.get(row.key)
        if plan is None:
            yield fault(file, f"{row.key}: is there, and is not planned", row.line)
            continue
        order.append(row)
        if plan != row.values:
            yield from _values(file, row, plan)
    for key in planned:
        if key not in first:
            yield fault(file, f"{key}: is missing")
    if ordered:
        kept = (key for key in planned if key in first)
        for key, row in zip(kept, order, strict=True):
            if key != row.key:
                yield fault(file, f"{row.key}: stands where {key} is planned", row.line)
                return


def _values(file: str, row: Row, plan: Mapping[str, Value]) -> Iterator[Finding]:
    for name in (*plan, *(name for name in row.values if name not in plan)):
        if name not in row.values:
            message = f"{row.key}: {name} is missing, planned {shown(plan[name])}"
        elif name not in plan:
            message = f"{row.key}: {name} is {shown(row.values[name])}, none is planned"
        elif plan[name] != row.values[name]:
            message = f"{row.key}: {name} {_difference(plan[name], row.values[name])}"
        else:
            continue
        yield fault(file, message, row.line)


def _difference(plan: Value, seen: Value) -> str:
    """Say how two values differ; of two lists, by their members."""
    if isinstance(plan, tuple) and isinstance(seen, tuple):
        lacking, extra = [v for v in plan if v not in seen], [v for v in seen if v not in plan]
        said = [f"lacks {_some(lacking)}"] if lacking else []
        said += [f"has {_some(extra)}, not planned"] if extra else []
        if said:
            return " and ".join(said)
    return f"is {shown(seen)}, planned {shown(plan)}"


def _some(values: Sequence[Value]) -> str:
    more = f" and {len(values) - 8} more" if len(values) > 8 else ""
    return ", ".join(shown(value) for value in values[:8]) + more


def fault(file: str, message: str, line: int = 0, remedy: str = REMEDY) -> Finding:
    """Return the finding on a place of a file; `prove` knows the file by the subject."""
    return Finding(CHECK, f"{file}:{line}" if line else file, message, remedy)


def shown(value: Value) -> str:
    """Return a value as a message prints it."""
    if value is None or value == "" or value == ():
        return "empty"
    if isinstance(value, tuple):
        return ", ".join(shown(part) for part in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def bounded(file: str, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the first findings of a file and the number of the rest."""
    rest = iter(findings)
    yield from islice(rest, MOST)
    if more := sum(1 for _ in rest):
        yield fault(file, f"{more} more differences")
