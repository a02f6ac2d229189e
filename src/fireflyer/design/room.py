"""Where each device stands, and how long and of what kind each cable is.

A zone's first row holds its network racks, the rows after it its node racks; every node
rack has the same mix. A node's rack follows from its number alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from fireflyer.errors import Problem
from fireflyer.load import Site
from fireflyer.model.fabric import Place
from fireflyer.model.hardware import CableFamily, CableOffer
from fireflyer.model.intent import Racks

KEY = "cluster.racks"


@dataclass(frozen=True, slots=True)
class Load:
    """What one rack holds."""

    units: int
    watts: float
    what: str


@dataclass(frozen=True, slots=True)
class Room:
    """The racks of a site."""

    racks: Racks
    rows_per_zone: int
    zones: tuple[str, ...]

    def place(self, zone: int, row: int, column: int, unit: int) -> Place:
        """Return the place in a zone's row, both counted from 0."""
        name = f"{self.zones[zone]}-r{row + 1:02d}-{column + 1:02d}"
        return Place(name, unit, zone * self.rows_per_zone + row, column)

    def network(self, zone: int, slot: int, heights: int) -> Place:
        """Return the place of the zone's network device number `slot`."""
        rack, position = divmod(slot, self.racks.switches)
        return self.place(zone, 0, rack, position * heights + 1)

    def node(self, zone: int, rack: int, unit: int) -> Place:
        """Return a place in the zone's node rack number `rack`."""
        row, column = divmod(rack, self.racks.per_row)
        return self.place(zone, 1 + row, column, unit)


def make_room(site: Site, zones: tuple[str, ...]) -> Room:
    """Return the room that the intent's racks make."""
    racks, cluster = site.cluster.racks, site.cluster
    node_racks = max(
        ceil(ceil(cluster.compute.nodes / len(zones)) / max(racks.nodes.compute, 1)),
        ceil(ceil(cluster.storage.nodes / len(zones)) / max(racks.nodes.storage, 1)),
    )
    return Room(racks=racks, rows_per_zone=1 + ceil(node_racks / racks.per_row), zones=zones)


def rack_problems(site: Site, network_devices: int) -> list[Problem]:
    """Return racks that are too high, draw too much, or are too many for a row."""
    racks, at = site.cluster.racks, site.document.problem
    nodes, switches = site.catalogue.nodes, site.catalogue.switches
    compute, storage = nodes[site.cluster.compute.model], nodes[site.cluster.storage.model]
    problems = [
        at(
            f"{KEY}.nodes.{role}",
            0,
            f"leaves no rack for {count} {role} nodes",
            "set it to 1 or more",
        )
        for role, per_rack, count in (
            ("compute", racks.nodes.compute, site.cluster.compute.nodes),
            ("storage", racks.nodes.storage, site.cluster.storage.nodes),
        )
        if count and not per_rack
    ]
    mixed = Load(
        units=racks.nodes.compute * compute.rack_units + racks.nodes.storage * storage.rack_units,
        watts=racks.nodes.compute * compute.power_w + racks.nodes.storage * storage.power_w,
        what=f"{racks.nodes.compute} compute and {racks.nodes.storage} storage nodes",
    )
    leaf = switches[site.cluster.fabric.leaf.model]
    network = Load(
        units=racks.switches * leaf.rack_units,
        watts=racks.switches * leaf.power_w,
        what=f"{racks.switches} switches",
    )
    for key, load in ((f"{KEY}.nodes", mixed), (f"{KEY}.switches", network)):
        if load.units > racks.units:
            limit = f"{load.what} take {load.units} units, a rack has {racks.units}"
            problems.append(at(key, None, limit, "put fewer in a rack"))
        if load.watts > racks.power_kw * 1000:
            limit = f"{load.what} draw {load.watts / 1000:g} kW, a rack has {racks.power_kw:g} kW"
            problems.append(at(key, None, limit, "put fewer in a rack, or raise racks.power_kw"))
    if -(-network_devices // racks.switches) > racks.per_row:
        limit = f"{network_devices} switches and management nodes of a zone do not fit one row"
        problems.append(at(f"{KEY}.per_row", racks.per_row, limit, "raise it"))
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
    return site.document.problem(KEY, None, limit, "use longer rows or a smaller pitch")
