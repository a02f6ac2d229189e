"""Which cable goes into which ports, how long it is, and in what order cables are pulled.

Ports that share a cage share what goes into it: links are chosen for together wherever they
meet in a cage of several ports. The first offer of the family that fits all of them, that
the intent allows and that reaches the farthest of them, is the one to buy.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fireflyer.design.room import Trays
from fireflyer.design.trunks import Trunking, TrunkLink, trunking
from fireflyer.design.wiring import Wire
from fireflyer.errors import IntentError, Problem
from fireflyer.load import Site
from fireflyer.model.cable_parts import CableFamily, CableOffer
from fireflyer.model.fabric import Cable, CableRole, Fitting, Node, Place, Port, Switch, Trunk

Kind = tuple[str, int]
"""A cage: its connector and the ports it holds."""


class Link(NamedTuple):
    """A wire whose ends are known."""

    wire: Wire
    a: Kind
    z: Kind
    a_cage: tuple[str, int]
    z_cage: tuple[str, int]
    run_m: float
    need_m: float
    bundle: str
    a_place: Place
    z_place: Place


class Choice(NamedTuple):
    """What is bought for one link."""

    offer: CableOffer
    length_m: float
    a_optic: str
    z_optic: str
    assembly: int
    """Index of the first link of the same cable."""


def cable_family(site: Site) -> CableFamily:
    """Return the cables of the site's technology and speed."""
    gbps = site.catalogue.switches[site.cluster.fabric.leaf.model].port_gbps
    return site.catalogue.cables[site.cluster.fabric.technology, gbps]


class Cabled(NamedTuple):
    """The cables of a site, in the order of the wires, and what they run through."""

    cables: tuple[Cable, ...]
    trunks: tuple[Trunk, ...]
    panels: tuple[Fitting, ...]


def cables(
    site: Site,
    wires: Iterable[Wire],
    switches: Sequence[Switch],
    nodes: Sequence[Node],
    fittings: Sequence[Fitting] = (),
) -> Cabled:
    """Return every cable; panels stand above devices and `fittings`.

    Raises:
        IntentError: with every kind of link that no cable can be bought for.
    """
    family = cable_family(site)
    links = list(_links(site, wires, switches, nodes))
    chooser = _Chooser(site, family, links)
    choices: list[Choice | None] = [None] * len(links)
    for group in _groups(links):
        for index, choice in zip(group, chooser.choose(group), strict=False):
            choices[index] = choice
    if problems := chooser.problems():
        raise IntentError(problems)
    chosen = [choice for choice in choices if choice is not None]
    through = _trunking(site, links, chosen, tops(switches, nodes, fittings))
    routes = through.routes
    pull = _pull_order(links, chosen, {index: routed.first for index, routed in routes.items()})
    made = (
        Cable(
            id=f"{link.wire.a.device}:{link.wire.a.number}",
            role=link.wire.role,
            a=link.wire.a,
            z=link.wire.z,
            gbps=family.gbps,
            medium=choice.offer.medium,
            need_m=link.need_m if routed is None else routed.need_m,
            length_m=choice.length_m if routed is None else routed.length_m,
            part=choice.offer.part,
            a_optic=choice.a_optic,
            z_optic=choice.z_optic,
            assembly=_id(links[choice.assembly]),
            bundle=link.bundle,
            pull=pull[choice.assembly if routed is None else routed.first],
            route=None if routed is None else routed.route,
        )
        for link, choice, routed in zip(
            links, chosen, map(routes.get, range(len(links))), strict=True
        )
    )
    return Cabled(tuple(made), tuple(through.trunks), tuple(through.panels))


def tops(
    switches: Sequence[Switch], nodes: Sequence[Node], fittings: Sequence[Fitting]
) -> Mapping[str, int]:
    """Return the first unit above what stands in each rack."""
    found: dict[str, int] = {}
    stand = [(switch.place, switch.model.rack_units) for switch in switches]
    stand += [(node.place, node.model.rack_units) for node in nodes]
    stand += [(fitting.place, fitting.rack_units) for fitting in fittings]
    for place, units in stand:
        found[place.rack] = max(found.get(place.rack, 1), place.unit + units)
    return found


def _trunking(
    site: Site, links: Sequence[Link], choices: Sequence[Choice], above: Mapping[str, int]
) -> Trunking:
    """Return the way of links through trunks, where the intent asks for them."""
    offers = {id(choice.offer): choice.offer for choice in choices if choice.offer.trunk}
    if site.cluster.cabling.trunks is None or not offers:
        return Trunking()
    (offer,) = offers.values()  # a family has one fibre
    fibres = {
        index: TrunkLink(link.a_place, link.z_place, link.run_m, link.bundle)
        for index, (link, choice) in enumerate(zip(links, choices, strict=True))
        if choice.offer is offer
    }
    return trunking(site, fibres, offer, above)


def _id(link: Link) -> str:
    return f"{link.wire.a.device}:{link.wire.a.number}"


def _links(
    site: Site, wires: Iterable[Wire], switches: Sequence[Switch], nodes: Sequence[Node]
) -> Iterator[Link]:
    trays = Trays(site.cluster.racks)
    places: dict[str, Place] = {switch.name: switch.place for switch in switches}
    places |= {node.name: node.place for node in nodes}
    cages: dict[str, Sequence[tuple[str, int, int]]] = {}
    """Connector, ports and number of the cage of each port of a device, from port 1."""
    of_model: dict[str, Sequence[tuple[str, int, int]]] = {}
    for switch in switches:
        model = switch.model
        if model.name not in of_model:
            of_model[model.name] = [
                (model.connector, model.ports_per_cage, model.cage(number + 1)[0])
                for number in range(model.ports)
            ]
        cages[switch.name] = of_model[model.name]
    for node in nodes:
        if node.model.name not in of_model:
            of_model[node.model.name] = [
                (nic.connector, 1, number) for number, nic in enumerate(node.model.nics, start=1)
            ]
        cages[node.name] = of_model[node.model.name]
    runs: dict[tuple[str, str], tuple[float, str]] = {}
    for wire in wires:
        a, z = places[wire.a.device], places[wire.z.device]
        racks = (a.rack, z.rack)
        if (known := runs.get(racks)) is None:
            bundle = "+".join(sorted({a.rack, z.rack}))  # the same from either end
            known = runs[racks] = (trays.run_m(a, z), bundle)
        run_m, bundle = known
        a_connector, a_ports, a_number = cages[wire.a.device][wire.a.number - 1]
        z_connector, z_ports, z_number = cages[wire.z.device][wire.z.number - 1]
        yield Link(
            wire=wire,
            a=(a_connector, a_ports),
            z=(z_connector, z_ports),
            a_cage=(wire.a.device, a_number),
            z_cage=(wire.z.device, z_number),
            run_m=run_m,
            need_m=trays.need_m(a, z, run_m),
            bundle=bundle,
            a_place=a,
            z_place=z,
        )


def _groups(links: Sequence[Link]) -> Iterator[list[int]]:
    """Yield the links that meet in cages of several ports, in order of their first."""
    of_cage: dict[tuple[str, int], list[int]] = {}
    for index, link in enumerate(links):
        for (_, ports), cage in ((link.a, link.a_cage), (link.z, link.z_cage)):
            if ports > 1:
                of_cage.setdefault(cage, []).append(index)
    seen = bytearray(len(links))
    for first, link in enumerate(links):
        if seen[first]:
            continue
        seen[first] = 1
        if link.a[1] == link.z[1] == 1:
            yield [first]
            continue
        group, at = [first], 0
        while at < len(group):
            met = links[group[at]]
            at += 1
            for cage in (met.a_cage, met.z_cage):
                for index in of_cage.get(cage, ()):
                    if not seen[index]:
                        seen[index] = 1
                        group.append(index)
        yield sorted(group)


@dataclass(frozen=True, slots=True)
class _Fit:
    """An offer that fits a group's cages, with the transceiver for each kind of cage."""

    offer: CableOffer
    optics: Mapping[Kind, str]
    allowed: bool


class _Chooser:
    """Chooses for group after group and remembers for what nothing could be bought."""

    def __init__(self, site: Site, family: CableFamily, links: Sequence[Link]) -> None:
        self._site, self._family, self._links = site, family, links
        self._fits: dict[tuple[object, ...], list[_Fit]] = {}
        self._unsold: dict[tuple[str, CableRole], list[int]] = {}

    def choose(self, group: Sequence[int]) -> Iterator[Choice]:
        """Yield the choice for each link of a group, nothing if none can be bought."""
        members = [self._links[index] for index in group]
        need_m = max(link.need_m for link in members)
        fits = self._fitting(members)
        for fit in fits:
            if fit.allowed and need_m <= fit.offer.reach_m:
                offer, sold = fit.offer, fit.offer.lengths_m
                fibre = offer.medium == "fibre"
                for index, link in zip(group, members, strict=True):
                    wanted = link.need_m if fibre else need_m
                    length = sold[bisect_left(sold, wanted)]
                    a, z = fit.optics.get(link.a, ""), fit.optics.get(link.z, "")
                    yield Choice(offer, length, a, z, index if fibre else group[0])
                return
        reach = any(need_m <= fit.offer.reach_m for fit in fits)
        reason = "kind" if not fits else "media" if reach else "length"
        longest = max(group, key=lambda index: self._links[index].need_m)
        self._unsold.setdefault((reason, self._links[longest].wire.role), []).append(longest)

    def _fitting(self, members: Sequence[Link]) -> list[_Fit]:
        """Return the offers that fit the cages of a group, in the family's order."""
        shape = _shape(members)
        roles = tuple(dict.fromkeys(link.wire.role for link in members))
        kinds = tuple(sorted({kind for link in members for kind in (link.a, link.z)}))
        key = (shape, roles, kinds)
        if key not in self._fits:
            media = self._site.cluster.cabling.media
            self._fits[key] = [
                _Fit(
                    offer,
                    {(p.connector, p.links): p.part for p in offer.plugs if p.part},
                    all(offer.medium in getattr(media, role) for role in roles),
                )
                for offer in self._family.offers
                if _fits(offer, shape, kinds)
            ]
        return self._fits[key]

    def problems(self) -> list[Problem]:
        """Return one problem for each reason and role, the longest link named."""
        return [
            self._problem(reason, role, max(found, key=lambda index: self._links[index].need_m))
            for (reason, role), found in self._unsold.items()
        ]

    def _problem(self, reason: str, role: CableRole, worst: int) -> Problem:
        link, family, at = self._links[worst], self._family, self._site.document.problem
        count = len(self._unsold[reason, role])
        what = f"{_port(link.wire.a)} to {_port(link.wire.z)}"
        if reason == "kind":
            limit = (
                f"port of the wrong kind: no cable of {family.name} joins {_kind(link.a)} to"
                f" {_kind(link.z)} ({count} {role} cable(s), such as {what})"
            )
            remedy = (
                "choose a model with other ports, or add an offer to"
                f" hardware/cables/{family.name}.yml"
            )
            key = "leaf" if role is CableRole.HOST else "spine"
            model = getattr(self._site.cluster.fabric, key).model
            return at(f"cluster.fabric.{key}.model", model, limit, remedy)
        fits = self._fitting([self._links[i] for i in self._group_of(worst)])
        if reason == "media":
            allowed = getattr(self._site.cluster.cabling.media, role)
            other = next(fit.offer for fit in fits if link.need_m <= fit.offer.reach_m)
            limit = (
                f"{count} cable(s) cannot be bought of these media, the longest is {what} with"
                f" {link.need_m:.1f} m"
            )
            remedy = f"add {other.medium}, which reaches {other.reach_m:g} m"
            return at(f"cluster.cabling.media.{role}", ", ".join(allowed), limit, remedy)
        reach = max(fit.offer.reach_m for fit in fits)
        limit = (
            f"{count} {role} cables are longer than any sold for {family.gbps} Gb/s ({reach:g} m);"
            f" {what} needs {link.need_m:.1f} m"
        )
        remedy = (
            "move the network racks to the middle (racks.network.first_row), lower"
            " racks.row_pitch_m or racks.pitch_m, or raise racks.per_row"
        )
        return at("cluster.racks", None, limit, remedy)

    def _group_of(self, index: int) -> list[int]:
        return next(group for group in _groups(self._links) if index in group)


def _shape(members: Sequence[Link]) -> str:
    """Return how a group's cages are joined: `pair`, `split` or `mesh`."""
    first = members[0]
    if len(members) == 1 and first.a[1] == first.z[1]:
        return "pair"
    one_a = all(link.a_cage == first.a_cage for link in members)
    one_z = all(link.z_cage == first.z_cage for link in members)
    if one_a and one_z and first.a[1] == first.z[1]:
        return "pair"
    if one_a and len(members) == first.a[1] and all(link.z[1] == 1 for link in members):
        return "split"
    if one_z and len(members) == first.z[1] and all(link.a[1] == 1 for link in members):
        return "split"
    return "mesh"


def _fits(offer: CableOffer, shape: str, kinds: Sequence[Kind]) -> bool:
    """Return whether one cable, or one fibre a link, can serve a group of this shape."""
    plugs = [(plug.connector, plug.links) for plug in offer.plugs]
    if offer.medium == "fibre":
        return set(kinds) <= set(plugs)
    wanted = "pair" if offer.medium in ("dac", "aoc") else "split"
    return shape == wanted and sorted(set(plugs)) == list(kinds)


def _pull_order(
    links: Sequence[Link], choices: Sequence[Choice], trunks: Mapping[int, int]
) -> dict[int, int]:
    """Return each cable's turn, from 1: bundles with the longest way in trays come first.

    Bundles of one length keep the order of their first cable, cables of one bundle theirs.
    The links of a trunk have the turn of its first, which `trunks` has by index.
    """
    bundles: dict[str, list[int]] = {}
    first = (trunks.get(index, choice.assembly) for index, choice in enumerate(choices))
    for index in dict.fromkeys(first):
        bundles.setdefault(links[index].bundle, []).append(index)
    order = sorted(bundles.values(), key=lambda found: -links[found[0]].run_m)
    return {index: turn for turn, index in enumerate((i for b in order for i in b), start=1)}


def _port(port: Port) -> str:
    return f"{port.device}/{port.number}"


def _kind(kind: Kind) -> str:
    connector, ports = kind
    return connector if ports == 1 else f"{connector} with {ports} ports a cage"
