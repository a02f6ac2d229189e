"""The tables of an inventory's import: read from the files, ids replaced by what they stand for."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from fireflyer.prove.files.source import read
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Row, Value, bounded, fault, row_findings

Cells: TypeAlias = dict[str, str]


class Table(list[Cells]):
    """The rows of a file, and what is wrong with them."""

    def __init__(self) -> None:
        """Begin without rows."""
        super().__init__()
        self.faults: list[Finding] = []


def tables(
    tree: Path,
    system: str,
    name: str,
    named: Mapping[str, str] | None = None,
    *,
    needed: bool = True,
) -> Iterator[tuple[str, Table]]:
    """Yield the file of a name, if there is one; ids in it become what they stand for."""
    found = [
        file
        for file in sorted((tree / "exports" / system).glob(f"*/[0-9]*-{name}.csv"))
        if file.stem.partition("-")[2] == name
    ]
    if not found and needed:
        table = Table()
        table.faults.append(fault(f"exports/{system}/{name}.csv", "the file is missing"))
        yield f"exports/{system}/{name}.csv", table
    for file in found:
        table = Table()
        path = str(file.relative_to(tree))
        table.faults += read(tree, path, lambda text: _fill(path, text, table, named or {}))  # noqa: B023 - called at once
        yield path, table


def _fill(path: str, text: str, table: Table, named: Mapping[str, str]) -> Iterator[Finding]:
    rows = csv.reader(io.StringIO(text))
    header = next(rows, [])
    for cells in rows:
        if cells and len(cells) != len(header):
            yield fault(path, f"has {len(cells)} fields, the header {len(header)}", rows.line_num)
        if cells:
            held = dict(zip(header, [*cells, *[""] * len(header)], strict=False))
            table.append(
                {k: v if k == "id" else named.get(v, v) for k, v in held.items()}
                | {"line": str(rows.line_num)}
            )


def table_findings(
    tree: Path,
    system: str,
    plans: Iterable[tuple[str, str, Mapping[str, Mapping[str, Value]]]],
    named: Mapping[str, str] | None = None,
) -> Iterator[Finding]:
    """Yield where tables differ; of each the name, the column that names a row, and its rows."""
    for name, key, plan in plans:
        for path, rows in tables(tree, system, name, named, needed=bool(plan)):
            yield from rows.faults
            if rows or not rows.faults:
                yield from bounded(path, row_findings(path, plan, _compared(rows, key, plan)))
            yield from alike(path, rows, key, ("color",))


def _compared(rows: Table, key: str, plan: Mapping[str, Mapping[str, Value]]) -> Iterator[Row]:
    columns = {column for held in plan.values() for column in held}
    for row in rows:
        held: dict[str, Value] = {column: row[column] for column in columns if column in row}
        yield Row(row.get(key, "none"), held, int(row["line"]))


def alike(path: str, rows: Table, key: str, columns: tuple[str, ...]) -> Iterator[Finding]:
    """Yield rows that differ from the others in a column that has one value."""
    for column in columns:
        counts = Counter(row[column] for row in rows if column in row)
        for row in rows if len(counts) > 1 else ():
            common = counts.most_common(1)[0][0]
            if row.get(column) != common:
                message = f"{row.get(key)}: {column} is {row.get(column)}, that of others {common}"
                yield fault(path, message, int(row["line"]))
