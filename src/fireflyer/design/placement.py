"""Which node takes which leaf port.

Compute nodes fill leaf after leaf: consecutive nodes, and so neighbouring racks, share a
leaf. Where a node has several adapters in one tree, adapter i of the nodes of a scalable
unit goes to leaf i of that unit (rail-optimised). Storage must spread over leaf-spine links
(paper, section VI-A2): it goes round all leaves. Management nodes
stand on different leaves, so that one lost leaf leaves a subnet manager elsewhere.
Appending compute nodes moves no node that was there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import gcd

from fireflyer.model.fabric import Port


@dataclass(slots=True)
class LeafPorts:
    """A leaf's host ports; compute takes them from the lowest, other roles from the highest."""

    name: str
    low: int
    """First free port."""
    high: int
    """Last free port."""
    storage: int = 0
    management: int = 0

    @property
    def free(self) -> int:
        return self.high - self.low + 1

    def take_low(self) -> Port:
        """Return the lowest free port; it is free no longer."""
        self.low += 1
        return Port(self.name, self.low - 1)

    def take_high(self) -> Port:
        """Return the highest free port; it is free no longer."""
        self.high -= 1
        return Port(self.name, self.high + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreePlacement:
    """The leaf ports of a tree's adapters, node by node and adapter by adapter."""

    compute: list[Port]
    storage: list[Port]
    management: list[Port]


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Ports that the nodes of a tree need."""

    compute: int
    storage: int
    management: int
    rails: int
    """Adapters of a compute node in this tree."""
    uplinks: int
    """Cables from a leaf to spines."""
    spread: bool = False
    """Place compute nodes one a leaf, in turn, instead of leaf by leaf."""
    per_leaf: int | None = None
    """Compute nodes that a unit of leaves takes before every unit has as many."""


def place(leaves: Sequence[tuple[str, int]], leaves_per_pod: int, demand: Demand) -> TreePlacement:
    """Return the leaf port of every adapter of a tree.

    Args:
        leaves: name and number of host ports of each leaf; host ports count from 1.
        leaves_per_pod: a scalable unit of leaves lies within one pod.
        demand: what is placed; the budget was checked, so there is room.
    """
    if demand.spread:
        return _spread(leaves, demand)
    ports = [LeafPorts(name, 1, count) for name, count in leaves]
    management = list(_management(ports, leaves_per_pod, demand))
    storage = list(_storage(ports, demand.storage))
    compute = _by_unit(ports, leaves_per_pod, demand)
    taken = [next(compute) for _ in range(demand.compute)]
    return TreePlacement(compute=taken, storage=storage, management=management)


def _management(ports: Sequence[LeafPorts], leaves_per_pod: int, demand: Demand) -> Iterator[Port]:
    """Yield the ports of management nodes: evenly spaced leaves, each in turn.

    Where there is room for it, the leaves between two of them are a multiple of those after
    which compute nodes start at the same uplink again, so that the uplinks these leaves keep
    for other roles are the same (docs/decisions/0011). A scalable unit of several leaves would
    lose a node for every leaf that lacks a port, so there they stand on the leaves of the last
    unit.
    """
    count = demand.management
    if not count:
        return
    most = max(leaf.high for leaf in ports)
    leaves = [leaf for leaf in ports if leaf.high == most]
    if demand.rails > 1:
        leaves = _units(ports, leaves_per_pod, demand.rails)[-1]
    step = max(1, len(leaves) // count)
    period = demand.uplinks // gcd(demand.uplinks, demand.compute // len(leaves))
    step -= step % period if step >= period else 0
    for number in range(count):
        leaf = leaves[number * step % len(leaves)]
        if not leaf.free:
            leaf = max(ports, key=lambda other: other.free)
        leaf.management += 1
        yield leaf.take_high()


def _storage(ports: Sequence[LeafPorts], count: int) -> Iterator[Port]:
    """Yield the ports of storage nodes: always the leaf with the fewest, the first leaf first."""

    def rank(index: int) -> tuple[int, int, int]:
        return ports[index].storage, ports[index].management, index

    queue = [(rank(index), index) for index, leaf in enumerate(ports) if leaf.free]
    heapify(queue)
    for _ in range(count):
        _, index = heappop(queue)
        ports[index].storage += 1
        yield ports[index].take_high()
        if ports[index].free:
            heappush(queue, (rank(index), index))


def _spread(leaves: Sequence[tuple[str, int]], demand: Demand) -> TreePlacement:
    """Return every role one a leaf, in turn: compute from the first port, others from the last.

    Appending compute or storage nodes moves no node that was there.
    """
    order = [
        Port(name, number)
        for number in range(1, max(count for _, count in leaves) + 1)
        for name, count in leaves
        if number <= count
    ]
    backwards = order[::-1]
    return TreePlacement(
        compute=order[: demand.compute],
        management=backwards[: demand.management],
        storage=backwards[demand.management :][: demand.storage],
    )


def _by_unit(ports: Sequence[LeafPorts], leaves_per_pod: int, demand: Demand) -> Iterator[Port]:
    """Yield the ports of compute nodes, unit by unit, then what the units left."""
    rails = demand.rails
    for unit in _units(ports, leaves_per_pod, rails):
        targets = [unit[rail % len(unit)] for rail in range(rails)]
        room = min(leaf.free // targets.count(leaf) for leaf in unit)
        for _ in range(room if demand.per_leaf is None else min(room, demand.per_leaf)):
            yield from (leaf.take_low() for leaf in targets)
    while any(leaf.free for leaf in ports):  # a node's adapters on different leaves if possible
        chosen = sorted(range(len(ports)), key=lambda index: (-ports[index].free, index))[:rails]
        targets = [ports[chosen[rail % len(chosen)]] for rail in range(rails)]
        yield from (leaf.take_low() for leaf in targets if leaf.free)


def _units(ports: Sequence[LeafPorts], leaves_per_pod: int, rails: int) -> list[list[LeafPorts]]:
    """Return the scalable units: as many leaves as a node has adapters, within one pod."""
    pods = (ports[first : first + leaves_per_pod] for first in range(0, len(ports), leaves_per_pod))
    return [[*pod[first : first + rails]] for pod in pods for first in range(0, len(pod), rails)]
