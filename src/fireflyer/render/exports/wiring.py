"""The links as every export prints them: each cable once, with the names of both its ends.

Worked out once for all formats: a large site has tens of thousands of links.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from fireflyer.model.fabric import Fabric
from fireflyer.model.hardware import SwitchModel


class Link(NamedTuple):
    """A cable's two ends; `a` is the host, or the leaf below a spine."""

    id: str
    a: str
    a_port: str
    """As the device calls it: an interface (Ethernet), the front panel's name or an adapter
    (InfiniBand)."""
    a_number: int
    z: str
    z_port: str
    z_number: int
    gbps: int
    host: bool
    """Whether `a` is a host; `z` is always a switch."""
    medium: str
    length_m: float
    part: str


@dataclass(frozen=True, eq=False)
class Wiring:
    """A fabric and its links. Equal to itself alone."""

    fabric: Fabric
    links: tuple[Link, ...]
    switch_ports: Mapping[str, tuple[str, ...]]
    """By switch model, the names of its ports in order."""


Files: TypeAlias = Iterator[tuple[str, str | bytes]]
"""Names below the consumer's folder, and contents."""
Printer: TypeAlias = Callable[[Wiring], Files]


def wiring(fabric: Fabric) -> Wiring:
    """Name both ends of every cable."""
    models = {switch.model.name: switch.model for switch in fabric.switches}
    of_model = {name: port_names(fabric, model) for name, model in models.items()}
    switch_ports = {switch.name: of_model[switch.model.name] for switch in fabric.switches}
    node_ports = {
        node.name: [p.name if fabric.is_ethernet else p.hca for p in node.ports]
        for node in fabric.nodes
    }
    named = node_ports | switch_ports
    links = tuple(
        Link(
            cable.id,
            (a := cable.a).device,
            named[a.device][a.number - 1],
            a.number,
            (z := cable.z).device,
            switch_ports[z.device][z.number - 1],
            z.number,
            cable.gbps,
            a.device in node_ports,
            cable.medium,
            cable.length_m,
            cable.part,
        )
        for cable in fabric.cables
    )
    return Wiring(fabric, links, of_model)


def port_names(fabric: Fabric, model: SwitchModel) -> tuple[str, ...]:
    """Return what a switch calls its ports, in order."""
    system = fabric.system if fabric.is_ethernet else None
    return model.port_names(system if system in model.interfaces else None)
