"""Laws of placement."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from haiscale.errors import HaiscaleError
from haiscale.layout import Layout
from haiscale.node import Gpu, Nic, NodeModel, plain_node
from haiscale.planner import Plan, Zone, place, zones_of
from haiscale.planner.rules import check

NODE = plain_node(8)
NODES = [
    NODE,
    plain_node(8, nvlink=((0, 1), (2, 3), (4, 6), (5, 7))),
    plain_node(8, nvlink=((0, 1, 2, 3), (4, 5, 6, 7)), nics=2),
    plain_node(4, nics=4),
]


def placed(layout: Layout, node: NodeModel, zones: tuple[Zone, ...]) -> Plan:
    """Return the plan of a job that has one; hypothesis fails if few do."""
    try:
        return place(layout, node, zones)
    except HaiscaleError:
        reject()


@st.composite
def jobs(draw: st.DrawFn) -> tuple[Layout, NodeModel, tuple[Zone, ...]]:
    node = draw(st.sampled_from(NODES))
    tp = draw(st.sampled_from([1, 2]))
    cells = len(node.gpus) // tp
    dp = cells * draw(st.integers(1, 8))
    ep = draw(st.sampled_from([1, cells, dp]))
    counts = draw(st.lists(st.integers(1, 30), min_size=1, max_size=3))
    zones = zones_of(dict(zip("abc", counts, strict=False)))
    return Layout(dp=dp, pp=draw(st.integers(1, 6)), tp=tp, ep=ep), node, zones


@given(jobs())
@settings(max_examples=200)
def test_a_plan_is_a_permutation_that_keeps_the_rules(
    job: tuple[Layout, NodeModel, tuple[Zone, ...]],
) -> None:
    layout, node, zones = job
    plan = placed(layout, node, zones)
    slots = {(rank.host, rank.gpu) for rank in plan.ranks}
    assert len(slots) == len(plan.ranks) == layout.world
    assert [rank.rank for rank in plan.ranks] == list(range(layout.world))
    assert {(host.name, host.zone) for host in plan.hosts} <= {
        (name, zone.name) for zone in zones for name in zone.nodes
    }
    assert "broken" not in {rule.state for rule in plan.rules}
    assert place(layout, node, zones) == plan


@given(jobs())
@settings(max_examples=100)
def test_the_groups_of_the_running_job_are_those_of_the_plan(
    job: tuple[Layout, NodeModel, tuple[Zone, ...]],
) -> None:
    """Each law, from the groups that `haiscale.pipeline` makes of the ranks."""
    layout, node, zones = job
    ranks = placed(layout, node, zones).ranks
    joined = [set(group) for group in node.nvlink]
    for group in layout.tp_groups():
        assert len({ranks[rank].host for rank in group}) == 1
        assert len(group) == 1 or any({ranks[r].gpu for r in group} <= each for each in joined)
    for group in layout.pp_groups():
        assert len({ranks[rank].zone for rank in group}) == 1
        adapters = [(ranks[rank].host, ranks[rank].nic) for rank in group]
        assert len(set(adapters)) == len(adapters) or len({r.host for r in ranks}) == 1
    for group in layout.ep_groups():
        assert len({ranks[rank].zone for rank in group}) == 1
    for group in layout.dp_groups():
        used = {ranks[rank].zone for rank in group}
        crossings = sum(ranks[a].zone != ranks[b].zone for a, b in pairwise(group))
        assert crossings == len(used) - 1
        assert crossings == 0 or layout.world >= 128


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=50)
def test_a_shuffled_plan_is_told_apart(seed: int) -> None:
    layout = Layout(dp=16, pp=4, tp=2, ep=8)
    plan = place(layout, NODE, zones_of({"a": 8, "b": 10}))
    slots = [(rank.host, rank.zone, rank.gpu) for rank in plan.ranks]
    random.Random(seed).shuffle(slots)
    shuffled = [
        replace(rank, host=host, zone=zone, gpu=gpu)
        for rank, (host, zone, gpu) in zip(plan.ranks, slots, strict=True)
    ]
    states = [rule.state for rule in check(layout, NODE, shuffled)]
    assert states.count("broken") >= 3


def rules(plan: Plan) -> dict[str, str]:
    return {rule.name: rule.state for rule in plan.rules}


def test_the_smallest_zone_that_holds_a_job_gets_it() -> None:
    plan = place(Layout(dp=8, pp=4), NODE, zones_of({"a": 600, "b": 5, "c": 3}))
    assert {host.zone for host in plan.hosts} == {"b"}


def test_a_job_over_two_zones_crosses_once() -> None:
    plan = place(Layout(dp=160, pp=4), NODE, zones_of({"a": 45, "b": 37}))
    zones = [host.zone for host in plan.hosts[:20]]
    assert zones == ["a"] * 11 + ["b"] * 9
    assert rules(plan)["one crossing between zones"] == "kept"


def test_the_papers_smallest_run_of_its_moe_needs_stages_to_share_nodes() -> None:
    layout = Layout(dp=4, pp=10)
    plan = place(layout, NODE, zones_of({"a": 5}), co_locate_stages=True)
    assert rules(plan)["a node's GPUs in different data-parallel ranks"] == "weakened"
    assert [rank.pp for rank in plan.ranks[:8]] == [0] * 4 + [1] * 4


def test_local_ranks_count_in_the_order_of_the_bridges() -> None:
    plan = place(Layout(dp=4, tp=2), NODES[1], zones_of({"a": 1}))
    assert plan.visible_devices == "0,1,2,3,4,6,5,7"
    assert place(Layout(dp=8), NODES[1], zones_of({"a": 1})).visible_devices == "0,1,2,3,4,5,6,7"


def test_a_gpu_sends_through_the_adapter_beside_it() -> None:
    port = NodeModel(
        name="switches",
        gpus=tuple(Gpu(numa=i // 2, root_port=i // 2) for i in range(4)),
        nics=tuple(Nic(numa=i // 2, root_port=i // 2) for i in range(4)),
    )
    assert [port.nic_of(gpu) for gpu in range(4)] == [0, 1, 2, 3]
    assert [plain_node(8, nics=2).nic_of(gpu) for gpu in range(8)] == [0] * 4 + [1] * 4
    assert [plain_node(8).nic_of(gpu) for gpu in range(8)] == [0] * 8


@pytest.mark.parametrize(
    ("layout", "zones", "message"),
    [
        (
            Layout(dp=4, pp=8),
            {"a": 4},
            "dp is 4, fewer than the GPUs that share an adapter: ranks 0 and 4, stages 0 and 1 of"
            " data-parallel rank 0, would share adapter 0 of a-cn0001; take a dp of 8 or more, a"
            " smaller pp, or --co-locate-stages",
        ),
        (
            Layout(dp=12),
            {"a": 4},
            "dp is 12, which is no multiple of the 8 replicas that a node of 8 GPUs holds at tp 1:"
            " nodes are given out whole; take dp 8 or 16",
        ),
        (
            Layout(dp=3, pp=4),
            {"a": 4},
            "12 ranks (dp 3 x pp 4 x tp 1) do not fill nodes of 8 GPUs: nodes are given out whole;"
            " take a multiple of 8 ranks",
        ),
        (
            Layout(dp=8, pp=4),
            {"a": 3, "b": 3},
            "the job needs 1 times 4 nodes, each time in one zone, so that pipelines and experts"
            " stay inside; the zones have a 3, b 3: take a smaller job, or a pp (now 4) or ep (now"
            " 1) that fits a zone",
        ),
        (
            Layout(dp=24, pp=2),
            {"a": 4, "b": 4},
            "the job needs 6 nodes, and no zone has them together (a 4, b 4): a job of 48 GPUs may"
            " not cross zones, which begins at 128; wait for nodes of one zone",
        ),
        (
            Layout(dp=24, ep=3),
            {"a": 4},
            "ep is 3, which neither divides the 8 data-parallel ranks of a node nor is a multiple"
            " of them: its all-to-all would cut nodes apart; take ep 8",
        ),
        (Layout(dp=8), {"a": 0}, "zone a has 0 nodes; it needs at least 1"),
    ],
)
def test_refusals(layout: Layout, zones: dict[str, int], message: str) -> None:
    with pytest.raises(HaiscaleError) as caught:
        place(layout, NODE, zones_of(zones))
    assert str(caught.value) == message


def test_a_node_named_twice_is_refused() -> None:
    zones = (Zone("a", ("cn1", "cn2")), Zone("b", ("cn2",)))
    with pytest.raises(HaiscaleError, match="cn2 is named twice among the zones' nodes"):
        place(Layout(dp=8), NODE, zones)
    with pytest.raises(HaiscaleError, match="the zones have no nodes"):
        place(Layout(dp=8), NODE, ())
