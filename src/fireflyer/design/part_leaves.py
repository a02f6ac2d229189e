"""The routing order of leaves whose hosts are no multiple of their uplinks.

A leaf leaves its own hosts out when it gives destinations their ways in turn (see
`routing_order`). With other than a multiple of its uplinks in hosts, all that follows them has
another way at that leaf than elsewhere, so no turn fits all leaves. Each leaf's hosts are put in
the order that leaves storage and compute most even as every leaf counts them, and again with
all others known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, TypeAlias

from fireflyer.model.fabric import Node, NodePort, Role

End: TypeAlias = tuple[Node, NodePort]
"""A destination: an adapter and its node."""
Block: TypeAlias = list[End]
"""The hosts of one leaf."""
_CLASSES: Final = (Role.COMPUTE, Role.STORAGE)
_ROUNDS: Final = 4
_MANY_LEAVES: Final = 100
"""With so many leaves one round takes seconds, and what one leaf shifts weighs little."""


def arranged(blocks: Sequence[Block], ways: int, whole: int) -> list[Block]:
    """Return the hosts of each leaf in the order to route them.

    Args:
        blocks: leaf by leaf, in the order the leaves stand in.
        ways: uplinks of a leaf.
        whole: other leaves, which have a multiple of `ways` in hosts and stand before these.
    """
    planner = _Planner(blocks, ways, whole)
    for _ in range(_ROUNDS if len(blocks) <= _MANY_LEAVES else 1):
        if not planner.improve():
            break
    return planner.order


def ranked_places(places: Sequence[int], used: Sequence[int], leaves: int) -> list[tuple[int, int]]:
    """Return price and number of each place, the cheapest first, of equal ones the last.

    A price is what a destination at the place adds to the sum over all leaves of the squares of
    what each way serves, those of the list that are cheaper taken; halved, and less what is the
    same for all.

    Args:
        places: of one leaf's hosts in the order; place i takes way i mod U.
        used: destinations of the class by way, added up over the leaves that count them.
        leaves: how many count them.
    """
    taken = [0] * len(used)
    priced = []
    for place in places:
        way = place % len(used)
        priced.append((used[way] + leaves * taken[way], place))
        taken[way] += 1
    return sorted(priced, key=lambda found: (found[0], -found[1]))


@dataclass(frozen=True, slots=True)
class Seats:
    """The places of a leaf's hosts in the order, by class."""

    compute: list[int]
    storage: list[int]
    management: list[int]
    storage_price: int
    """Of all storage together, as `ranked_places` has it."""

    def order(self, block: Block) -> Block:
        """Return the hosts, each at a place of its class."""
        of_role = {
            Role.COMPUTE: self.compute,
            Role.STORAGE: self.storage,
            Role.MANAGEMENT: self.management,
        }
        left = {role: iter(places) for role, places in of_role.items()}
        placed = {next(left[node.role]): (node, port) for node, port in block}
        return [placed[place] for place in range(len(block))]


def seats(block: Block, begin: int, used: Sequence[int], leaves: int) -> Seats:
    """Return the places of hosts: compute in turn from place `begin` on, round the block.

    Storage takes the free places that are cheapest, management the others; `used` and `leaves`
    are those of `ranked_places`.
    """
    count = Counter(node.role for node, _ in block)
    taken = [(begin + turn) % len(block) for turn in range(count[Role.COMPUTE])]
    free = sorted(set(range(len(block))).difference(taken))
    ranked = ranked_places(free, used, leaves)
    storage, others = ranked[: count[Role.STORAGE]], ranked[count[Role.STORAGE] :]
    return Seats(
        compute=taken,
        storage=sorted(place for _, place in storage),
        management=sorted(place for _, place in others),
        storage_price=sum(price for price, _ in storage),
    )


@dataclass(slots=True)
class _Counter:
    """What one leaf has counted, or several that count alike."""

    block: int
    """Its own place among the blocks; -1 for the whole leaves."""
    weight: int
    used: dict[Role, list[int]]
    """Destinations of a class on each uplink."""


class _Planner:
    """Arranges block after block."""

    def __init__(self, blocks: Sequence[Block], ways: int, whole: int) -> None:
        self.order = [list(block) for block in blocks]
        self._ways = ways
        self._starts = [0, *accumulate(map(len, blocks))]
        self._placed = [False] * len(blocks)
        leaves = [(index, 1) for index in range(len(blocks))]
        if whole:
            leaves.append((-1, whole))
        self._counters = [
            _Counter(index, weight, {role: [0] * ways for role in _CLASSES})
            for index, weight in leaves
        ]

    def improve(self) -> bool:
        """Arrange every block once; return whether that changed any."""
        before = [list(block) for block in self.order]
        fresh = not all(self._placed)
        for index in range(len(self.order)):
            if self._placed[index]:
                self._count(index, -1)
            self.order[index] = self._best(index)
            self._placed[index] = True
            self._count(index, 1)
        return fresh or before != self.order

    def _first_ways(self, index: int) -> Iterator[tuple[_Counter, int]]:
        """Yield each counter, and the way that it gives the first host of a block."""
        start = self._starts[index]
        for counter in self._counters:
            if counter.block != index:
                own = len(self.order[counter.block]) if -1 < counter.block < index else 0
                yield counter, (start - own) % self._ways

    def _count(self, index: int, change: int) -> None:
        for counter, first in self._first_ways(index):
            for place, (node, _) in enumerate(self.order[index]):
                if node.role in counter.used:
                    counter.used[node.role][(first + place) % self._ways] += change

    def _best(self, index: int) -> Block:
        """Return the hosts of a block in the order that leaves both classes most even."""
        block = self.order[index]
        cost, everyone = self._costs(index)
        found = [seats(block, begin, cost[Role.STORAGE], everyone) for begin in range(len(block))]

        def price(each: Seats) -> int:
            compute = ranked_places(each.compute, cost[Role.COMPUTE], everyone)
            return each.storage_price + sum(price for price, _ in compute)

        return min(found, key=price).order(block)

    def _costs(self, index: int) -> tuple[dict[Role, list[int]], int]:
        """Return how much the way of each place serves already, of each class, over all leaves.

        And how many leaves count it.
        """
        everyone = 0
        cost = {role: [0] * self._ways for role in _CLASSES}
        for counter, first in self._first_ways(index):
            everyone += counter.weight
            for role, costs in cost.items():
                used = counter.used[role]
                for place in range(self._ways):
                    costs[place] += counter.weight * used[(first + place) % self._ways]
        return cost, everyone
