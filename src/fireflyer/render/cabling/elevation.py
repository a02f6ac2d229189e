"""Front views of the racks, one drawing a row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from fireflyer.design.materials import Box, Rack
from fireflyer.model.fabric import Fabric
from fireflyer.render.template import render

UNIT_PX, RACK_PX, GAP_PX, HEAD_PX, MARGIN_PX = 14, 190, 34, 56, 20


@dataclass(frozen=True, slots=True)
class DrawnBox:
    """A device as it is drawn."""

    y: int
    text_y: int
    height: int
    kind: str
    text: str
    unit: str


@dataclass(frozen=True, slots=True)
class DrawnRack:
    """A rack as it is drawn."""

    x: int
    text_x: int
    name: str
    power: str
    boxes: tuple[DrawnBox, ...]


def elevations(fabric: Fabric, racks: Iterable[Rack]) -> Iterator[tuple[str, str]]:
    """Yield the name and SVG of each row; racks stand in order of their columns."""
    units, limit_kw = fabric.intent.racks.units, fabric.intent.racks.power_kw
    for row, members in groupby(racks, key=attrgetter("row_name")):
        drawn = [
            DrawnRack(
                x=(x := MARGIN_PX + number * (RACK_PX + GAP_PX)),
                text_x=x + RACK_PX // 2,
                name=rack.name,
                power=f"{rack.power_w / 1000:.1f} of {limit_kw:g} kW, {rack.rack_units} of"
                f" {units} U",
                boxes=tuple(_box(box, units) for box in rack.boxes),
            )
            for number, rack in enumerate(members)
        ]
        yield (
            f"elevations/{row}.svg",
            render(
                "cabling/elevation.svg.j2",
                title=f"{fabric.intent.name}, row {row}",
                width=2 * MARGIN_PX + len(drawn) * (RACK_PX + GAP_PX),
                height=HEAD_PX + units * UNIT_PX + MARGIN_PX,
                top=HEAD_PX,
                rack_width=RACK_PX,
                rack_height=units * UNIT_PX,
                racks=drawn,
            ),
        )


def _box(box: Box, units: int) -> DrawnBox:
    lowest = HEAD_PX + (units - box.unit + 1) * UNIT_PX
    height = box.rack_units * UNIT_PX
    return DrawnBox(
        y=lowest - height,
        text_y=lowest - height // 2 + 4,
        height=height,
        kind=box.kind,
        text=f"{box.name}, {box.power_w:g} W",
        unit=f"{box.unit}",
    )
