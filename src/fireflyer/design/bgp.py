"""Routing of an Ethernet switch: who is told what, what is believed, and how fast a fault shows."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from netaddr import IPNetwork

from fireflyer.model.fabric import Fabric, Layer
from fireflyer.model.switch_config import PortConfig, Prefixes

KEEPALIVE_S, HOLD_S, CONNECT_S = 3, 9, 10
"""FRR's own values for data centres: a neighbour that says nothing is given up after 9 s."""
BFD_INTERVAL_MS, BFD_MULTIPLIER = 300, 3
"""FRR's own values (RFC 5880): a cable that is up but carries nothing is given up after 0.9 s."""
LOOPBACK_LENGTH = 32


def is_transit(layer: Layer, ports: Iterable[PortConfig], between: Collection[str]) -> bool:
    """Return whether a switch passes on what it learns: all but leaves that join no zones.

    Args:
        layer: of the switch.
        ports: its ports.
        between: names of the switches between zones.
    """
    return layer is not Layer.LEAF or any(port.peer in between for port in ports)


def fabric_prefixes(fabric: Fabric) -> tuple[Prefixes, ...]:
    """Return all that any switch may announce: loopbacks, and the leaves' networks of each tree."""
    lengths = sorted({port.network.prefixlen for port in fabric.node_port.values()})
    found = [Prefixes(network=fabric.networks["loopback"], length=LOOPBACK_LENGTH)]
    for tree in fabric.trees:
        network: IPNetwork = fabric.networks[f"roce_{tree}"]
        found += [Prefixes(network=network, length=length) for length in lengths]
    return tuple(found)
