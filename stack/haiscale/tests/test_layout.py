"""Laws of the numbering of ranks."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haiscale.errors import HaiscaleError
from haiscale.groups import node_size
from haiscale.layout import Layout, check_spread, layout_of

DEGREES = st.integers(1, 6)


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    ep, rest = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    return Layout(dp=ep * rest, pp=draw(DEGREES), tp=draw(st.integers(1, 3)), ep=ep)


@given(layouts())
def test_rank_and_place_are_each_others_inverse(layout: Layout) -> None:
    places = [layout.place(rank) for rank in range(layout.world)]
    assert [layout.rank(place) for place in places] == list(range(layout.world))


@given(layouts())
def test_the_groups_of_each_kind_hold_every_rank_once(layout: Layout) -> None:
    sizes = {"pp": layout.pp, "dp": layout.dp, "tp": layout.tp, "ep": layout.ep}
    for kind, size in sizes.items():
        groups = getattr(layout, f"{kind}_groups")()
        assert sorted(rank for group in groups for rank in group) == list(range(layout.world))
        assert {len(group) for group in groups} == {size}
    replicas = layout.expert_replicas()
    assert sorted(rank for group in replicas for rank in group) == list(range(layout.world))


@given(layouts())
def test_groups_of_different_kinds_meet_in_one_rank(layout: Layout) -> None:
    pairs = [
        (layout.pp_groups(), layout.dp_groups()),
        (layout.pp_groups(), layout.tp_groups()),
        (layout.dp_groups(), layout.tp_groups()),
        (layout.ep_groups(), layout.expert_replicas()),
    ]
    for some, others in pairs:
        assert all(len(set(a) & set(b)) <= 1 for a in some for b in others)
    assert layout.tp_groups()[0] == list(range(layout.tp))


@given(layouts(), st.integers(1, 12))
def test_what_check_spread_lets_pass_spreads(layout: Layout, ranks_per_node: int) -> None:
    """No two stages of a pipeline share a node, unless all do."""
    ranks_per_node *= layout.tp
    try:
        check_spread(layout, ranks_per_node)
    except HaiscaleError:
        return
    for group in layout.pp_groups():
        nodes = [rank // ranks_per_node for rank in group]
        assert len(set(nodes)) in (len(group), 1)


def refusal(layout: Layout, ranks_per_node: int) -> str:
    with pytest.raises(HaiscaleError) as caught:
        check_spread(layout, ranks_per_node)
    return str(caught.value)


def test_a_pipeline_longer_than_the_nodes_is_refused() -> None:
    assert refusal(Layout(dp=4, pp=10), 8) == (
        "pp is 10 on 5 nodes of 8 ranks, which leaves 4 data-parallel ranks, while 8 of a node"
        " share an adapter and must sit in different ones: take a pp of at most 5, start at least"
        " 10 nodes, or pass co_locate_stages=True to put neighbouring stages of one pipeline into"
        " a node"
    )
    check_spread(Layout(dp=4, pp=10), 8, co_locate_stages=True)
    check_spread(Layout(dp=4, pp=10), 8, nics_per_node=2)
    check_spread(Layout(dp=1, pp=8), 8)


def test_a_node_partly_filled_is_refused() -> None:
    assert refusal(Layout(dp=3, pp=4), 8) == (
        "12 ranks on nodes of 8 leave a node partly filled: start a multiple of 8 ranks"
    )


def test_a_bad_degree_is_refused() -> None:
    for dp in (0, True, 1.5):
        with pytest.raises(HaiscaleError, match=f"dp is {dp!r}; it must be a whole number from 1"):
            Layout(dp=dp)  # type: ignore[arg-type]
    with pytest.raises(HaiscaleError, match="rank is 8; the job has ranks 0 to 7"):
        Layout(dp=8).place(8)
    with pytest.raises(HaiscaleError, match="start a multiple of 6 ranks, or take a pp from 1, 2"):
        layout_of(16 // 4, pp=3, tp=2)


@pytest.mark.parametrize(
    ("environ", "ranks"),
    [
        ({"LOCAL_WORLD_SIZE": "4", "WORLD_SIZE": "8"}, 4),  # torchrun
        ({"WORLD_SIZE": "2"}, 4),  # HAI Platform: nodes
        ({}, 8),  # one script that spawned them all
    ],
)
def test_how_many_ranks_a_node_runs(environ: dict[str, str], ranks: int) -> None:
    assert node_size(8, environ) == ranks


def test_a_launcher_that_does_not_say_is_named(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "haiscale"):
        assert node_size(8, {"WORLD_SIZE": "8"}) == 8
    assert "neither LOCAL_WORLD_SIZE nor WORLD_SIZE says how many" in caplog.text
    with pytest.raises(HaiscaleError, match="LOCAL_WORLD_SIZE is 'all'; it must be a whole number"):
        node_size(8, {"LOCAL_WORLD_SIZE": "all"})
