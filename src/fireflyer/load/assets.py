"""Read the optional asset list: what the vendor delivered, by device name.

`inventory/<site>/assets.csv` has the columns name, serial, guid, mac, bmc_mac. A row's
name is a device, or `device:hca` for the further adapters of a node with several.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from netaddr import EUI, AddrFormatError, mac_unix_expanded

from fireflyer.errors import IntentError, Problem

Wrong: TypeAlias = Callable[[int, str, str, str, str], None]
"""Told a line, key, value, limit and remedy."""
COLUMNS = ("name", "serial", "guid", "mac", "bmc_mac")
_SERIAL = re.compile(r"[A-Za-z0-9._/-]+")
"""What a vendor prints, and every file that names a serial can hold without quotes."""


@dataclass(frozen=True, slots=True)
class Asset:
    """One row; an empty field is not known."""

    name: str
    serial: str
    guid: int | None
    mac: str
    bmc_mac: str
    line: int


@dataclass(frozen=True, slots=True)
class Assets:
    """The rows by name."""

    file: Path
    rows: Mapping[str, Asset]

    def problem(self, asset: Asset, key: str, limit: str, remedy: str) -> Problem:
        """Describe what is wrong with a row."""
        where = f"{self.file}:{asset.line}"
        return Problem(where=where, key=key, value=asset.name, limit=limit, remedy=remedy)


def load_assets(file: Path) -> Assets:
    """Read the asset list; a site without one has no assets.

    Raises:
        IntentError: with every repeated name and every malformed or repeated serial, GUID and MAC.
    """
    if not file.exists():
        return Assets(file=file, rows={})
    problems: list[Problem] = []

    def wrong(line: int, key: str, value: str, limit: str, remedy: str) -> None:
        where = f"{file}:{line}"
        problems.append(Problem(where=where, key=key, value=value, limit=limit, remedy=remedy))

    rows: dict[str, Asset] = {}
    seen: dict[tuple[str, object], int] = {}

    def once(line: int, key: str, text: str, value: object) -> None:
        kind = "mac" if key == "bmc_mac" else key
        if value and (first := seen.setdefault((kind, value), line)) != line:
            wrong(line, key, text, f"is on line {first} already", "correct one of them")

    for line, row in _rows(file, wrong):
        guid, mac, bmc_mac = _guid(row["guid"]), _mac(row["mac"]), _mac(row["bmc_mac"])
        if row["guid"] and guid is None:
            limit = "must be a GUID of 16 hexadecimal digits, such as 0x0c42a10300abcdef"
            wrong(line, "guid", row["guid"], limit, "copy it from the label or from ibstat")
        if row["serial"] and not _SERIAL.fullmatch(row["serial"]):
            limit = "may have letters, digits and . _ / - alone"
            wrong(line, "serial", row["serial"], limit, "copy it from the label")
        for key, value in (("mac", mac), ("bmc_mac", bmc_mac)):
            if row[key] and not value:
                limit = "must be a MAC address, such as 0c:42:a1:ab:cd:ef"
                wrong(line, key, row[key], limit, "copy it from the label")
        once(line, "name", row["name"], row["name"])
        once(line, "serial", row["serial"], row["serial"] if ":" not in row["name"] else "")
        once(line, "guid", row["guid"], guid)
        once(line, "mac", row["mac"], mac)
        once(line, "bmc_mac", row["bmc_mac"], bmc_mac)
        rows[row["name"]] = Asset(row["name"], row["serial"], guid, mac, bmc_mac, line)
    if problems:
        raise IntentError(problems)
    return Assets(file=file, rows=rows)


def _rows(file: Path, wrong: Wrong) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line and fields of each whole row; tell what is wrong with the others."""
    try:
        with file.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.DictReader(stream, strict=True)
            if tuple(reader.fieldnames or ()) != COLUMNS:
                found = ",".join(reader.fieldnames or ()) or "empty"
                remedy = "correct the first line"
                wrong(1, "columns", found, f"must be {','.join(COLUMNS)}", remedy)
                return
            for row in reader:
                if None in row or None in row.values():
                    limit = f"must have {len(COLUMNS)} fields"
                    wrong(reader.line_num, "row", row["name"], limit, "correct it")
                    continue
                yield reader.line_num, {key: value.strip() for key, value in row.items()}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        wrong(1, "file", "", f"cannot be read ({error})", "make it a CSV file in UTF-8")


def _guid(text: str) -> int | None:
    digits = text.lower().removeprefix("0x").replace(":", "")
    if not re.fullmatch("[0-9a-f]{16}", digits):
        return None
    value = int(digits, 16)
    return value if 1 < value < 2**64 - 1 else None


def _mac(text: str) -> str:
    try:
        return str(EUI(text, version=48, dialect=mac_unix_expanded)) if text else ""
    except (AddrFormatError, ValueError):
        return ""
