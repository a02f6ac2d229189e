"""The order in which a subnet manager routes destinations.

Up/down routing picks, at every switch and for every destination, the least used of the
shortest ways up; of equally used ones the lowest port. So a switch with U ways up gives the
destination at position p of the order way p mod U, its own hosts left out. Three laws follow
(docs/decisions/0011):

- Destinations of one leaf stand together: then they take different spines from every source,
  and a spine-to-leaf link carries as few of them as there can be.
- Compute nodes take ways in turn across leaves: then no two of a leaf's hosts meet on an uplink
  when each sends to the node a fixed distance away. A zone's begin where that is most even with
  the other zones'.
- What compute leaves of a leaf's ways goes to storage. Where a leaf has as many hosts as
  uplinks that rotates storage from leaf to leaf, and each way serves as much of it as another.

Leaves whose hosts are no multiple of U come last: their own hosts would shift all that
follows, at that leaf alone (`part_leaves`). The blocks of other leaves may stand in any order;
the first and the second half of the leaves take turns, which spreads each class over the links
between zones.

With three layers the same turns at leaf and spine would send all that one spine gets through
one of its ways up. There fat-tree routing is used, which counts the layers apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice

from fireflyer.design.part_leaves import Block, End, arranged, seats
from fireflyer.model.fabric import Fabric, Layer, Role


def routing_engine(fabric: Fabric) -> str:
    """Return OpenSM's routing engines, the first that takes the fabric is used.

    ftree refuses a fabric whose hosts are all on one leaf.
    """
    with_hosts = {port.leaf.device for port in fabric.node_port.values()}
    return "ftree,updn" if has_three_layers(fabric) and len(with_hosts) > 1 else "updn"


def has_three_layers(fabric: Fabric) -> bool:
    """Return whether destinations are spread by fat-tree routing and not by the order."""
    return any(fabric.switches_of(Layer.CORE))


def routing_order(fabric: Fabric, trees: Iterable[str]) -> tuple[End, ...]:
    """Return every end port of the trees in the order to route it."""
    wanted = tuple(trees)
    of_leaf: dict[str, Block] = {}
    for node in fabric.nodes:
        for port in node.ports:
            if port.tree in wanted:
                of_leaf.setdefault(port.leaf.device, []).append((node, port))
    ways = fabric.leaf_uplinks[next(fabric.switches_of(Layer.LEAF)).name]
    blocks = {
        tree: [
            of_leaf[leaf.name]
            for leaf in fabric.switches_of(Layer.LEAF, tree)
            if leaf.name in of_leaf
        ]
        for tree in wanted
    }
    whole = {tree: [b for b in found if not len(b) % ways] for tree, found in blocks.items()}
    parts = [block for found in blocks.values() for block in found if len(block) % ways]
    tail = [end for block in arranged(parts, ways, sum(map(len, whole.values()))) for end in block]
    order: list[End] = []
    compute = _by_way(tail, ways, Role.COMPUTE, wanted)
    for tree, found in whole.items():
        best = _best(found, ways, _by_way(tail, ways, Role.STORAGE, (tree,)), compute)
        compute += _by_way(best, ways, Role.COMPUTE, wanted)
        hosts = iter(best)
        order += _interleaved([list(islice(hosts, len(block))) for block in found])
    return (*order, *tail)


def _interleaved(blocks: Sequence[Block]) -> Iterator[End]:
    """Yield the hosts of the first block, of the first of the second half, and so on."""
    half = -(-len(blocks) // 2)
    for first in range(half):
        for block in blocks[first::half]:
            yield from block


def _by_way(ends: Sequence[End], ways: int, role: Role, trees: Collection[str]) -> Counter[int]:
    """Return how many destinations of a class in these trees each way serves."""
    return Counter(
        position % ways
        for position, (node, port) in enumerate(ends)
        if node.role is role and port.tree in trees
    )


def _best(
    blocks: Sequence[Block], ways: int, storage: Counter[int], compute: Counter[int]
) -> list[End]:
    """Return the hosts of whole blocks, by the first way of compute that spreads both classes best.

    Args:
        blocks: leaf by leaf; the number of hosts of each is a multiple of `ways`.
        ways: uplinks of a leaf.
        storage: destinations of the tree that stand elsewhere in the order, by way.
        compute: those of every tree, as jobs go from one to the next.
    """
    best: list[End] = []
    least = -1
    nodes = sum(node.role is Role.COMPUTE for block in blocks for node, _ in block)
    for first in range(ways):
        used = storage.copy()
        order = _arrange(blocks, ways, first, used)
        turns = compute + Counter((first + turn) % ways for turn in range(nodes))
        uneven = sum(count * count for count in (*used.values(), *turns.values()))
        if least < 0 or uneven < least:
            best, least = order, uneven
    return best


def _arrange(blocks: Iterable[Block], ways: int, first: int, storage: Counter[int]) -> list[End]:
    """Return the hosts of blocks in order: compute takes ways in turn, from `first` on.

    Args:
        blocks: leaf by leaf; each has as many hosts as a multiple of `ways`, so each begins at
            way 0.
        ways: uplinks of a leaf.
        first: way of the first compute node.
        storage: destinations so far by way; counted on.
    """
    order: list[End] = []
    turn = first
    for block in blocks:
        order += _filled(block, turn, ways, storage)
        turn = (turn + sum(node.role is Role.COMPUTE for node, _ in block)) % ways
    return order


def _filled(block: Block, begin: int, ways: int, storage: Counter[int]) -> list[End]:
    """Return a leaf's hosts in order, compute from place `begin` on; count its storage."""
    found = seats(block, begin, [storage[way] for way in range(ways)], 1)
    storage.update(place % ways for place in found.storage)
    return found.order(block)
