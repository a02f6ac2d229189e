"""NetBox's import files against the fields that its bulk import documents, row by row.

No NetBox is at hand: these are the rules of its import forms (NetBox 4.x, "Bulk Import" of
each object), written down, and the references between the files followed.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from fireflyer.model.fabric import Fabric
from fireflyer.prove.netbox_design import Rows, design_findings, finding
from fireflyer.prove.part import Part, Progress
from fireflyer.verify.finding import Finding

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
    numbers: Mapping[str, range] = field(default_factory=dict)
    patterns: Mapping[str, str] = field(default_factory=dict)


References: TypeAlias = Mapping[tuple[str, ...], tuple[str, tuple[str, ...]]]
_SITE: References = {("site",): ("site/01-sites", ("name",))}
_INTERFACE_ROWS = ("site/06-interfaces", ("device", "name"))
_CABLE_TYPES = "dac-passive dac-active aoc mmf-om3 mmf-om4 mmf-om5 smf smf-os1 smf-os2 cat6a"
_INTERFACE_TYPES = (
    "virtual 1000base-t infiniband-edr-4x infiniband-hdr-2x infiniband-hdr-4x infiniband-ndr-4x"
    " 200gbase-x-qsfp56 400gbase-x-osfp 400gbase-x-qsfp112 400gbase-x-qsfpdd 800gbase-x-osfp"
)
_NAMED = Form(required=("name", "slug"), unique=(("name",), ("slug",)))
FORMS: Mapping[str, Form] = {
    "shared/01-manufacturers": _NAMED,
    "shared/02-platforms": _NAMED,
    "shared/03-device-types": Form(
        required=("manufacturer", "model", "slug"),
        optional=("u_height", "part_number", "is_full_depth", "weight", "description"),
        references={("manufacturer",): ("shared/01-manufacturers", ("name",))},
        unique=(("manufacturer", "model"), ("manufacturer", "slug")),
    ),
    "shared/04-device-roles": Form(
        required=("name", "slug"), optional=("color", "vm_role"), unique=(("name",), ("slug",))
    ),
    "shared/05-rirs": Form(
        required=("name", "slug"),
        optional=("is_private", "description"),
        choices={"is_private": frozenset({"true", "false"})},
        unique=(("name",), ("slug",)),
    ),
    "shared/06-asns": Form(
        required=("asn", "rir"),
        optional=("description",),
        references={("rir",): ("shared/05-rirs", ("name",))},
        unique=(("asn",),),
        numbers={"asn": range(1, 2**32)},
    ),
    "site/01-sites": Form(
        required=("name", "slug"), optional=("status",), choices={"status": _PLANNED}
    ),
    "site/02-locations": Form(
        required=("site", "name", "slug"),
        optional=("status", "parent"),
        choices={"status": _PLANNED},
        references=_SITE,
        unique=(("site", "name"),),
    ),
    "site/03-racks": Form(
        required=("site", "name"),
        optional=("location", "status", "width", "u_height"),
        choices={"status": _PLANNED, "width": frozenset({"10", "19", "21", "23"})},
        references={**_SITE, ("site", "location"): ("site/02-locations", ("site", "name"))},
        unique=(("site", "name"),),
        numbers={"u_height": range(1, 101)},
    ),
    "site/04-vlans": Form(
        required=("vid", "name", "status"),
        optional=("site", "description"),
        choices={"status": frozenset({"active", "reserved", "deprecated"})},
        references=_SITE,
        unique=(("site", "vid"),),
        numbers={"vid": range(1, 4095)},
    ),
    "site/05-devices": Form(
        required=("role", "manufacturer", "device_type", "site", "status"),
        optional=(
            "name",
            "platform",
            "serial",
            "location",
            "rack",
            "position",
            "face",
            "description",
        ),
        choices={"status": _PLANNED, "face": frozenset({"front", "rear"})},
        references={
            **_SITE,
            ("role",): ("shared/04-device-roles", ("name",)),
            ("manufacturer", "device_type"): ("shared/03-device-types", ("manufacturer", "model")),
            ("platform",): ("shared/02-platforms", ("name",)),
            ("site", "rack"): ("site/03-racks", ("site", "name")),
        },
        unique=(("name",), ("rack", "position", "face")),
    ),
    "site/06-interfaces": Form(
        required=("device", "name", "type"),
        optional=("label", "enabled", "mgmt_only", "speed", "mtu", "description"),
        choices={"type": frozenset(_INTERFACE_TYPES.split())},
        references={("device",): ("site/05-devices", ("name",))},
        unique=(("device", "name"),),
        numbers={"mtu": range(1, 65537), "speed": range(2**31)},
    ),
    "site/07-mac-addresses": Form(
        required=("mac_address",),
        optional=("device", "interface", "is_primary", "description"),
        references={("device", "interface"): _INTERFACE_ROWS},
        unique=(("mac_address",),),
        patterns={"mac_address": r"([0-9A-F]{2}:){5}[0-9A-F]{2}"},
    ),
    "site/08-prefixes": Form(
        required=("prefix", "status"), optional=("description",), unique=(("prefix",),)
    ),
    "site/09-ip-addresses": Form(
        required=("address", "status"),
        optional=("dns_name", "device", "interface", "is_primary", "description"),
        references={("device", "interface"): _INTERFACE_ROWS},
        unique=(("address",),),
    ),
    "site/10-cables": Form(
        required=tuple(f"side_{s}_{f}" for s in "ab" for f in ("device", "type", "name")),
        optional=(
            "type",
            "status",
            "label",
            "length",
            "length_unit",
            "color",
            "description",
            "side_a_site",
            "side_b_site",
        ),
        choices={
            "side_a_type": frozenset({"dcim.interface"}),
            "side_b_type": frozenset({"dcim.interface"}),
            "type": frozenset(_CABLE_TYPES.split()),
            "status": frozenset({"planned", "connected", "decommissioning"}),
            "length_unit": frozenset({"m", "cm", "km", "ft", "in", "mi"}),
        },
        references={
            ("side_a_device", "side_a_name"): _INTERFACE_ROWS,
            ("side_b_device", "side_b_name"): _INTERFACE_ROWS,
            ("side_a_site",): ("site/01-sites", ("name",)),
            ("side_b_site",): ("site/01-sites", ("name",)),
        },
    ),
}


def netbox(fabric: Fabric, tree: Path, progress: Progress) -> Part:
    """Check the import files of a rendered tree against the forms, and against the fabric."""
    progress("netbox: reading the import files as its forms would")
    tables = {stem: _read(tree / "exports" / "netbox" / f"{stem}.csv") for stem in FORMS}
    findings = [finding for stem in FORMS for finding in _findings(stem, tables)]
    findings += _standing(tables)
    findings += design_findings(fabric, tables)
    rows = sum(len(found) for found in tables.values())
    return Part(
        name="netbox",
        used="the documented fields of NetBox's import forms; no NetBox",
        lines=(f"rows of {len(FORMS)} forms     {rows:>12,}",),
        data={"rows": rows},
        findings=tuple(findings),
    )


def _read(file: Path) -> Rows:
    """Return a file's rows; a kind of object that a site has none of has no file."""
    if not file.is_file():
        return []
    with file.open(newline="") as stream:
        return list(csv.DictReader(stream))


def _findings(stem: str, tables: Mapping[str, Rows]) -> Iterator[Finding]:
    """Yield what a form would refuse: one finding for each column or rule, the first row named."""
    form, rows = FORMS[stem], tables[stem]
    columns = set(rows[0]) if rows else set(form.required)
    for name in form.required:
        if name not in columns:
            yield finding(stem, f"lacks the column {name}")
            return
    for name in sorted(columns - {*form.required, *form.optional}):
        yield finding(stem, f"has a column that the form does not know: {name}")
    for name in form.required:
        empty = (line for line, row in enumerate(rows, start=2) if not row[name])
        if (line := next(empty, None)) is not None:
            yield finding(stem, f"line {line} has no {name}")
    for name, allowed in form.choices.items():
        for line, row in enumerate(rows, start=2):
            if (value := row.get(name, "")) and value not in allowed:
                yield finding(stem, f"line {line}: {name} cannot be {value}")
                break
    yield from _values(stem, form, rows)
    for names, (other, columns_there) in form.references.items():
        known = {tuple(row.get(c, "") for c in columns_there) for row in tables[other]}
        for line, row in enumerate(rows, start=2):
            key = tuple(row.get(name, "") for name in names)
            if all(key) and key not in known:
                yield finding(stem, f"line {line}: {' '.join(key)} is in no row of {other}")
                break
    for names in form.unique:
        yield from _twice(stem, names, rows)


def _values(stem: str, form: Form, rows: Rows) -> Iterator[Finding]:
    """Yield the first value of each column that is no number in range, or of another form."""
    for name, limits in form.numbers.items():
        for line, row in enumerate(rows, start=2):
            value = row.get(name, "")
            if value and not (value.isdecimal() and int(value) in limits):
                yield finding(stem, f"line {line}: {name} cannot be {value}")
                break
    for name, pattern in form.patterns.items():
        for line, row in enumerate(rows, start=2):
            if (value := row.get(name, "")) and not re.fullmatch(pattern, value):
                yield finding(stem, f"line {line}: {name} cannot be {value}")
                break


def _twice(stem: str, names: tuple[str, ...], rows: Rows) -> Iterator[Finding]:
    seen: dict[tuple[str, ...], int] = {}
    for line, row in enumerate(rows, start=2):
        key = tuple(row.get(name, "") for name in names)
        if all(key) and (first := seen.setdefault(key, line)) != line:
            yield finding(stem, f"line {line}: {' '.join(key)} is on line {first} already")
            return


def _standing(tables: Mapping[str, Rows]) -> Iterator[Finding]:
    """Yield the first device that stands in another's units, or above its rack."""
    heights = {
        row.get("model"): int(row.get("u_height") or 1) for row in tables["shared/03-device-types"]
    }
    tops = {row.get("name"): int(row.get("u_height") or 42) for row in tables["site/03-racks"]}
    taken: dict[tuple[str, int], str] = {}
    for row in tables["site/05-devices"]:
        name, rack, position = (row.get(key, "") for key in ("name", "rack", "position"))
        if not position.isdigit():
            continue
        for unit in range(int(position), int(position) + heights.get(row.get("device_type"), 1)):
            other = taken.setdefault((rack, unit), name)
            if other != name or unit > tops.get(rack, 42):
                what = f"{other}'s" if other != name else "none"
                yield finding(
                    "site/05-devices", f"{name} stands in {rack} U{unit}, which is {what}"
                )
                return
