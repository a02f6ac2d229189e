"""The bill of materials and the power of every rack."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from fireflyer.design.materials import Item, Rack
from fireflyer.design.power import feeds
from fireflyer.model.fabric import Fabric, Node, Switch

Cell = str | int | float

ITEM_COLUMNS = (
    "kind",
    "part",
    "description",
    "length_m",
    "quantity",
    "spares",
    "total",
    "power_w_each",
)
RACK_COLUMNS = (
    "rack",
    "row",
    "column",
    "devices",
    "units_used",
    "units",
    "power_kw",
    "limit_kw",
    "heat_btu_per_h",
)
POWER_COLUMNS = ("device", "rack", "unit", "feeds", "supplies", "needed", "power_w")
"""Of `power.csv`; supplies are empty where they are not published."""


def power_rows(fabric: Fabric) -> list[tuple[Cell, ...]]:
    """Return the power feeds of every device, rack by rack from the bottom up."""
    devices: list[Switch | Node] = [*fabric.switches, *fabric.nodes]
    devices.sort(key=lambda device: (device.place.rack, device.place.unit))
    of_device = feeds(fabric)
    return [
        (
            device.name,
            device.place.rack,
            device.place.unit,
            "+".join(of_device[device.name]),
            supplies.fitted if (supplies := device.model.power_supplies) else "",
            supplies.needed if supplies else "",
            device.model.rack_power_w,
        )
        for device in devices
    ]


def item_rows(items: Iterable[Item]) -> list[tuple[Cell, ...]]:
    """Return the lines of the bill of materials."""
    return [
        (
            item.kind,
            item.part,
            item.description,
            "" if item.length_m is None else item.length_m,
            item.quantity,
            item.spares,
            item.total,
            round(item.power_w, 1),
        )
        for item in items
    ]


def rack_rows(fabric: Fabric, racks: Iterable[Rack]) -> list[tuple[Cell, ...]]:
    """Return what each rack holds, draws and gives off."""
    limits = fabric.intent.racks
    return [
        (
            rack.name,
            rack.row_name,
            rack.place.column + 1,
            len(rack.devices),
            rack.rack_units,
            limits.units,
            round(rack.power_w / 1000, 3),
            limits.power_kw,
            round(rack.heat_btu_per_h),
        )
        for rack in racks
    ]


def as_csv(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Return a table as CSV (RFC 4180, lines ended by a line feed)."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([[_shown(cell) for cell in row] for row in rows])
    return text.getvalue()


def _shown(cell: Cell) -> str:
    return f"{cell:g}" if isinstance(cell, float) else str(cell)
