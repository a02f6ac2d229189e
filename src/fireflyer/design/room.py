"""Where each device stands, and how far a cable has to go from one to another.

Network racks stand in the middle of some rows, node racks everywhere else; every node rack
has the same mix. A device's rack follows from its number and the intent's `racks` alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fireflyer.design.network_racks import Group, rack_of_each, stacked
from fireflyer.errors import Problem
from fireflyer.load import Site
from fireflyer.model.fabric import Fitting, Place
from fireflyer.model.intent import Racks

KEY = "cluster.racks"


@dataclass(frozen=True, slots=True)
class Room:
    """The racks of a site. Zones take turns with rows, so that none grows into another."""

    racks: Racks
    zones: tuple[str, ...]

    @property
    def middle(self) -> int:
        """Number of node racks to the left of a row's network racks."""
        return (self.racks.per_row - self.racks.network.per_row) // 2

    def place(self, zone: int, row: int, column: int, unit: int) -> Place:
        """Return the place in a zone's row, both counted from 0."""
        name = f"{self.zones[zone]}-r{row + 1:02d}-{column + 1:02d}"
        return Place(name, unit, row * len(self.zones) + zone, column)

    def network(
        self, zone: int, groups: Sequence[Group]
    ) -> tuple[Mapping[str, Place], Sequence[Fitting]]:
        """Return the places of a zone's network devices, and the cable managers between them."""
        network = self.racks.network
        rack_of = rack_of_each(groups, network.rows, network.per_row)
        places: dict[str, Place] = {}
        fittings: list[Fitting] = []
        units = network.cable_managers.units
        for rack in sorted(set(rack_of.values())):
            row, column = divmod(rack, network.per_row)
            number = 0
            for name, unit in stacked(groups, rack, rack_of, network.cable_managers):
                place = self.place(zone, network.first_row - 1 + row, self.middle + column, unit)
                if name:
                    places[name] = place
                    continue
                number += 1
                part, text = f"cable-manager-{units}u", f"horizontal cable manager, {units}U"
                fittings.append(Fitting(f"{place.rack}-cm{number:02d}", part, text, place, units))
        return places, fittings

    def node(self, zone: int, rack: int, unit: int) -> Place:
        """Return a place in the zone's node rack number `rack`, counted from 0."""
        racks, network = self.racks, self.racks.network
        before = (network.first_row - 1) * racks.per_row
        beside = racks.per_row - network.per_row
        if rack < before:
            row, column = divmod(rack, racks.per_row)
        elif rack < before + network.rows * beside:
            row, column = divmod(rack - before, beside)
            row += network.first_row - 1
            column += network.per_row if column >= self.middle else 0
        else:
            row, column = divmod(rack - before - network.rows * beside, racks.per_row)
            row += network.first_row - 1 + network.rows
        return self.place(zone, row, column, unit)

    def holds_network(self, place: Place) -> bool:
        """Return whether a place is in a network rack."""
        network = self.racks.network
        row = place.row // len(self.zones) - (network.first_row - 1)
        return row >= 0 and 0 <= place.column - self.middle < network.per_row and row < network.rows


@dataclass(frozen=True, slots=True)
class Box:
    """Something that stands in a rack."""

    place: Place
    rack_units: int
    power_w: float
    """The most it may draw, as far as that is known."""


def room_problems(site: Site, zones: Sequence[Sequence[Group]]) -> list[Problem]:
    """Return what is wrong with the floor layout; `zones` stand in each zone's network racks."""
    racks, at = site.cluster.racks, site.document.problem
    network, key = racks.network, f"{KEY}.network"
    problems = _empty_rack_problems(site)
    if network.per_row > racks.per_row:
        limit = f"a row has {racks.per_row} racks"
        remedy = f"lower it to at most {racks.per_row}, or raise racks.per_row"
        return [*problems, at(f"{key}.per_row", network.per_row, limit, remedy)]
    devices = max(sum(len(group.names) for group in groups) for groups in zones)
    wanted = -(-devices // network.devices)
    if wanted > network.rows * network.per_row:
        limit = (
            f"the {devices} switches and management nodes of a zone take {wanted} racks of"
            f" {network.devices}, {network.rows} row(s) of {network.per_row} hold"
            f" {network.rows * network.per_row}"
        )
        remedy = f"raise it to {-(-wanted // network.per_row)}, or raise racks.network.per_row"
        problems.append(at(f"{key}.rows", network.rows, limit, remedy))
    else:
        most = max(
            max(Counter(rack_of_each(groups, network.rows, network.per_row).values()).values())
            for groups in zones
        )
        if most > network.devices:
            limit = f"an even mix of every layer puts {most} devices in one network rack"
            remedy = f"raise it to {most}, or raise racks.network.per_row"
            problems.append(at(f"{key}.devices", network.devices, limit, remedy))
    for index, column in enumerate(racks.cross_columns):
        if column > racks.per_row:
            limit = f"a row has {racks.per_row} racks"
            remedy = f"name columns from 1 to {racks.per_row}"
            problems.append(at(f"{KEY}.cross_columns.{index}", column, limit, remedy))
    return problems


def _empty_rack_problems(site: Site) -> list[Problem]:
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


def rack_problems(site: Site, room: Room, boxes: Iterable[Box]) -> list[Problem]:
    """Return racks that are too high or may draw too much.

    One problem for each kind of rack and limit: the worst rack is named.
    """
    racks, at = site.cluster.racks, site.document.problem
    content: dict[str, list[Box]] = {}
    for box in boxes:
        content.setdefault(box.place.rack, []).append(box)
    worst: dict[tuple[str, str], tuple[float, str, int]] = {}
    for rack, held in content.items():
        kind = "network.devices" if room.holds_network(held[0].place) else "nodes"
        top = max(box.place.unit + box.rack_units - 1 for box in held)
        watts = sum(box.power_w for box in held)
        for limit, value in (("units", float(top)), ("watts", watts)):
            if value > worst.get((kind, limit), (0.0, "", 0))[0]:
                worst[kind, limit] = (value, rack, len(held))
    problems = []
    for (kind, limit), (value, rack, count) in worst.items():
        what = f"what stands in rack {rack} ({count} in all)"
        if limit == "units" and value > racks.units:
            text = f"{what} takes {value:g} units, a rack has {racks.units}"
            problems.append(at(f"{KEY}.{kind}", None, text, "put fewer in a rack"))
        if limit == "watts" and value > racks.power_kw * 1000:
            text = f"{what} may draw {value / 1000:g} kW, a rack has {racks.power_kw:g} kW"
            remedy = "put fewer in a rack, or raise racks.power_kw"
            problems.append(at(f"{KEY}.{kind}", None, text, remedy))
    return problems


def panel_problems(site: Site, panels: Iterable[Fitting]) -> list[Problem]:
    """Return the highest rack that has no room for its patch panels; none if all have."""
    units = site.cluster.racks.units
    worst = max(panels, key=lambda panel: panel.place.unit + panel.rack_units, default=None)
    if worst is None or (top := worst.place.unit + worst.rack_units - 1) <= units:
        return []
    limit = f"with its patch panels rack {worst.place.rack} takes {top} units, a rack has {units}"
    remedy = "raise it, so that fewer links run through trunks, or put fewer devices in a rack"
    trunks = site.cluster.cabling.trunks
    from_m = trunks.from_m if trunks is not None else None
    return [site.document.problem("cluster.cabling.trunks.from_m", from_m, limit, remedy)]


class Trays:
    """The ways of cables: down a rack, or up to the tray, along, and down."""

    def __init__(self, racks: Racks) -> None:
        """Keep what every cable needs of the room."""
        self._racks = racks
        self._slack_m = 2 * racks.slack_m
        self._top = racks.units
        self._cross = tuple(column - 1 for column in racks.cross_columns)

    def run_m(self, a: Place, z: Place) -> float:
        """Return the metres in trays between two racks, 0 within one."""
        if a.row == z.row or not self._cross:
            columns = abs(a.column - z.column)
        else:
            columns = min(abs(a.column - c) + abs(c - z.column) for c in self._cross)
        return columns * self._racks.pitch_m + abs(a.row - z.row) * self._racks.row_pitch_m

    def need_m(self, a: Place, z: Place, run_m: float) -> float:
        """Return the length that a cable between two places needs, slack included."""
        racks = self._racks
        if a.rack == z.rack:
            return abs(a.unit - z.unit) * racks.unit_m + self._slack_m
        up = (2 * self._top - a.unit - z.unit) * racks.unit_m + 2 * racks.tray_m
        return up + run_m + self._slack_m
