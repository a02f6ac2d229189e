"""What a network simulator sees of a fabric: adapters, switches and the links between them.

Each adapter is an end point of its own. A simulator routes through whatever joins two networks;
a node with adapters in two zones, or in every plane, would be such a bridge, and no real node is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from fireflyer.render.exports.wiring import Link, Wiring

NS_PER_METRE: Final = 5
"""Signal in fibre or copper, rounded up. Delay inside switches is not in any hardware profile."""


class Trunk(NamedTuple):
    """The cables between two end points as one link."""

    a: str
    """An adapter or a switch."""
    z: str
    ids: tuple[str, ...]
    gbps: int
    length_m: float
    """Of the longest cable."""


def trunks(links: Iterable[Link]) -> list[Trunk]:
    """Return the links of adapters, then those between switches, a trunk each.

    For simulators that allow, or keep, one link between two devices.
    """
    found: dict[tuple[str, str], Trunk] = {}
    hosts: list[Trunk] = []
    for link in links:
        gbps, length_m = link.gbps, link.length_m
        ids: tuple[str, ...] = (link.id,)
        if link.host:
            hosts.append(Trunk(link.id, link.z, ids, gbps, length_m))
            continue
        ends = (link.a, link.z)
        if known := found.get(ends):
            ids, gbps = (*known.ids, *ids), known.gbps + gbps
            length_m = max(known.length_m, length_m)
        found[ends] = Trunk(*ends, ids, gbps, length_m)
    return [*hosts, *found.values()]


def adapters(wiring: Wiring) -> list[str]:
    """Return the adapters in order of nodes, named after their cable: `<node>:<port>`."""
    return [f"{node.name}:{port.number}" for node in wiring.fabric.nodes for port in node.ports]


def delay_ns(length_m: float) -> int:
    """Return how long a signal takes through a cable, ns rounded up.

    >>> delay_ns(1.5)
    8
    """
    return -int(-length_m * NS_PER_METRE // 1)
