"""Laws of the rank order: two trees, and one pair of nodes from zone to zone."""

from __future__ import annotations

import itertools
import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireflyer.design.rank_order import Parents, double_tree, rooted_at_first, tree_order
from fireflyer.model.fabric import Fabric, Node, Role
from fireflyer.render.exports import files


def depth(parents: Parents) -> int:
    """Return the longest way up, in steps; a cycle, or a second root, fails."""
    assert parents.count(-1) == 1
    longest = 0
    for rank in range(len(parents)):
        steps = 0
        while parents[rank] >= 0:
            rank, steps = parents[rank], steps + 1
            assert steps < len(parents), "a cycle"
        longest = max(longest, steps)
    return longest


def below(parents: Parents) -> Counter[int]:
    """Return how many ranks hang on each."""
    return Counter(parent for parent in parents if parent >= 0)


@given(st.integers(1, 700))
def test_a_double_tree_is_two_shallow_binary_trees(size: int) -> None:
    for parents in double_tree(size):
        assert depth(parents) <= size.bit_length()
        assert max(below(parents).values(), default=0) <= 2


@given(st.integers(1, 700))
def test_no_rank_has_two_below_it_in_both_trees(size: int) -> None:
    one, two = map(below, double_tree(size))
    assert not [rank for rank in range(size) if one[rank] == two[rank] == 2]


@given(st.integers(1, 350).map(lambda half: 2 * half))
def test_of_an_even_number_each_rank_works_in_one_tree_alone(size: int) -> None:
    one, two = map(below, double_tree(size))
    assert all((one[rank] == 0) != (two[rank] == 0) for rank in range(size))


@given(st.integers(1, 300))
def test_a_tree_hung_up_elsewhere_has_the_same_edges(size: int) -> None:
    for parents in double_tree(size):
        turned = rooted_at_first(parents)
        assert turned[0] == -1
        assert {frozenset((r, p)) for r, p in enumerate(parents) if p >= 0} == {
            frozenset((r, p)) for r, p in enumerate(turned) if p >= 0
        }


@given(data=st.data())
def test_one_pair_crosses_between_two_zones(fire_flyer_2: Fabric, data: st.DataObject) -> None:
    nodes = list(fire_flyer_2.nodes_of(Role.COMPUTE))
    job = data.draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=90, unique_by=id))
    order = tree_order(job)
    assert sorted(n.name for n in order.nodes) == sorted(n.name for n in job)
    zones = {node.zone for node in job}
    assert len(order.crossings) == len(zones) - 1
    for parents in order.trees:
        crossing = [
            rank
            for rank, parent in enumerate(parents)
            if parent >= 0 and order.nodes[rank].zone != order.nodes[parent].zone
        ]
        assert len(crossing) == len(zones) - 1
        assert max(below(parents).values(), default=0) <= 2
        assert depth(parents) <= 4 * len(job).bit_length()


@given(sizes=st.lists(st.integers(1, 40), min_size=3, max_size=8))
def test_several_zones_form_a_chain(fire_flyer_2: Fabric, sizes: list[int]) -> None:
    order = tree_order(moved(fire_flyer_2, sizes))
    assert len(order.crossings) == len(sizes) - 1
    for parents in order.trees:
        depth(parents)
        assert max(below(parents).values(), default=0) <= 2


def moved(fabric: Fabric, sizes: list[int]) -> list[Node]:
    """Return compute nodes, as many in each of several zones."""
    from dataclasses import replace

    nodes = fabric.nodes_of(Role.COMPUTE)
    return [
        replace(next(nodes), zone=zone)
        for zone, size in zip("abcdefgh", sizes, strict=False)
        for _ in range(size)
    ]


def test_ranks_of_a_leaf_are_neighbours(fire_flyer_2: Fabric) -> None:
    order = tree_order(list(fire_flyer_2.nodes_of(Role.COMPUTE)))
    leaves = [node.ports[0].leaf.device for node in order.nodes]
    assert sum(a != b for a, b in itertools.pairwise(leaves)) == len(set(leaves)) - 1


@pytest.mark.parametrize(("job", "nodes", "pairs"), [("zone-a", 600, 0), ("site", 1200, 1)])
def test_files_of_whole_jobs(fire_flyer_2: Fabric, job: str, nodes: int, pairs: int) -> None:
    content = dict(files(fire_flyer_2))[f"exports/hfreduce/{job}.json".removeprefix("exports/")]
    found = json.loads(content)
    assert len(found["nodes"]) == nodes
    assert [len(tree) for tree in found["trees"]] == [nodes, nodes]
    assert len(found["crossings"]) == pairs
