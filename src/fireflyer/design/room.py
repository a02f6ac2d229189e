"""Where each device stands, and how long and of what kind each cable is.

A zone's first row holds its network racks, the rows after it its node racks; every node
rack has the same mix. A node's rack follows from its number alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fireflyer.errors import Problem
from fireflyer.load import Site
from fireflyer.model.fabric import Place
from fireflyer.model.hardware import CableFamily, CableOffer
from fireflyer.model.intent import Racks

KEY = "cluster.racks"


@dataclass(frozen=True, slots=True)
class Room:
    """The racks of a site. Zones take turns with rows, so that none grows into another."""

    racks: Racks
    zones: tuple[str, ...]

    def place(self, zone: int, row: int, column: int, unit: int) -> Place:
        """Return the place in a zone's row, both counted from 0."""
        name = f"{self.zones[zone]}-r{row + 1:02d}-{column + 1:02d}"
        return Place(name, unit, row * len(self.zones) + zone, column)

    def network(self, zone: int, heights: Sequence[int]) -> list[Place]:
        """Return the places of the zone's network devices, from the bottom of each rack up."""
        places: list[Place] = []
        unit = 1
        for slot, height in enumerate(heights):
            rack, position = divmod(slot, self.racks.switches)
            unit = 1 if position == 0 else unit
            places.append(self.place(zone, 0, rack, unit))
            unit += height
        return places

    def node(self, zone: int, rack: int, unit: int) -> Place:
        """Return a place in the zone's node rack number `rack`."""
        row, column = divmod(rack, self.racks.per_row)
        return self.place(zone, 1 + row, column, unit)


@dataclass(frozen=True, slots=True)
class Box:
    """Something that stands in a rack."""

    place: Place
    rack_units: int
    power_w: float


def empty_rack_problems(site: Site) -> list[Problem]:
    """Return the roles that have nodes and no place in a node rack."""
    cluster, key = site.cluster, f"{KEY}.nodes"
    return [
        site.document.problem(
            f"{key}.{role}", 0, f"leaves no rack for {count} {role} nodes", "set it to 1 or more"
        )
        for role, per_rack, count in (
            ("compute", cluster.racks.nodes.compute, cluster.compute.nodes),
            ("storage", cluster.racks.nodes.storage, cluster.storage.nodes),
        )
        if count and not per_rack
    ]


def rack_problems(site: Site, boxes: Iterable[Box]) -> list[Problem]:
    """Return racks that are too high, draw too much, or stand past the end of a row.

    One problem for each kind of rack and limit: the worst rack is named.
    """
    racks, at = site.cluster.racks, site.document.problem
    content: dict[str, list[Box]] = {}
    for box in boxes:
        content.setdefault(box.place.rack, []).append(box)
    worst: dict[tuple[str, str], tuple[float, str, int]] = {}
    columns = 0
    for rack, held in content.items():
        kind = "switches" if held[0].place.row < site.cluster.fabric.zones else "nodes"
        top = max(box.place.unit + box.rack_units - 1 for box in held)
        watts = sum(box.power_w for box in held)
        for limit, value in (("units", float(top)), ("watts", watts)):
            if value > worst.get((kind, limit), (0.0, "", 0))[0]:
                worst[kind, limit] = (value, rack, len(held))
        columns = max(columns, held[0].place.column + 1)
    problems = []
    for (kind, limit), (value, rack, count) in worst.items():
        what = f"what stands in rack {rack} ({count} in all)"
        if limit == "units" and value > racks.units:
            text = f"{what} takes {value:g} units, a rack has {racks.units}"
            problems.append(at(f"{KEY}.{kind}", None, text, "put fewer in a rack"))
        if limit == "watts" and value > racks.power_kw * 1000:
            text = f"{what} draws {value / 1000:g} kW, a rack has {racks.power_kw:g} kW"
            remedy = "put fewer in a rack, or raise racks.power_kw"
            problems.append(at(f"{KEY}.{kind}", None, text, remedy))
    if columns > racks.per_row:
        text = f"the switches and management nodes of a zone take {columns} racks of its first row"
        problems.append(at(f"{KEY}.per_row", racks.per_row, text, f"raise it to {columns}"))
    return problems


def length_m(racks: Racks, a: Place, z: Place) -> float:
    """Return the length a cable needs: down the rack, or up to the tray, along and down."""
    slack = 2 * racks.slack_m
    if a.rack == z.rack:
        return abs(a.unit - z.unit) * racks.unit_m + slack
    up = (racks.units - a.unit + racks.units - z.unit) * racks.unit_m
    along = abs(a.column - z.column) * racks.pitch_m + abs(a.row - z.row) * racks.row_pitch_m
    return up + along + slack


def choose(family: CableFamily, need_m: float) -> tuple[CableOffer, float] | None:
    """Return the first offer that reaches and its shortest sold length, None if none does."""
    for offer in family.offers:
        if need_m <= offer.maximum_m:
            for sold in offer.lengths_m:
                if sold >= need_m:
                    return offer, sold
    return None


def length_problem(site: Site, family: CableFamily, longest: Mapping[str, float]) -> Problem | None:
    """Return the problem of cables that nobody sells, the worst one named."""
    if not longest:
        return None
    cable, need = max(longest.items(), key=lambda item: (item[1], item[0]))
    reach = max(offer.lengths_m[-1] for offer in family.offers)
    limit = (
        f"{len(longest)} cables are longer than any sold for {family.gbps} Gb/s"
        f" ({reach:g} m); {cable} needs {need:.1f} m"
    )
    remedy = "lower racks.row_pitch_m or racks.pitch_m, or raise racks.per_row"
    return site.document.problem(KEY, None, limit, remedy)
