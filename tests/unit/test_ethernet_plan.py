"""Laws of the small fabric and of the routes that it should have."""

from __future__ import annotations

from functools import cache

import pytest
from tests.conftest import REPO, MakeSite

from fireflyer.design import design
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric, Layer
from fireflyer.prove.ethernet.checks import walk
from fireflyer.prove.ethernet.expected import Plan
from fireflyer.prove.ethernet.scaled import scaled_down
from fireflyer.prove.ethernet.trials import cables_of

SITES = ("fire-flyer-roce", "next-gen")
MOST_ROUTERS = 32


@cache
def whole_of(site: str) -> Fabric:
    return design(load_site(REPO / "inventory" / site))


@cache
def small_of(site: str) -> Fabric:
    return scaled_down(whole_of(site))


@pytest.fixture
def small(request: pytest.FixtureRequest) -> Fabric:
    return small_of(request.param)


@pytest.mark.parametrize("small", SITES, indirect=True)
def test_every_tree_and_layer_is_there_and_every_leaf_of_hosts_has_one(small: Fabric) -> None:
    assert len(small.switches) <= MOST_ROUTERS
    for tree in small.trees:
        assert len(list(small.switches_of(Layer.LEAF, tree))) >= 2
        assert len(list(small.switches_of(Layer.SPINE, tree))) >= 2
    with_hosts = {port.leaf.device for port in small.node_port.values()}
    assert with_hosts == {switch.name for switch in small.switches_of(Layer.LEAF)}


def test_a_small_fabric_keeps_its_trunks_and_gateways() -> None:
    whole, small = whole_of("fire-flyer-roce"), small_of("fire-flyer-roce")
    assert small.intent.fabric.cables_per_pair == whole.intent.fabric.cables_per_pair
    assert len(Plan(small).gateways) == len(whole.zones)


def test_leaves_of_one_zone_have_every_uplink_as_a_next_hop() -> None:
    plan = Plan(small_of("fire-flyer-roce"))
    fabric, routes = plan.fabric, plan.routes()
    uplinks = fabric.intent.fabric.spine.count * fabric.intent.fabric.cables_per_pair
    leaves = [leaf.name for leaf in fabric.switches_of(Layer.LEAF, "a")]
    for source in leaves:
        for target in leaves:
            if source != target:
                for network in plan.networks[target]:
                    assert len(routes[source][network]) == uplinks


def test_zones_reach_each_other_through_both_gateways() -> None:
    plan = Plan(small_of("fire-flyer-roce"))
    leaves = {s.name: plan.networks[s.name][1] for s in plan.fabric.switches_of(Layer.LEAF)}
    walked = walk(plan, plan.routes(), leaves)
    assert walked.reached == walked.pairs
    assert walked.across > 0
    assert walked.around_gateway == 0


def test_planes_reach_nothing_of_each_other() -> None:
    plan = Plan(small_of("next-gen"))
    for switch, table in plan.routes().items():
        own = {
            network
            for other, networks in plan.networks.items()
            if plan.tree_of(other) == plan.tree_of(switch)
            for network in networks
        }
        assert table.keys() <= own


@pytest.mark.parametrize("small", SITES, indirect=True)
def test_without_a_spine_leaves_lose_its_cables_and_nothing_else(small: Fabric) -> None:
    plan = Plan(small)
    spine = next(small.switches_of(Layer.SPINE))
    cut = frozenset(cables_of(plan, spine.name))
    well, hurt = plan.routes(), plan.routes(cut)
    gone = {low for name, (low, _) in plan.cables.items() if name in cut}
    for leaf in small.switches_of(Layer.LEAF, spine.tree):
        for network, hops in well[leaf.name].items():
            kept = frozenset(hop for hop in hops if (leaf.name, hop) not in gone)
            assert hurt[leaf.name].get(network, frozenset()) == kept


def test_without_a_cable_no_path_turns_at_a_leaf() -> None:
    """A spine that lost a leaf has no route to it: the leaf is reached by the others."""
    plan = Plan(small_of("next-gen"))
    cable, (leaf, spine) = next(iter(plan.cables.items()))
    hurt = plan.routes(frozenset((cable,)))
    assert not hurt[spine[0]].keys() & set(plan.networks[leaf[0]])


def test_three_layers_are_scaled_too(make_site: MakeSite) -> None:
    changes = {
        "cluster.fabric.zones": 1,
        "cluster.fabric.interzone": None,
        "cluster.fabric.layers": 3,
        "cluster.fabric.pods_per_zone": 2,
        "cluster.fabric.core": {"model": "sn4600", "count": 8},
        "cluster.fabric.cables_per_pair": 1,
        "cluster.fabric.leaf.count": 16,
        "cluster.fabric.spine.count": 16,
        "cluster.storage.nodes": 0,
        "cluster.compute.nodes": 100,
        "cluster.addresses.roce": ["10.20.0.0/16"],
    }
    whole = design(load_site(make_site("fire-flyer-roce", changes)))
    small = scaled_down(whole)
    plan = Plan(small)
    leaves = {s.name: plan.networks[s.name][1] for s in small.switches_of(Layer.LEAF)}
    walked = walk(plan, plan.routes(), leaves)
    assert walked.reached == walked.pairs
    assert walked.longest_hops == 5
    assert len(small.switches) <= MOST_ROUTERS
