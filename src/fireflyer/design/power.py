"""Which power feeds each device is on.

Every rack has every feed. A device with redundant supplies is on two feeds and survives the
loss of one. A device that needs all its supplies, or whose supplies are not published, is on
one: neighbours of a layer take the feeds in turn, so that a lost feed takes an even share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from string import ascii_uppercase

from fireflyer.model.fabric import Fabric, Node, Role, Switch


def feed_names(fabric: Fabric) -> tuple[str, ...]:
    """Return the names of the site's feeds: A, B, ..."""
    return tuple(ascii_uppercase[: fabric.intent.racks.power_feeds])


def feeds(fabric: Fabric) -> Mapping[str, tuple[str, ...]]:
    """Return the feeds of each device by name; each of them alone carries it."""
    names, zones = feed_names(fabric), len(fabric.zones)
    turn: dict[str, int] = {}
    for switch in fabric.switches:
        tree = fabric.trees.index(switch.tree) if switch.tree is not None else 0
        turn[switch.name] = switch.index + tree
    for node in fabric.nodes:
        zone = fabric.zones.index(node.zone)
        # Compute nodes count in their zone, others over all zones, which take them in turn.
        own = node.index if node.role is Role.COMPUTE else node.index // zones
        turn[node.name] = own + zone
    found: dict[str, tuple[str, ...]] = {}
    devices: Iterator[Switch | Node] = chain(fabric.switches, fabric.nodes)
    for device in devices:
        supplies, first = device.model.power_supplies, turn[device.name] % len(names)
        second = (first + 1) % len(names)
        redundant = supplies is not None and supplies.redundant and second != first
        found[device.name] = (names[first], names[second]) if redundant else (names[first],)
    return found


def lost_with(fabric: Fabric, feed: str) -> set[str]:
    """Return the devices that a lost feed takes down."""
    return {name for name, of_device in feeds(fabric).items() if of_device == (feed,)}
