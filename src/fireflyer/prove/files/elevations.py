"""Front views of the racks (SVG): what a person sees in them against the places of the fabric."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from xml.etree import ElementTree

from fireflyer.design.materials import Rack
from fireflyer.model.fabric import Fabric
from fireflyer.prove.files.source import read_xml
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Row, Value, fault, row_findings

_SVG = "{http://www.w3.org/2000/svg}"


def elevation_findings(fabric: Fabric, racks: Sequence[Rack], tree: Path) -> Iterator[Finding]:
    """Yield where the drawing of a row differs from its racks."""
    for row, members in groupby(racks, key=lambda rack: rack.row_name):
        path, stand = f"cabling/elevations/{row}.svg", list(members)
        yield from read_xml(tree, path, lambda root: _drawing(fabric, row, stand, path, root))  # noqa: B023 - read at once


def _drawing(
    fabric: Fabric, row: str, racks: Sequence[Rack], path: str, root: ElementTree.Element
) -> Iterator[Finding]:
    title = f"{fabric.intent.name}, row {row}"
    heads = [root.findtext(f"{_SVG}title"), root.findtext(f"{_SVG}text")]
    if heads != [title, title]:
        yield fault(path, f"is titled {heads[0]} and {heads[1]}, planned {title}")
    groups = root.findall(f"{_SVG}g")
    names = [str(group.findtext(f"{_SVG}text")) for group in groups]
    if names != [rack.name for rack in racks]:
        planned = ", ".join(rack.name for rack in racks)
        yield fault(path, f"shows the racks {', '.join(names)}, planned {planned}")
    plan = {rack.name: rack for rack in racks}
    right = 0.0
    for name, group in zip(names, groups, strict=True):
        if name not in plan:
            continue
        try:
            left, frame_right, seen = _read(fabric, group)
        except (ValueError, IndexError, KeyError, TypeError, ZeroDivisionError) as error:
            yield fault(path, f"{name}: its drawing cannot be read: {error}")
            continue
        if left < right or frame_right > _number(root.get("width")):
            yield fault(path, f"{name}: stands at {left:g}, over another rack or off the drawing")
        right = frame_right
        yield from row_findings(path, _planned(fabric, plan[name]), seen)


def _planned(fabric: Fabric, rack: Rack) -> dict[str, dict[str, Value]]:
    limits = fabric.intent.racks
    planned: dict[str, dict[str, Value]] = {
        rack.name: {
            "power_kw": round(rack.power_w / 1000, 1),
            "limit_kw": float(limits.power_kw),
            "units_used": rack.rack_units,
            "units": limits.units,
        }
    }
    for box in rack.boxes:
        role = "switch" if box.name in fabric.switch else "fitting"
        planned[box.name] = {
            "kind": str(fabric.node[box.name].role) if box.name in fabric.node else role,
            "power_w": float(box.power_w),
            "unit": box.unit,
            "drawn at unit": float(box.unit),
            "drawn units": float(box.rack_units),
            "drawn across": (True, True),
            "texts beside it": (True, True),
        }
    return planned


def _read(fabric: Fabric, group: ElementTree.Element) -> tuple[float, float, list[Row]]:
    """Return the left and the right of a rack, and its rows: itself, then each device."""
    texts, rects = group.findall(f"{_SVG}text"), group.findall(f"{_SVG}rect")
    frame, *drawn = rects
    units = fabric.intent.racks.units
    left, top, wide, high = (_number(frame.get(name)) for name in ("x", "y", "width", "height"))
    unit_high, bottom = high / units, top + high
    numbers = re.fullmatch(r"([\d.]+) of ([\d.]+) kW, (\d+) of (\d+) U", str(texts[1].text))
    if numbers is None:
        raise ValueError(f"{texts[1].text!r} names no power")
    rows = [
        Row(
            str(texts[0].text),
            {
                "power_kw": float(numbers[1]),
                "limit_kw": float(numbers[2]),
                "units_used": int(numbers[3]),
                "units": int(numbers[4]),
            },
        )
    ]
    for rect, text, unit in zip(drawn, texts[2::2], texts[3::2], strict=True):
        name, _, power = str(text.text).partition(", ")
        y, tall = _number(rect.get("y")), _number(rect.get("height"))
        beside = [y <= _number(label.get("y")) <= y + tall for label in (text, unit)]
        centre = left + wide / 2
        across = (
            _number(rect.get("x")) == _number(unit.get("x")) == left
            and _number(text.get("x")) == centre == _number(texts[0].get("x")),
            _number(rect.get("width")) == wide,
        )
        rows.append(
            Row(
                name,
                {
                    "kind": str(rect.get("class")).removeprefix("box "),
                    "power_w": float(power.removesuffix(" W")),
                    "unit": int(str(unit.text)),
                    "drawn at unit": (bottom - y - tall) / unit_high + 1,
                    "drawn units": tall / unit_high,
                    "drawn across": across,
                    "texts beside it": tuple(beside),
                },
            )
        )
    return left, left + wide, rows


def _number(text: str | None) -> float:
    if text is None:
        raise ValueError("a number is missing")
    return float(text)
