"""Read a workbook as a spreadsheet program does: SpreadsheetML in a ZIP (ISO/IEC 29500-1)."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias
from xml.etree import ElementTree

from fireflyer.prove.files.source import RENDER
from fireflyer.prove.files.tables import Planned, name_of, typed
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Row, bounded, fault, row_findings

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_PACKAGE = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"

Sheets: TypeAlias = Mapping[str, tuple[Sequence[Planned], tuple[str, ...]]]
"""Planned rows of each sheet, and the columns that name a row."""


def workbook_findings(tree: Path, path: str, planned: Sheets) -> Iterator[Finding]:
    """Yield where a workbook differs from the planned sheets; a sheet may leave out columns."""
    try:
        sheets = read_sheets((tree / path).read_bytes())
    except FileNotFoundError:
        yield fault(path, "the file is missing", remedy=RENDER)
        return
    except (
        zipfile.BadZipFile,
        ElementTree.ParseError,
        UnicodeDecodeError,
        KeyError,
        ValueError,
        IndexError,
        EOFError,
        OSError,
        zipfile.zlib.error,  # type: ignore[attr-defined]
    ) as error:
        yield fault(path, f"is no workbook that can be read: {error}", remedy=RENDER)
        return
    if list(sheets) != list(planned):
        yield fault(path, f"has the sheets {', '.join(sheets)}, planned {', '.join(planned)}")
    for name, (rows, key) in planned.items():
        if name in sheets:
            yield from bounded(path, _sheet(path, name, sheets[name], rows, key))


def _sheet(
    path: str, name: str, cells: list[list[str]], planned: Sequence[Planned], key: tuple[str, ...]
) -> Iterator[Finding]:
    header = cells[0] if cells else []
    if lacking := [column for column in key if column not in header]:
        yield fault(path, f"sheet {name} has no column {', '.join(lacking)}")
        return
    known = planned[0] if planned else dict.fromkeys(key)
    if unknown := [column for column in header if column not in known]:
        yield fault(path, f"sheet {name} has the column {', '.join(unknown)}, not planned")
    by_key = {
        f"sheet {name}, {name_of(row, key)}": {c: row[c] for c in header if c in known}
        for row in planned
    }
    seen = []
    for line in cells[1:]:
        filled = dict(zip(header, [*line, *[""] * len(header)], strict=False))
        row_key = f"sheet {name}, {' '.join(filled[column] for column in key)}"
        plan = by_key.get(row_key, {})
        values = {c: typed(text, plan.get(c)) for c, text in filled.items() if c in known}
        seen.append(Row(row_key, values))
    yield from row_findings(path, by_key, seen)


def read_sheets(data: bytes) -> dict[str, list[list[str]]]:
    """Return the cells of every sheet, by its name, as text."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        shared: list[str] = []
        if "xl/sharedStrings.xml" in archive.namelist():
            for item in _xml(archive, "xl/sharedStrings.xml").findall(f"{_MAIN}si"):
                shared.append("".join(text.text or "" for text in item.iter(f"{_MAIN}t")))
        targets = {
            relation.get("Id"): str(relation.get("Target"))
            for relation in _xml(archive, "xl/_rels/workbook.xml.rels").iter(_PACKAGE)
        }
        sheets = {}
        for sheet in _xml(archive, "xl/workbook.xml").iter(f"{_MAIN}sheet"):
            target = targets[sheet.get(_RELATION)]
            path = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
            sheets[str(sheet.get("name"))] = list(_rows(_xml(archive, path), shared))
    return sheets


def _xml(archive: zipfile.ZipFile, name: str) -> ElementTree.Element:
    return ElementTree.fromstring(archive.read(name))  # noqa: S314 - a file of the site's own


def _rows(sheet: ElementTree.Element, shared: Sequence[str]) -> Iterator[list[str]]:
    for row in sheet.iter(f"{_MAIN}row"):
        cells: list[str] = []
        for cell in row.findall(f"{_MAIN}c"):
            reference = cell.get("r")
            column = _column(reference) if reference else len(cells)
            cells += [""] * (column - len(cells))
            value = cell.findtext(f"{_MAIN}v") or ""
            if cell.get("t") == "s":
                value = shared[int(value)]
            elif cell.get("t") == "inlineStr":
                value = "".join(text.text or "" for text in cell.iter(f"{_MAIN}t"))
            cells.append(value)
        yield cells


def _column(reference: str) -> int:
    """Return the index of a cell's column from 0: A is 0, Z is 25, AA is 26."""
    letters = re.match(r"[A-Z]+", reference)
    if letters is None:
        raise ValueError(f"{reference} is no cell")
    number = 0
    for letter in letters[0]:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1
