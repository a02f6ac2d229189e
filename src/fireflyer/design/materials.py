"""What to buy, and what each rack holds, may draw and then gives off as heat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from math import ceil

from fireflyer.model.cable_parts import CableOffer, Plug
from fireflyer.model.fabric import Fabric, Node, Place, Switch
from fireflyer.model.hardware import NodeModel, SwitchModel

BTU_PER_HOUR_PER_W = 3.412142
"""International table BTU (ISO 80000-5)."""


@dataclass(frozen=True, slots=True)
class Item:
    """A line of the bill of materials."""

    kind: str
    """cables, transceivers, switches, nodes or fittings; the first four as the intent's spares."""
    part: str
    description: str
    length_m: float | None
    quantity: int
    spares: int
    power_w: float
    """Draw of one."""

    @property
    def total(self) -> int:
        return self.quantity + self.spares


@dataclass(frozen=True, slots=True)
class Box:
    """A device in a rack, or a fitting."""

    name: str
    model: str
    kind: str
    """switch, a node's role, or fitting."""
    unit: int
    rack_units: int
    power_w: float
    """What the rack has to feed."""


@dataclass(frozen=True, slots=True)
class Rack:
    """A rack with its devices, from the bottom up."""

    place: Place
    """Of its lowest device."""
    boxes: tuple[Box, ...]

    @property
    def name(self) -> str:
        return self.place.rack

    @property
    def row_name(self) -> str:
        """Zone and row: the rack's name without its column."""
        return self.name.rpartition("-")[0]

    @property
    def devices(self) -> tuple[Box, ...]:
        """Its switches and nodes, from the bottom up."""
        return tuple(box for box in self.boxes if box.kind != "fitting")

    @property
    def rack_units(self) -> int:
        return sum(box.rack_units for box in self.boxes)

    @property
    def power_w(self) -> float:
        return sum(box.power_w for box in self.boxes)

    @property
    def heat_btu_per_h(self) -> float:
        """All power becomes heat."""
        return self.power_w * BTU_PER_HOUR_PER_W


def racks(fabric: Fabric) -> tuple[Rack, ...]:
    """Return every rack that holds something, row by row."""
    content: dict[str, list[tuple[Place, Box]]] = {}
    devices: Iterator[Switch | Node] = chain(fabric.switches, fabric.nodes)
    for device in devices:
        place, model = device.place, device.model
        kind = "switch" if isinstance(device, Switch) else str(device.role)
        box = Box(device.name, model.name, kind, place.unit, model.rack_units, model.rack_power_w)
        content.setdefault(place.rack, []).append((place, box))
    for fitting in fabric.fittings:
        place, units = fitting.place, fitting.rack_units
        box = Box(fitting.name, fitting.part, "fitting", place.unit, units, 0.0)
        content[place.rack].append((place, box))
    found = []
    for held in content.values():
        held.sort(key=lambda pair: pair[0].unit)
        found.append(Rack(held[0][0], tuple(box for _, box in held)))
    return tuple(sorted(found, key=lambda rack: (rack.place.row, rack.place.column)))


def materials(fabric: Fabric) -> tuple[Item, ...]:
    """Return the bill of materials: cables, transceivers, switches, nodes, fittings."""
    return (
        *_cables(fabric),
        *_transceivers(fabric),
        *_devices(fabric, "switches", Counter(switch.model.name for switch in fabric.switches)),
        *_devices(fabric, "nodes", Counter(node.model.name for node in fabric.nodes)),
        *_fittings(fabric),
    )


def _item(
    fabric: Fabric,
    kind: str,
    part: str,
    description: str,
    quantity: int,
    power_w: float,
    length_m: float | None = None,
) -> Item:
    percent: float = getattr(fabric.intent.cabling.spares_percent, kind, 0.0)
    spares = ceil(round(quantity * percent / 100, 9))
    return Item(kind, part, description, length_m, quantity, spares, power_w)


def _cables(fabric: Fabric) -> Iterator[Item]:
    """Yield each part and length: a cable of several links once, leads to panels, then trunks."""
    bought: Counter[tuple[str, float]] = Counter()
    for cable in fabric.cables:
        if cable.route is not None:
            bought[cable.part, cable.route.a_lead_m] += 1
            bought[cable.part, cable.route.z_lead_m] += 1
        elif cable.assembly == cable.id:
            bought[cable.part, cable.length_m] += 1
    gbps = fabric.family.gbps
    for offer in fabric.family.offers:
        for length in offer.lengths_m:
            if quantity := bought[offer.part, length]:
                text = f"{offer.medium}, {gbps} Gb/s a link, {length:g} m"
                power_w = _power_w(offer)
                yield _item(fabric, "cables", offer.part, text, quantity, power_w, length)

    trunks = Counter((trunk.part, trunk.fibres, trunk.length_m) for trunk in fabric.trunks)
    for (part, fibres, length), quantity in sorted(trunks.items()):
        text = f"trunk, {fibres} fibres, {length:g} m"
        yield _item(fabric, "cables", f"{part}-{fibres}F", text, quantity, 0.0, length)


def _fittings(fabric: Fabric) -> Iterator[Item]:
    """Yield cable managers and patch panels."""
    counts = Counter((fitting.part, fitting.description) for fitting in fabric.fittings)
    vertical = fabric.intent.racks.network.cable_managers.vertical
    network = {switch.place.rack for switch in fabric.switches}
    if vertical:
        text = f"vertical cable manager, {fabric.intent.racks.units}U"
        counts["cable-manager-vertical", text] = vertical * len(network)
    for (part, text), quantity in counts.items():
        yield _item(fabric, "fittings", part, text, quantity, 0.0)


def _power_w(offer: CableOffer) -> float:
    """Return the draw of a cable with all its plugs; transceivers are lines of their own."""
    if offer.medium == "fibre":
        return 0.0
    wide, narrow = offer.plugs
    return wide.power_w + narrow.power_w * (wide.links // narrow.links)


def _transceivers(fabric: Fabric) -> Iterator[Item]:
    """Yield each transceiver; one serves every port of its cage."""
    plugs: Mapping[str, Plug] = {
        plug.part: plug for offer in fabric.family.offers for plug in offer.plugs if plug.part
    }
    shared = {s.name: s.model.ports_per_cage for s in fabric.switches if s.model.ports_per_cage > 1}
    alone = dict.fromkeys(plugs, 0)
    cages: dict[str, set[tuple[str, int]]] = {part: set() for part in plugs}
    for cable in fabric.cables:
        if not cable.a_optic:
            continue
        for optic, port in ((cable.a_optic, cable.a), (cable.z_optic, cable.z)):
            if (ports := shared.get(port.device)) is None:
                alone[optic] += 1
            else:
                cages[optic].add((port.device, (port.number - 1) // ports))
    for part, plug in plugs.items():
        if quantity := alone[part] + len(cages[part]):
            text = f"transceiver, {plug.connector}, {plug.links} x {fabric.family.gbps} Gb/s"
            yield _item(fabric, "transceivers", part, text, quantity, plug.power_w)


def _devices(fabric: Fabric, kind: str, counts: Mapping[str, int]) -> Iterator[Item]:
    models: dict[str, SwitchModel | NodeModel] = {s.model.name: s.model for s in fabric.switches}
    models |= {node.model.name: node.model for node in fabric.nodes}
    for name, quantity in counts.items():
        model = models[name]
        yield _item(fabric, kind, name, model.description, quantity, model.power_w)
