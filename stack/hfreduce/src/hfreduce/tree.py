"""The double binary tree over a job's nodes, with one pair that talks from zone to zone.

Two trees share the load: a node that adds in one is a leaf in the other (Sanders, Speck and
Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", 2009). Each zone
has a double tree of its own, and the last node of a zone is joined to the first of the next, in
both trees: over that pair only do zones talk (Fire-Flyer AI-HPC, section III-B).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

Parents: TypeAlias = tuple[int, ...]
"""By node, the node above it; -1 at the root."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What one node has to know of one tree."""

    parent: int
    """-1 at the root."""
    children: tuple[int, ...]
    path_to: tuple[int, ...]
    """By node, the child that it lies at or below; -1 where there is none."""


def double_tree(size: int) -> tuple[Parents, Parents]:
    """Return both trees over `size` nodes: the second is the first, mirrored or shifted by one.

    >>> double_tree(4)
    ((2, 0, -1, 2), (1, -1, 3, 1))
    """
    one = tuple(_parent(node, size) for node in range(size))
    two = [-1] * size
    for node, parent in enumerate(one):
        if size % 2 == 0:
            two[size - 1 - node] = size - 1 - parent if parent >= 0 else -1
        else:
            two[(node + 1) % size] = (parent + 1) % size if parent >= 0 else -1
    return one, tuple(two)


def trees_over(zones: Sequence[str]) -> tuple[Parents, Parents]:
    """Return both trees over nodes that are given in their order, by the zone of each.

    Raises:
        ValueError: a zone's nodes do not stand together.

    >>> trees_over(["a", "a", "b", "b"])
    ((-1, 0, 1, 2), (1, -1, 1, 2))
    """
    groups = [(zone, len(list(group))) for zone, group in groupby(zones)]
    if len({zone for zone, _ in groups}) < len(groups):
        raise ValueError(f"the order mixes zones: {', '.join(zone for zone, _ in groups)}")
    trees: tuple[list[int], list[int]] = ([], [])
    first = 0
    for _, size in groups:
        for tree, parents in zip(trees, double_tree(size), strict=True):
            hung = _rooted_at_first(parents) if first else parents
            tree += [first + parent if parent >= 0 else first - 1 for parent in hung]
        first += size
    return tuple(trees[0]), tuple(trees[1])


def renumbered(tree: Parents, order: Sequence[int]) -> Parents:
    """Return a tree over positions as one over nodes; `order[position]` is the node there."""
    parents = [-1] * len(tree)
    for position, parent in enumerate(tree):
        parents[order[position]] = order[parent] if parent >= 0 else -1
    return tuple(parents)


def place(tree: Parents, node: int) -> Place:
    """Return a node's place in a tree."""
    children = tuple(child for child, parent in enumerate(tree) if parent == node)
    return Place(
        parent=tree[node],
        children=children,
        path_to=tuple(_path(tree, node, other) for other in range(len(tree))),
    )


def depth(tree: Parents) -> int:
    """Return the number of messages from the lowest node to the root."""
    return max(_depth(tree, node) for node in range(len(tree)))


def _depth(tree: Parents, node: int) -> int:
    steps = 0
    while tree[node] >= 0:
        node, steps = tree[node], steps + 1
    return steps


def _path(tree: Parents, above: int, node: int) -> int:
    while node >= 0 and tree[node] != above:
        node = tree[node]
    return node


def _parent(node: int, size: int) -> int:
    """Return the node above. Odd nodes are leaves; the middle is the root.

    Node 0, which has no place in a tree of halves, stands between the root and its left half:
    so both trees over 4 nodes are lines, and each node has 3 neighbours in all and not up to 4.
    """
    root = 1 << (size - 1).bit_length() - 1 if size > 2 else 0
    if node == root:
        return -1
    if node == 0 or root == 0:
        return root
    if node == root // 2:
        return 0
    bit = node & -node
    above = (node ^ bit) | (bit << 1)
    return above if above < size else node ^ bit


def _rooted_at_first(parents: Parents) -> Parents:
    """Return the same tree hung up at node 0: the way from there to the old root is turned."""
    turned = list(parents)
    below, node = -1, 0
    while node >= 0:
        above = parents[node]
        turned[node] = below
        below, node = node, above
    return tuple(turned)
