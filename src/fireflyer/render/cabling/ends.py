"""What is printed of a cable's two ends, made once and used by every sheet and label."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from fireflyer.model.fabric import Cable, Fabric, Node, Switch


class End(NamedTuple):
    """One end of a cable."""

    rack: str
    unit: int
    device: str
    port: str
    """As its vendor prints it."""
    fields: str
    """Unit, device and port, as a CSV line has them."""
    label: str
    """Rack, unit and port, as TIA-606 names an end."""


class Ends(NamedTuple):
    """A cable with what is printed of its ends."""

    cable: Cable
    a: End
    z: End
    a_label: str
    """What stands on the label at the a end, as a CSV field: near end first."""
    z_label: str


def ends(fabric: Fabric) -> list[Ends]:
    """Return every cable with its ends, in the order of the fabric."""
    known = _devices(fabric)
    return [_ends(cable, known) for cable in fabric.cables]


def in_pull_order(found: list[Ends]) -> list[Ends]:
    """Return the cables in the order they are pulled, the legs of one together."""
    return sorted(found, key=attrgetter("cable.pull"))


def field(text: str) -> str:
    """Return a text as one field of a CSV line (RFC 4180): a vendor's port name may need it."""
    if "," in text or '"' in text:
        return '"' + text.replace('"', '""') + '"'
    return text


class _Device(NamedTuple):
    """What every end at a device has, and the names of its ports."""

    rack: str
    unit: int
    fields: str
    label: str
    ports: tuple[str, ...]


def _devices(fabric: Fabric) -> Mapping[str, _Device]:
    """Return every device; the names of a model's ports are made once."""
    of_model: dict[str, tuple[str, ...]] = {}
    for switch in fabric.switches:
        model = switch.model
        if model.name not in of_model:
            of_model[model.name] = tuple(map(model.port, range(1, model.ports + 1)))
    for node in fabric.nodes:
        if node.model.name not in of_model:
            of_model[node.model.name] = tuple(nic.hca for nic in node.model.nics)
    devices: Iterator[Switch | Node] = chain(fabric.switches, fabric.nodes)
    return {
        device.name: _Device(
            device.place.rack,
            device.place.unit,
            f"{device.place.unit},{device.name},",
            f"{device.place.rack}-U{device.place.unit:02d}:",
            of_model[device.model.name],
        )
        for device in devices
    }


def _ends(cable: Cable, known: Mapping[str, _Device]) -> Ends:
    rack, unit, fields, label, ports = known[cable.a.device]
    port = ports[cable.a.number - 1]
    a = End(rack, unit, cable.a.device, port, fields + field(port), label + port)
    rack, unit, fields, label, ports = known[cable.z.device]
    port = ports[cable.z.number - 1]
    z = End(rack, unit, cable.z.device, port, fields + field(port), label + port)
    return Ends(cable, a, z, field(f"{a.label} / {z.label}"), field(f"{z.label} / {a.label}"))
