"""What a network simulator sees of a fabric: adapters, switches and the links between them.

Each adapter is an end point of its own. A simulator routes through whatever joins two networks;
a node with adapters in two zones, or in every plane, would be such a bridge, and no real node is.
"""

from __future__ import annotations

from typing import Final

from fireflyer.render.exports.wiring import Wiring

NS_PER_METRE: Final = 5
"""Signal in fibre or copper, rounded up. Delay inside switches is not in any hardware profile."""


def adapters(wiring: Wiring) -> list[str]:
    """Return the adapters in order of nodes, named after their cable: `<node>:<port>`."""
    return [f"{node.name}:{port.number}" for node in wiring.fabric.nodes for port in node.ports]


def delay_ns(length_m: float) -> int:
    """Return how long a signal takes through a cable, ns rounded up.

    >>> delay_ns(1.5)
    8
    """
    return -int(-length_m * NS_PER_METRE // 1)
