"""The order of a job's nodes, and the double binary tree over it, for all-reduce.

Two trees share the load: a node that adds in one passes on in the other (Sanders, Speck and
Traeff, 2009). Over all ranks of two zones of 600 nodes, in order of zone, these trees have 16
pairs of nodes that talk across. So each zone gets a double tree of its own, and two neighbouring
ranks join zone to zone: the only pair that does (paper, section III-B).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from fireflyer.model.fabric import Node

Parents: TypeAlias = tuple[int, ...]
"""By rank, the rank above it; -1 at the root."""


@dataclass(frozen=True, slots=True)
class TreeOrder:
    """A job's nodes by rank, and its two trees."""

    nodes: tuple[Node, ...]
    trees: tuple[Parents, Parents]

    @property
    def crossings(self) -> tuple[tuple[str, str], ...]:
        """Pairs of nodes of different zones that talk, each once, in order of rank."""
        pairs = {
            (min(rank, parent), max(rank, parent))
            for tree in self.trees
            for rank, parent in enumerate(tree)
            if parent >= 0 and self.nodes[rank].zone != self.nodes[parent].zone
        }
        return tuple((self.nodes[a].name, self.nodes[b].name) for a, b in sorted(pairs))


def tree_order(nodes: Sequence[Node]) -> TreeOrder:
    """Order a job's nodes by zone, leaf and port, and build its trees.

    A zone's last rank is joined to the next zone's first: both have few neighbours in both
    trees, so no node gets more than two below it.
    """
    ordered = sorted(nodes, key=_place)
    sizes = [len(list(group)) for _, group in groupby(ordered, key=lambda node: node.zone)]
    trees: tuple[list[int], list[int]] = ([], [])
    first = 0
    for size in sizes:
        for tree, parents in zip(trees, double_tree(size), strict=True):
            if first:
                parents = rooted_at_first(parents)
            tree += [first + parent if parent >= 0 else first - 1 for parent in parents]
            if not first:
                tree[parents.index(-1)] = -1
        first += size
    return TreeOrder(tuple(ordered), (tuple(trees[0]), tuple(trees[1])))


def _place(node: Node) -> tuple[str, str, int]:
    leaf = node.ports[0].leaf
    return node.zone, leaf.device, leaf.number


def double_tree(size: int) -> tuple[Parents, Parents]:
    """Return both trees over `size` ranks: the second is the first, mirrored or shifted by one.

    >>> double_tree(4)
    ((2, 0, -1, 2), (1, -1, 3, 1))
    """
    one = tuple(_parent(rank, size) for rank in range(size))
    two = [-1] * size
    for rank, parent in enumerate(one):
        if size % 2 == 0:
            two[size - 1 - rank] = size - 1 - parent if parent >= 0 else -1
        else:
            two[(rank + 1) % size] = (parent + 1) % size if parent >= 0 else -1
    return one, tuple(two)


def _parent(rank: int, size: int) -> int:
    """Return the rank above. Odd ranks are leaves; the middle is the root.

    Rank 0, which has no place in a tree of halves, stands between the root and its left half:
    so both trees over 4 ranks are lines, and each rank has 3 neighbours in all and not up to 4.
    """
    root = 1 << (size - 1).bit_length() - 1 if size > 2 else 0
    if rank == root:
        return -1
    if rank == 0 or root == 0:
        return root
    if rank == root // 2:
        return 0
    bit = rank & -rank
    above = (rank ^ bit) | (bit << 1)
    return above if above < size else rank ^ bit


def rooted_at_first(parents: Parents) -> Parents:
    """Return the same tree hung up at rank 0: the way from there to the old root is turned.

    >>> rooted_at_first((1, -1, 3, 1))
    (-1, 0, 3, 1)
    """
    turned = list(parents)
    below, rank = -1, 0
    while rank >= 0:
        above = parents[rank]
        turned[rank] = below
        below, rank = rank, above
    return tuple(turned)
