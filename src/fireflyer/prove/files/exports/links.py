"""The links of a fabric with the names that the devices themselves give their ports."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from fireflyer.model.fabric import Cable, Fabric, Port

NS_PER_METRE = 5
"""Signal in fibre or copper, rounded up."""


class End(NamedTuple):
    """One end of a link."""

    device: str
    port: str
    number: int


class Link(NamedTuple):
    """A cable's two ends, the host or the lower switch first."""

    cable: Cable
    a: End
    z: End
    host: bool


def links_of(fabric: Fabric) -> list[Link]:
    """Return every cable's link."""
    return [
        Link(cable, _end(fabric, cable.a), _end(fabric, cable.z), cable.a.device in fabric.node)
        for cable in fabric.cables
    ]


def _end(fabric: Fabric, port: Port) -> End:
    switch = fabric.switch.get(port.device)
    if switch is None:
        found = fabric.node_port[port]
        return End(port.device, found.name if fabric.is_ethernet else found.hca, port.number)
    system = fabric.system
    if fabric.is_ethernet and system is not None and system in switch.model.interfaces:
        return End(port.device, switch.model.interface(system, port.number), port.number)
    return End(port.device, switch.model.port(port.number), port.number)


def delay_ns(length_m: float) -> int:
    """Return the delay of a cable, ns rounded up."""
    return ceil(round(length_m * NS_PER_METRE, 6))


def pair(a: object, z: object) -> str:
    """Return the name of a link between two ends, whichever comes first."""
    return " to ".join(sorted((str(a), str(z))))
