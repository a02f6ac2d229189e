"""Which network rack of its zone each switch and management node stands in.

A lost rack must cost as little as it can: each rack of a zone holds an even mix of every
layer, tree by tree and pod by pod, within one device. Leaves keep the order of their hosts:
the first leaves stand in the first network row, neighbours in different racks of it, and the
leaves of one number of several planes in different racks. A device's rack follows from the
counts of switches and `racks.network` alone, so appending nodes moves no switch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from fireflyer.model.fabric import Layer, Role
from fireflyer.model.intent import CableManagers


@dataclass(frozen=True, slots=True)
class Group:
    """Devices that do the same work in one zone: a layer of a tree, or of one of its pods."""

    layer: str
    names: tuple[str, ...]
    rack_units: int


def rack_of_each(groups: Sequence[Group], rows: int, per_row: int) -> Mapping[str, int]:
    """Return the number of each device's rack, from 0, row by row.

    No rack holds more than its share, rounded up, of a group, of a layer or of all devices;
    the last may be missed by one where the rows cannot share the leaves evenly.
    """
    rack: dict[str, int] = {}
    leaves = [group for group in groups if group.layer == Layer.LEAF]
    for turn, group in enumerate(leaves):
        rack |= zip(group.names, _leaf_racks(len(group.names), turn, rows, per_row), strict=True)
    held = Counter(rack.values())
    of_layer: dict[str, Counter[int]] = {}
    for group in groups:
        if group.layer == Layer.LEAF:
            continue
        layer, own = of_layer.setdefault(group.layer, Counter()), Counter[int]()
        for name in group.names:
            best = min(range(rows * per_row), key=lambda r: (own[r], layer[r], held[r], r))
            rack[name] = best
            for count in (own, layer, held):
                count[best] += 1
    return rack


def _leaf_racks(leaves: int, turn: int, rows: int, per_row: int) -> Iterator[int]:
    """Yield the rack of each leaf of the zone's tree number `turn`.

    A row's leaves go round its racks. The next tree goes on where the one before stopped, so
    that all racks fill alike; where that would be the rack where an earlier tree began, one
    further, so that leaf i of several planes stands in several racks.
    """
    seen: dict[int, int] = {}
    for leaf in range(leaves):
        row = leaf * rows // leaves
        position = seen[row] = seen.get(row, -1) + 1
        of_row = -(-(row + 1) * leaves // rows) - -(-row * leaves // rows)
        cycle = per_row // gcd(of_row, per_row)
        yield row * per_row + (position + turn * of_row + turn // cycle) % per_row


def stacked(
    groups: Iterable[Group], rack: int, rack_of: Mapping[str, int], managers: CableManagers
) -> Iterator[tuple[str, int]]:
    """Yield name and lowest unit of what stands in one rack, from the bottom up.

    The name of a horizontal cable manager is empty. It stands in the middle of the switches
    that share it.
    """
    unit = 1
    own = [(g, name) for g in groups for name in g.names if rack_of[name] == rack]
    switches = sum(group.layer != Role.MANAGEMENT for group, _ in own)
    for position, (group, name) in enumerate(own):
        yield name, unit
        unit += group.rack_units
        sharers = min(
            managers.switches, switches - position // managers.switches * managers.switches
        )
        is_middle = position % managers.switches == (sharers + 1) // 2 - 1
        if managers.units and position < switches and is_middle:
            yield "", unit
            unit += managers.units
