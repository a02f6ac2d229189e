"""Read a CSV file by the names of its columns (RFC 4180), as spreadsheets and importers do."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Row, Value, fault, row_findings

Planned: TypeAlias = Mapping[str, Value]
"""The values of a planned row by column."""


def table_findings(
    path: str,
    text: str,
    planned: Sequence[Planned],
    key: Sequence[str],
    *,
    rising: str = "",
) -> Iterator[Finding]:
    """Yield where a CSV file differs from the planned rows.

    Args:
        path: Of the file, for the findings.
        text: What it holds.
        planned: Its rows, in any order; all have the same columns.
        key: The columns that together name a row.
        rising: A column of numbers that must not fall from row to row; empty for any order.
    """
    rows = csv.reader(io.StringIO(text))
    header = next(rows, [])
    columns = list(planned[0]) if planned else list(key)
    wrong = [f"column {name} is missing" for name in columns if name not in header]
    wrong += [f"column {name} is there twice" for name in {*header} if header.count(name) > 1]
    if wrong:
        yield from (fault(path, message, 1) for message in sorted(wrong))
        return
    by_key = {name_of(row, key): row for row in planned}
    at = {name: header.index(name) for name in columns}
    places = [at[name] for name in key]
    seen: list[Row] = []
    for cells in rows:
        line = rows.line_num
        if not cells:
            continue  # a blank line
        if len(cells) != len(header):
            yield fault(path, f"has {len(cells)} fields, the header {len(header)}", line)
            cells += [""] * (len(header) - len(cells))
        name = " ".join(cells[place] for place in places)
        plan = by_key.get(name, {})
        values = {column: typed(cells[at[column]], plan.get(column)) for column in columns}
        seen.append(Row(name, values, line))
    yield from row_findings(path, by_key, seen)
    if rising:
        yield from _falling(path, seen, rising)


def _falling(path: str, rows: Iterable[Row], column: str) -> Iterator[Finding]:
    last: Value = None
    for row in rows:
        value = row.values[column]
        if isinstance(value, int) and isinstance(last, int) and value < last:
            yield fault(path, f"{row.key}: {column} {value} comes after {last}", row.line)
            return
        last = value


def name_of(row: Planned, key: Sequence[str]) -> str:
    """Return the name of a planned row: its key columns, with blanks between."""
    return " ".join(str(row[name]) for name in key)


def typed(text: str, like: Value) -> Value:
    """Return a field as the type of the planned value; as text where it is none of that type."""
    try:
        if isinstance(like, bool):
            return {"true": True, "false": False}.get(text.lower(), text)
        if isinstance(like, int):
            return int(text)
        if isinstance(like, float):
            return float(text)
    except ValueError:
        pass
    return text
