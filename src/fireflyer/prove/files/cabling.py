"""Cable lists, labels, materials and racks against the fabric's cables and places."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from fireflyer.design.materials import materials, racks
from fireflyer.design.power import feeds
from fireflyer.model.fabric import Cable, Fabric, Node, Port, Switch
from fireflyer.prove.files.elevations import elevation_findings
from fireflyer.prove.files.source import read
from fireflyer.prove.files.tables import Planned, table_findings
from fireflyer.prove.files.workbook import workbook_findings
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Row, Value, fault, row_findings

_FORMAT = re.compile(r"\^XA(.*?)\^XZ", re.DOTALL)
_FIELD = re.compile(r"\^FN(\d+)\^FD(.*?)\^FS", re.DOTALL)
_BOX = re.compile(r"\^FO(\d+),(\d+).*?\^FN(\d+)\^FS")
LABEL_DOTS = (480, 160)
"""60 mm by 20 mm at 8 dots a millimetre."""
LABEL_FIELDS = ("1", "2", "3", "4")
"""QR code, cable, near end, far end."""


def cabling(fabric: Fabric, tree: Path) -> tuple[Finding, ...]:
    """Return where the files for those who buy, rack, label and pull differ from the fabric."""
    cables = [_cable(fabric, cable) for cable in fabric.cables]
    items = _items(fabric)
    stand = _racks(fabric)

    def table(name: str, rows: list[Planned], *key: str, rising: str = "") -> tuple[Finding, ...]:
        path = f"cabling/{name}"
        return read(tree, path, lambda t: table_findings(path, t, rows, key, rising=rising))

    findings = [*table("cables.csv", cables, "cable_id")]
    if fabric.trunks:
        findings += table("trunks.csv", _trunks(fabric), "trunk", rising="pull")
    findings += table("power.csv", _power(fabric), "device")
    labels = [label for cable in cables for label in _labels(cable)]
    findings += table("labels.csv", labels, "cable_id", "end", rising="pull")
    zpl = "cabling/labels.zpl"
    findings += read(tree, zpl, lambda text: _printed(zpl, text, labels))
    findings += table("materials.csv", items, "part", "length_m")
    findings += table("racks.csv", stand, "rack")
    findings += workbook_findings(
        tree,
        "cabling/cables.xlsx",
        {
            "cables": (cables, ("cable_id",)),
            "materials": (items, ("part", "length_m")),
            "racks": (stand, ("rack",)),
        },
    )
    for rack, rows in _sheets(cables).items():
        findings += table(f"racks/{rack}.csv", rows, "cable_id", rising="pull")
    findings += elevation_findings(fabric, racks(fabric), tree)
    return tuple(findings)


def _cable(fabric: Fabric, cable: Cable) -> Planned:
    a, z, route = _end(fabric, cable.a), _end(fabric, cable.z), cable.route
    return {
        "cable_id": cable.id,
        **{f"a_{name}": value for name, value in a.items()},
        **{f"z_{name}": value for name, value in z.items()},
        "a_label": f"{_label(a)} / {_label(z)}",
        "z_label": f"{_label(z)} / {_label(a)}",
        "a_optic": cable.a_optic,
        "z_optic": cable.z_optic,
        "speed_gbps": cable.gbps,
        "medium": str(cable.medium),
        "length_m": float(cable.length_m),
        "need_m": round(float(cable.need_m), 2),
        "part": cable.part,
        "bundle": cable.bundle,
        "role": str(cable.role),
        "assembly": cable.assembly,
        "pull": cable.pull,
        "trunk": "" if route is None else route.trunk,
        "a_panel": "" if route is None else route.a.panel,
        "a_position": "" if route is None else route.a.position,
        "z_panel": "" if route is None else route.z.panel,
        "z_position": "" if route is None else route.z.position,
    }


def _end(fabric: Fabric, port: Port) -> dict[str, Value]:
    place = fabric.device_place(port.device)
    guid = None if fabric.is_ethernet else fabric.guid(port)
    source = "" if guid is None else "placeholder" if guid.placeholder else "asset"
    return {
        "rack": place.rack,
        "unit": place.unit,
        "device": port.device,
        "port": fabric.port_name(port),
        "guid": "" if guid is None else str(guid),
        "guid_source": source,
    }


def _label(end: Mapping[str, Value]) -> str:
    """Return rack, unit and port, as TIA-606 names an end."""
    return f"{end['rack']}-U{end['unit']:02d}:{end['port']}"


def _labels(cable: Planned) -> Iterator[Planned]:
    ends = {side: str(cable[f"{side}_label"]).partition(" / ")[0] for side in "az"}
    for near, far in ("az", "za"):
        yield {
            "pull": cable["pull"],
            "cable_id": cable["cable_id"],
            "end": near,
            "near": ends[near],
            "far": ends[far],
        }


def _sheets(cables: list[Planned]) -> dict[str, list[Planned]]:
    """Return the rows of each rack's sheet: every cable that ends there, once."""
    sheets: dict[str, list[Planned]] = {}
    both = ("pull", "cable_id", "medium", "length_m", "part", "bundle")
    for cable in cables:
        for near, far in ("az", "za"):
            if near == "z" and cable["z_rack"] == cable["a_rack"]:
                continue
            row = {name: cable[name] for name in both}
            row |= {f"near_{name}": cable[f"{near}_{name}"] for name in ("unit", "device", "port")}
            row |= {f"far_{n}": cable[f"{far}_{n}"] for n in ("rack", "unit", "device", "port")}
            row["near_optic"] = cable[f"{near}_optic"]
            row["near_label"], row["far_label"] = cable[f"{near}_label"], cable[f"{far}_label"]
            sheets.setdefault(str(cable[f"{near}_rack"]), []).append(row)
    return sheets


def _trunks(fabric: Fabric) -> list[Planned]:
    unit = {fitting.name: fitting.place.unit for fitting in fabric.fittings}
    through: dict[str, list[Cable]] = {}
    for cable in fabric.cables:
        if cable.route is not None:
            through.setdefault(cable.route.trunk, []).append(cable)
    return [
        {
            "pull": through[trunk.id][0].pull,
            "trunk": trunk.id,
            "part": trunk.part,
            "fibres": trunk.fibres,
            "length_m": float(trunk.length_m),
            "a_panel": trunk.a.panel,
            "a_unit": unit[trunk.a.panel],
            "a_position": trunk.a.position,
            "z_panel": trunk.z.panel,
            "z_unit": unit[trunk.z.panel],
            "z_position": trunk.z.position,
            "positions": trunk.positions,
            "links": len(through[trunk.id]),
        }
        for trunk in fabric.trunks
    ]


def _power(fabric: Fabric) -> list[Planned]:
    of_device = feeds(fabric)
    rows: list[Planned] = []
    devices: list[Switch | Node] = [*fabric.switches, *fabric.nodes]
    for device in devices:
        supplies = device.model.power_supplies
        rows.append(
            {
                "device": device.name,
                "rack": device.place.rack,
                "unit": device.place.unit,
                "feeds": "+".join(of_device[device.name]),
                "supplies": "" if supplies is None else supplies.fitted,
                "needed": "" if supplies is None else supplies.needed,
                "power_w": float(device.model.rack_power_w),
            }
        )
    return rows


def _items(fabric: Fabric) -> list[Planned]:
    return [
        {
            "kind": item.kind,
            "part": item.part,
            "description": item.description,
            "length_m": "" if item.length_m is None else f"{item.length_m:g}",
            "quantity": item.quantity,
            "spares": item.spares,
            "total": item.quantity + item.spares,
            "power_w_each": round(float(item.power_w), 1),
        }
        for item in materials(fabric)
    ]


def _racks(fabric: Fabric) -> list[Planned]:
    limits = fabric.intent.racks
    return [
        {
            "rack": rack.name,
            "row": rack.row_name,
            "column": rack.place.column + 1,
            "devices": sum(box.kind != "fitting" for box in rack.boxes),
            "units_used": sum(box.rack_units for box in rack.boxes),
            "units": limits.units,
            "power_kw": round(sum(box.power_w for box in rack.boxes) / 1000, 3),
            "limit_kw": float(limits.power_kw),
            "heat_btu_per_h": round(rack.heat_btu_per_h),
        }
        for rack in racks(fabric)
    ]


def _printed(path: str, text: str, labels: list[Planned]) -> Iterator[Finding]:
    """Yield what a label printer would print otherwise: ZPL II, a form and what fills it."""
    form, *formats = [(match[1], match.start()) for match in _FORMAT.finditer(text)] or [("", 0)]
    yield from _form(path, form[0])
    planned = {f"{row['cable_id']} {row['near']}": {"far": row["far"]} for row in labels}
    pulls = {f"{row['cable_id']} {row['near']}": row["pull"] for row in labels}
    seen: list[Row] = []
    line, at = 1, 0
    last: Value = 0
    for body, start in formats:
        line, at = line + text.count("\n", at, start), start
        fields = {match[1]: match[2] for match in _FIELD.finditer(body)}
        if not body.startswith("^XFR:CABLE.ZPL^FN") or tuple(sorted(fields)) != LABEL_FIELDS:
            yield fault(path, "does not fill fields 1 to 4 of the form CABLE.ZPL", line)
            continue
        cable = fields["2"]
        key = f"{cable} {fields['3']}"
        if fields["1"] != f"QA,{cable}":
            yield fault(path, f"{key}: the QR code holds {fields['1']}, planned QA,{cable}", line)
        seen.append(Row(key, {"far": fields["4"]}, line))
        pull = pulls.get(key, last)
        if isinstance(pull, int) and isinstance(last, int) and pull < last:
            yield fault(path, f"{key}: is printed after cables that are pulled later", line)
        last = pull
    yield from row_findings(path, planned, seen)
    outside = _FORMAT.sub("", text).strip()
    if outside:
        yield fault(path, f"text outside of a format (^XA to ^XZ): {outside[:40]}")


def _form(path: str, form: str) -> Iterator[Finding]:
    """Yield what is wrong with the form: its name, its size, its fields."""
    width, length = LABEL_DOTS
    for command in ("^DFR:CABLE.ZPL^FS", "^CI28", f"^PW{width}\n", f"^LL{length}\n"):
        if command not in form:
            yield fault(path, f"the form has no {command.strip()}", 1)
    boxes = [(int(m[1]), int(m[2]), m[3]) for m in _BOX.finditer(form)]
    if sorted(number for _, _, number in boxes) != list(LABEL_FIELDS):
        yield fault(path, "the form does not have fields 1 to 4, each once", 1)
    for x, y, number in boxes:
        if x >= width or y >= length:
            yield fault(path, f"field {number} stands at {x},{y}, beyond {width} x {length}", 1)
