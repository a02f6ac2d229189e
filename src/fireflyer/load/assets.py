"""Read the optional asset list: what the vendor delivered, by device name.

`inventory/<site>/assets.csv` has the columns name, serial, guid, mac, bmc_mac. A row's
name is a device, or `device:hca` for the further adapters of a node with several.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from netaddr import EUI, AddrFormatError, mac_unix_expanded

from fireflyer.errors import IntentError, Problem

COLUMNS = ("name", "serial", "guid", "mac", "bmc_mac")


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
        IntentError: with every malformed or repeated name, GUID and MAC.
    """
    if not file.exists():
        return Assets(file=file, rows={})
    problems: list[Problem] = []

    def wrong(line: int, key: str, value: str, limit: str, remedy: str) -> None:
        where = f"{file}:{line}"
        problems.append(Problem(where=where, key=key, value=value, limit=limit, remedy=remedy))

    rows: dict[str, Asset] = {}
    seen: dict[tuple[str, str], int] = {}
    with file.open(newline="", encoding="utf-8") as stream:
        reader = csv.DictReader(stream)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            found = ",".join(reader.fieldnames or ()) or "empty"
            wrong(1, "columns", found, f"must be {','.join(COLUMNS)}", "correct the first line")
            raise IntentError(problems)
        for row in reader:
            line = reader.line_num
            if None in row or None in row.values():
                wrong(line, "row", row["name"], f"must have {len(COLUMNS)} fields", "correct it")
                continue
            for key in ("name", "guid", "mac", "bmc_mac", "serial"):
                value = row[key].lower()
                if value and (first := seen.setdefault((key, value), line)) != line:
                    wrong(line, key, row[key], f"is on line {first} already", "correct one of them")
            guid = _guid(row["guid"])
            if row["guid"] and guid is None:
                limit = "must be 16 hexadecimal digits, such as 0x0c42a10300abcdef"
                wrong(line, "guid", row["guid"], limit, "copy it from the label or from ibstat")
            macs: dict[str, str] = {}
            for key in ("mac", "bmc_mac"):
                macs[key] = _mac(row[key])
                if row[key] and not macs[key]:
                    limit = "must be a MAC address, such as 0c:42:a1:ab:cd:ef"
                    wrong(line, key, row[key], limit, "copy it from the label")
            rows[row["name"]] = Asset(
                row["name"], row["serial"], guid, macs["mac"], macs["bmc_mac"], line
            )
    if problems:
        raise IntentError(problems)
    return Assets(file=file, rows=rows)


def _guid(text: str) -> int | None:
    digits = text.lower().removeprefix("0x").replace(":", "")
    try:
        value = int(digits, 16)
    except ValueError:
        return None
    return value if len(digits) == 16 and value else None


def _mac(text: str) -> str:
    try:
        return str(EUI(text, version=48, dialect=mac_unix_expanded)) if text else ""
    except (AddrFormatError, ValueError):
        return ""
