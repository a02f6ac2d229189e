"""NetBox's import files against the fields that its bulk import documents, row by row.

No NetBox is at hand: these are the rules of its import forms (NetBox 4.x, "Bulk Import" of
each object), written down, and the references between the files followed.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from fireflyer.model.fabric import Fabric
from fireflyer.prove.part import Part, Progress
from fireflyer.verify.finding import Finding

CHECK = "netbox"
REMEDY = "render the site again"
Rows: TypeAlias = list[dict[str, str]]
_PLANNED = frozenset({"planned", "active", "staged"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What one import form takes."""

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    choices: Mapping[str, frozenset[str]] = field(default_factory=dict)
    references: References = field(default_factory=dict)
    """Columns that name a row of another file: its stem, and its columns."""
    unique: tuple[tuple[str, ...], ...] = ()


References: TypeAlias = Mapping[tuple[str, ...], tuple[str, tuple[str, ...]]]
_SITE: References = {("site",): ("04-sites", ("name",))}
_CABLE_TYPES = "dac-passive dac-active aoc mmf-om3 mmf-om4 mmf-om5 smf smf-os1 smf-os2 cat6a"
_INTERFACE_TYPES = (
    "virtual 1000base-t infiniband-hdr-2x infiniband-hdr-4x infiniband-ndr-4x"
    " 200gbase-x-qsfp56 400gbase-x-osfp 400gbase-x-qsfp112 400gbase-x-qsfpdd 800gbase-x-osfp"
)
FORMS: Mapping[str, Form] = {
    "01-manufacturers": Form(required=("name", "slug"), unique=(("name",), ("slug",))),
    "02-device-types": Form(
        required=("manufacturer", "model", "slug"),
        optional=("u_height", "part_number", "is_full_depth", "weight", "description"),
        references={("manufacturer",): ("01-manufacturers", ("name",))},
        unique=(("manufacturer", "model"),),
    ),
    "03-device-roles": Form(required=("name", "slug"), optional=("color", "vm_role")),
    "04-sites": Form(required=("name", "slug"), optional=("status",), choices={"status": _PLANNED}),
    "05-locations": Form(
        required=("site", "name", "slug"),
        optional=("status", "parent"),
        choices={"status": _PLANNED},
        references=_SITE,
        unique=(("site", "name"),),
    ),
    "06-racks": Form(
        required=("site", "name"),
        optional=("location", "status", "width", "u_height"),
        choices={"status": _PLANNED, "width": frozenset({"10", "19", "21", "23"})},
        references={**_SITE, ("site", "location"): ("05-locations", ("site", "name"))},
        unique=(("site", "name"),),
    ),
    "07-devices": Form(
        required=("role", "manufacturer", "device_type", "site"),
        optional=("name", "serial", "status", "location", "rack", "position", "face"),
        choices={"status": _PLANNED, "face": frozenset({"front", "rear"})},
        references={
            **_SITE,
            ("role",): ("03-device-roles", ("name",)),
            ("manufacturer", "device_type"): ("02-device-types", ("manufacturer", "model")),
            ("site", "rack"): ("06-racks", ("site", "name")),
        },
        unique=(("name",), ("rack", "position", "face")),
    ),
    "08-interfaces": Form(
        required=("device", "name", "type"),
        optional=("label", "enabled", "mgmt_only", "speed", "mtu", "description"),
        choices={"type": frozenset(_INTERFACE_TYPES.split())},
        references={("device",): ("07-devices", ("name",))},
        unique=(("device", "name"),),
    ),
    "09-prefixes": Form(required=("prefix",), optional=("status", "description")),
    "10-ip-addresses": Form(
        required=("address", "status"),
        optional=("dns_name", "device", "interface", "is_primary", "description"),
        references={("device", "interface"): ("08-interfaces", ("device", "name"))},
        unique=(("address",),),
    ),
    "11-cables": Form(
        required=tuple(f"side_{s}_{f}" for s in "ab" for f in ("device", "type", "name")),
        optional=("type", "status", "label", "length", "length_unit", "color", "description"),
        choices={
            "side_a_type": frozenset({"dcim.interface"}),
            "side_b_type": frozenset({"dcim.interface"}),
            "type": frozenset(_CABLE_TYPES.split()),
            "status": frozenset({"planned", "connected", "decommissioning"}),
            "length_unit": frozenset({"m", "cm", "km", "ft", "in", "mi"}),
        },
        references={
            ("side_a_device", "side_a_name"): ("08-interfaces", ("device", "name")),
            ("side_b_device", "side_b_name"): ("08-interfaces", ("device", "name")),
        },
    ),
}


def netbox(fabric: Fabric, tree: Path, progress: Progress) -> Part:
    """Check the import files of a rendered tree."""
    progress("netbox: reading the import files as its forms would")
    tables = {stem: _read(tree / "exports" / "netbox" / f"{stem}.csv") for stem in FORMS}
    findings = [finding for stem in FORMS for finding in _findings(stem, tables)]
    findings += _cabling(fabric, tables["11-cables"])
    findings += _standing(tables)
    rows = sum(len(found) for found in tables.values())
    return Part(
        name="netbox",
        used="the documented fields of NetBox's import forms; no NetBox",
        lines=(f"rows of {len(FORMS)} forms     {rows:>12,}",),
        data={"rows": rows},
        findings=tuple(findings),
    )


def _read(file: Path) -> Rows:
    with file.open(newline="") as stream:
        return list(csv.DictReader(stream))


def _findings(stem: str, tables: Mapping[str, Rows]) -> Iterator[Finding]:
    """Yield what a form would refuse: one finding for each column or rule, the first row named."""
    form, rows = FORMS[stem], tables[stem]
    columns = set(rows[0]) if rows else set(form.required)
    for name in form.required:
        if name not in columns:
            yield _finding(stem, f"lacks the column {name}")
            return
    for name in sorted(columns - {*form.required, *form.optional}):
        yield _finding(stem, f"has a column that the form does not know: {name}")
    for name in form.required:
        empty = (line for line, row in enumerate(rows, start=2) if not row[name])
        if (line := next(empty, None)) is not None:
            yield _finding(stem, f"line {line} has no {name}")
    for name, allowed in form.choices.items():
        for line, row in enumerate(rows, start=2):
            if (value := row.get(name, "")) and value not in allowed:
                yield _finding(stem, f"line {line}: {name} cannot be {value}")
                break
    for names, (other, columns_there) in form.references.items():
        known = {tuple(row.get(c, "") for c in columns_there) for row in tables[other]}
        for line, row in enumerate(rows, start=2):
            key = tuple(row.get(name, "") for name in names)
            if all(key) and key not in known:
                yield _finding(stem, f"line {line}: {' '.join(key)} is in no row of {other}")
                break
    for names in form.unique:
        yield from _twice(stem, names, rows)


def _twice(stem: str, names: tuple[str, ...], rows: Rows) -> Iterator[Finding]:
    seen: dict[tuple[str, ...], int] = {}
    for line, row in enumerate(rows, start=2):
        key = tuple(row.get(name, "") for name in names)
        if all(key) and (first := seen.setdefault(key, line)) != line:
            yield _finding(stem, f"line {line}: {' '.join(key)} is on line {first} already")
            return


def _cabling(fabric: Fabric, rows: Rows) -> Iterator[Finding]:
    """Yield interfaces with two cables, and a list that is not the fabric's."""
    ends = [
        (row.get(f"side_{s}_device", ""), row.get(f"side_{s}_name", ""))
        for row in rows
        for s in "ab"
    ]
    if len(set(ends)) != len(ends):
        worst = Counter(ends).most_common(1)[0][0]
        yield _finding("11-cables", f"{' '.join(worst)} has two cables")
    if {row.get("label") for row in rows} != {cable.id for cable in fabric.cables}:
        yield _finding("11-cables", "its cables are not the fabric's")


def _standing(tables: Mapping[str, Rows]) -> Iterator[Finding]:
    """Yield the first device that stands in another's units, or above its rack."""
    heights = {row.get("model"): int(row.get("u_height") or 1) for row in tables["02-device-types"]}
    tops = {row.get("name"): int(row.get("u_height") or 42) for row in tables["06-racks"]}
    taken: dict[tuple[str, int], str] = {}
    for row in tables["07-devices"]:
        name, rack, position = (row.get(key, "") for key in ("name", "rack", "position"))
        if not position.isdigit():
            continue
        for unit in range(int(position), int(position) + heights.get(row.get("device_type"), 1)):
            other = taken.setdefault((rack, unit), name)
            if other != name or unit > tops.get(rack, 42):
                what = f"{other}'s" if other != name else "none"
                yield _finding("07-devices", f"{name} stands in {rack} U{unit}, which is {what}")
                return


def _finding(stem: str, message: str) -> Finding:
    return Finding(CHECK, f"exports/netbox/{stem}.csv", message, REMEDY)
