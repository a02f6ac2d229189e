"""NetBox's cables."""

from __future__ import annotations

from typing import Final

from fireflyer.render.exports.netbox_interfaces import cable_type
from fireflyer.render.exports.netbox_table import Row, Table
from fireflyer.render.exports.wiring import Link, Wiring

_INTERFACE: Final = "dcim.interface"


def cables(wiring: Wiring) -> Table:
    """Return every cable with its ends, type and length."""
    columns = (
        "side_a_site",
        "side_a_device",
        "side_a_type",
        "side_a_name",
        "side_b_site",
        "side_b_device",
        "side_b_type",
        "side_b_name",
        "type",
        "status",
        "label",
        "length",
        "length_unit",
    )
    site = wiring.fabric.intent.name
    kinds: dict[tuple[str, str], str] = {}

    def row(link: Link) -> Row:
        kind = kinds.get((link.medium, link.part))
        if kind is None:
            kind = kinds[link.medium, link.part] = cable_type(link.medium, link.part)
        return (
            site,
            link.a,
            _INTERFACE,
            link.a_port,
            site,
            link.z,
            _INTERFACE,
            link.z_port,
            kind,
            "planned",
            link.id,
            f"{link.length_m:g}",
            "m",
        )

    rows = [row(link) for link in wiring.links]
    return Table(folder="site", number=10, name="cables", columns=columns, rows=rows)
