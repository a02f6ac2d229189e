"""What people need to rack, buy, label and pull: lists, sheets, labels, drawings."""

from __future__ import annotations

from collections.abc import Iterator

from fireflyer.design.materials import materials, racks
from fireflyer.model.fabric import Fabric
from fireflyer.render.cabling.elevation import elevations
from fireflyer.render.cabling.ends import ends, in_pull_order
from fireflyer.render.cabling.labels import label_list, printer_file
from fireflyer.render.cabling.sheets import cable_list, rack_sheets, trunk_list
from fireflyer.render.cabling.tables import (
    ITEM_COLUMNS,
    POWER_COLUMNS,
    RACK_COLUMNS,
    as_csv,
    item_rows,
    power_rows,
    rack_rows,
)
from fireflyer.render.cabling.workbook import workbook


def files(fabric: Fabric) -> Iterator[tuple[str, str | bytes]]:
    """Yield every file for the people who build the site."""
    found = ends(fabric)
    yield "cables.csv", cable_list(fabric, found)
    if fabric.trunks:
        yield "trunks.csv", trunk_list(fabric)
    yield "power.csv", as_csv(POWER_COLUMNS, power_rows(fabric))
    ordered = in_pull_order(found)
    yield "labels.csv", label_list(ordered)
    yield "labels.zpl", printer_file(ordered)
    items, stand = item_rows(materials(fabric)), racks(fabric)
    rack_power = rack_rows(fabric, stand)
    yield "materials.csv", as_csv(ITEM_COLUMNS, items)
    yield "racks.csv", as_csv(RACK_COLUMNS, rack_power)
    yield "cables.xlsx", workbook(fabric.intent.name, ordered, items, rack_power)
    yield from elevations(fabric, stand)
    yield from rack_sheets(ordered)
