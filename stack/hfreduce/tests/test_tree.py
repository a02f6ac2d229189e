"""Laws of the double binary tree."""

from __future__ import annotations

import math

import pytest
from hfreduce.bound import between_nodes
from hfreduce.tree import depth, double_tree, place, renumbered, trees_over
from hypothesis import given
from hypothesis import strategies as st


def _children(tree: tuple[int, ...]) -> list[int]:
    return [sum(parent == node for parent in tree) for node in range(len(tree))]


@given(st.integers(1, 700))
def test_both_trees_span_all_nodes_and_stay_low(size: int) -> None:
    for tree in double_tree(size):
        assert tree.count(-1) == 1
        assert max(_children(tree)) <= 2
        assert depth(tree) <= math.ceil(math.log2(size)) + 1 if size > 1 else depth(tree) == 0


@given(st.integers(2, 700))
def test_a_node_adds_in_one_tree_at_most(size: int) -> None:
    """A node that has others below it in both: at most one, where their number is odd."""
    one, two = (_children(tree) for tree in double_tree(size))
    assert sum(bool(a and b) for a, b in zip(one, two, strict=True)) <= size % 2


@given(st.integers(2, 700))
def test_the_load_is_even(size: int) -> None:
    """What a node sends is half the data to each neighbour; bound.between_nodes() says how much."""
    neighbours = [0] * size
    for tree in double_tree(size):
        for node, parent in enumerate(tree):
            if parent >= 0:
                neighbours[node] += 1
                neighbours[parent] += 1
    assert max(neighbours) / 2 == between_nodes(size)[0]


@given(st.lists(st.integers(1, 60), min_size=1, max_size=5))
def test_one_pair_joins_a_zone_to_the_next(sizes: list[int]) -> None:
    zones = [str(zone) for zone, size in enumerate(sizes) for _ in range(size)]
    pairs = set()
    for tree in trees_over(zones):
        assert tree.count(-1) == 1
        assert max(_children(tree)) <= 2
        assert depth(tree) < len(zones)
        for node, parent in enumerate(tree):
            if parent >= 0 and zones[node] != zones[parent]:
                pairs.add((min(node, parent), max(node, parent)))
    assert len(pairs) == len(sizes) - 1


@given(st.integers(1, 80), st.randoms(use_true_random=False))
def test_places_lead_to_every_node(size: int, random: object) -> None:
    order = list(range(size))
    random.shuffle(order)  # type: ignore[attr-defined]
    tree = renumbered(double_tree(size)[0], order)
    for node in range(size):
        here = place(tree, node)
        for other in range(size):
            child = here.path_to[other]
            if child < 0:
                continue
            assert tree[child] == node
            assert child == other or place(tree, child).path_to[other] >= 0
        below = sum(child >= 0 for child in here.path_to)
        assert below == sum(1 for other in range(size) if node in _above(tree, other))


def _above(tree: tuple[int, ...], node: int) -> set[int]:
    above = set()
    while tree[node] >= 0:
        node = tree[node]
        above.add(node)
    return above


def test_zones_that_are_mixed_are_refused() -> None:
    with pytest.raises(ValueError, match="the order mixes zones: a, b, a"):
        trees_over(["a", "b", "a"])
