"""Structured cabling: which links run through trunks and patch panels, and where these are.

Links of fibre between the same two racks share trunks where the intent asks for it. A panel
stands above what its rack holds; a trunk takes neighbouring positions of one panel at each end.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil
from typing import NamedTuple

from fireflyer.design.room import Trays
from fireflyer.load import Site
from fireflyer.model.cable_parts import CableOffer, TrunkOffer
from fireflyer.model.fabric import Fitting, PanelPort, Place, Route, Trunk


class TrunkLink(NamedTuple):
    """A link of fibre between two racks that may run through a trunk."""

    a: Place
    z: Place
    run_m: float
    bundle: str


@dataclass(frozen=True, slots=True)
class Routed:
    """A link that runs through a trunk."""

    route: Route
    need_m: float
    length_m: float
    first: int
    """Index of the first link of the same trunk."""


@dataclass(slots=True)
class _Panels:
    """The panels of one rack."""

    top: Place
    """Where the first one stands."""
    offer: TrunkOffer
    used: int = 0
    """Positions that are taken, or skipped at the end of a panel."""

    def first_free(self, positions: int) -> int:
        """Return the first of so many free positions of one panel, from 0."""
        left = -self.used % self.offer.panel_positions
        return self.used if positions <= left or left == 0 else self.used + left

    def port(self, position: int) -> PanelPort:
        panel, place = divmod(position, self.offer.panel_positions)
        return PanelPort(f"{self.top.rack}-pp{panel + 1:02d}", place + 1)

    def unit(self, position: int) -> Place:
        """Return the place of the panel of a position."""
        panel = position // self.offer.panel_positions
        top = self.top
        return Place(top.rack, top.unit + panel * self.offer.panel_units, top.row, top.column)

    def fittings(self) -> Iterator[Fitting]:
        offer = self.offer
        text = f"patch panel, {offer.panel_positions} connectors, {offer.panel_units}U"
        for position in range(0, self.used, offer.panel_positions):
            name = self.port(position).panel
            yield Fitting(name, offer.panel, text, self.unit(position), offer.panel_units)


@dataclass(slots=True)
class Trunking:
    """The trunks, panels and routes of a site."""

    routes: dict[int, Routed] = field(default_factory=dict)
    """By index of the link."""
    trunks: list[Trunk] = field(default_factory=list)
    panels: list[Fitting] = field(default_factory=list)


def trunking(
    site: Site, links: Mapping[int, TrunkLink], offer: CableOffer, tops: Mapping[str, int]
) -> Trunking:
    """Return the trunks of a site.

    Args:
        site: with `cabling.trunks`.
        links: links of fibre by their index, as many as may run through trunks.
        offer: the fibre that they are made of, with its trunks.
        tops: the first unit above what stands in each rack.
    """
    return _Planner(site, offer, tops).plan(links)


class _Planner:
    """Takes bundle after bundle."""

    def __init__(self, site: Site, offer: CableOffer, tops: Mapping[str, int]) -> None:
        wanted = site.cluster.cabling.trunks
        assert wanted is not None
        assert offer.trunk is not None
        self._wanted, self._offer, self._trunk, self._tops = wanted, offer, offer.trunk, tops
        self._trays = Trays(site.cluster.racks)
        self._panels: dict[str, _Panels] = {}
        self._leads: dict[int, tuple[float, float]] = {}
        self._found = Trunking()

    def plan(self, links: Mapping[int, TrunkLink]) -> Trunking:
        bundles: dict[str, list[int]] = {}
        for index, link in links.items():
            if link.run_m >= self._wanted.from_m and link.a.rack != link.z.rack:
                bundles.setdefault(link.bundle, []).append(index)
        for members in bundles.values():
            if len(members) >= self._wanted.min_links:
                for chunk in self._chunks(members):
                    self._route(chunk, links)
        self._found.panels = [f for panels in self._panels.values() for f in panels.fittings()]
        return self._found

    def _chunks(self, members: Sequence[int]) -> Iterator[Sequence[int]]:
        """Yield the links of each trunk: full ones of the largest, then the rest in one."""
        most = self._trunk.links[-1]
        cuts = [*range(0, len(members), most), len(members)]
        for first, last in pairwise(cuts):
            if last - first >= self._wanted.min_links:
                yield members[first:last]

    def _route(self, chunk: Sequence[int], links: Mapping[int, TrunkLink]) -> None:
        """Lead a trunk and its links; links that would be too long stay as they are."""
        sold = self._trunk.links
        size = bisect_left(sold, len(chunk))
        positions = sold[size]
        first = links[chunk[0]]
        low, high = sorted((first.a, first.z), key=lambda place: place.rack)
        ends = {place.rack: self._panels_of(place) for place in (low, high)}
        start = {rack: panels.first_free(positions) for rack, panels in ends.items()}
        panel = {rack: panels.unit(start[rack]) for rack, panels in ends.items()}
        need_m = self._trays.need_m(panel[low.rack], panel[high.rack], first.run_m)
        trunk_m = float(ceil(need_m))
        ports = {rack: panels.port(start[rack]) for rack, panels in ends.items()}
        routed: dict[int, Routed] = {}
        name = f"T{len(self._found.trunks) + 1:05d}"
        for offset, index in enumerate(chunk):
            a, z = links[index].a, links[index].z
            a_need, a_lead = self._lead(a, panel[a.rack])
            z_need, z_lead = self._lead(z, panel[z.rack])
            length_m = a_lead + trunk_m + z_lead
            if length_m > self._offer.reach_m:
                return
            a_port, z_port = ports[a.rack], ports[z.rack]  # all of a trunk are in one panel
            route = Route(
                name,
                PanelPort(a_port.panel, a_port.position + offset),
                PanelPort(z_port.panel, z_port.position + offset),
                a_lead,
                z_lead,
            )
            routed[index] = Routed(route, a_need + need_m + z_need, length_m, chunk[0])
        for rack, panels in ends.items():
            panels.used = start[rack] + positions
            self._panels[rack] = panels
        fibres = self._trunk.fibres[size]
        ends_at = ports[low.rack], ports[high.rack]
        self._found.trunks.append(
            Trunk(name, self._trunk.part, fibres, trunk_m, *ends_at, positions)
        )
        self._found.routes |= routed

    def _panels_of(self, place: Place) -> _Panels:
        known = self._panels.get(place.rack)
        top = Place(place.rack, self._tops[place.rack], place.row, place.column)
        return known or _Panels(top, self._trunk)

    def _lead(self, device: Place, panel: Place) -> tuple[float, float]:
        """Return what a lead within a rack needs, slack included, and the length sold."""
        units = abs(device.unit - panel.unit)
        if (known := self._leads.get(units)) is None:
            need_m, lengths = self._trays.need_m(device, panel, 0), self._offer.lengths_m
            sold_m = lengths[min(bisect_left(lengths, need_m), len(lengths) - 1)]
            known = self._leads[units] = need_m, sold_m
        return known
