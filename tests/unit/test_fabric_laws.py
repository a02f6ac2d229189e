"""The laws every fabric obeys, whatever its size."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.conftest import make_site_in
from tests.intents import BLOCKS, changes
from tests.sites import THREE_LAYERS

from fireflyer.design import design
from fireflyer.design.plan.figures import plan
from fireflyer.design.shape import Shape, shape_of
from fireflyer.errors import IntentError
from fireflyer.load import load_site
from fireflyer.model.fabric import CableRole, Fabric, Layer, Role
from fireflyer.prove.infiniband.netfile import parse_netfile
from fireflyer.render import artefacts


def fabric_of(base: str, changes: dict[str, Any]) -> Fabric:
    """Design a changed site; its files are gone afterwards."""
    return designed(base, changes)[0]


def designed(base: str, changes: dict[str, Any]) -> tuple[Fabric, Shape]:
    """Design a changed site, and return the shape that was asked for too."""
    with tempfile.TemporaryDirectory() as folder:
        site = load_site(make_site_in(Path(folder), base, changes))
    return design(site), shape_of(site)


@settings(max_examples=60, deadline=None)
@given(changes())
def test_every_port_is_used_once_and_exists(change: dict[str, Any]) -> None:
    fabric = fabric_of("lab", change)
    ends = [end for cable in fabric.cables for end in (cable.a, cable.z)]
    assert len(ends) == len(set(ends))
    for end in ends:
        if end.device in fabric.switch:
            assert 1 <= end.number <= fabric.switch[end.device].model.ports
        else:
            assert 1 <= end.number <= len(fabric.node[end.device].model.nics)


@settings(max_examples=60, deadline=None)
@given(changes())
def test_every_leaf_reaches_every_spine_of_its_pod_equally(change: dict[str, Any]) -> None:
    fabric = fabric_of("lab", change)
    pairs = Counter(
        (c.a.device, c.z.device)
        for c in fabric.cables
        if c.role is CableRole.TREE and fabric.switch[c.a.device].layer is Layer.LEAF
    )
    intent = fabric.intent.fabric
    leaves, spines = (n.count // intent.pods_per_zone for n in (intent.leaf, intent.spine))
    expected = {
        (leaf.name, spine.name)
        for tree in fabric.trees
        for leaf in fabric.switches_of(Layer.LEAF, tree)
        for spine in fabric.switches_of(Layer.SPINE, tree)
        if leaf.index // leaves == spine.index // spines  # in one pod
    }
    assert set(pairs) == expected
    assert set(pairs.values()) == {change["cluster.fabric.cables_per_pair"]}


@settings(max_examples=60, deadline=None)
@given(changes())
def test_storage_is_in_every_tree_and_spreads_within_one(change: dict[str, Any]) -> None:
    fabric = fabric_of("lab", change)
    for node in fabric.nodes_of(Role.STORAGE):
        trees = [port.tree for port in node.ports]
        assert trees == list(fabric.trees) * (len(trees) // len(fabric.trees))
    links = fabric.intent.fabric.interzone.links_per_zone if fabric.intent.fabric.interzone else 0
    for tree in fabric.trees:
        leaves = [leaf.name for leaf in fabric.switches_of(Layer.LEAF, tree)]
        storage, others = Counter[str](), Counter[str]()
        for node in fabric.nodes:
            for port in node.ports:
                if port.tree == tree:
                    held = storage if node.role is Role.STORAGE else others
                    held[port.leaf.device] += 1
        ports = fabric.budgets[tree].total // len(leaves)
        most = max(storage.values(), default=0)
        for leaf in leaves:  # a leaf with less storage than another is full, or one short of it
            full = storage[leaf] + others[leaf] == ports - (links if leaf == leaves[-1] else 0)
            assert storage[leaf] >= most - 1 or full


@settings(max_examples=60, deadline=None)
@given(changes())
def test_consecutive_compute_nodes_fill_leaf_after_leaf(change: dict[str, Any]) -> None:
    fabric = fabric_of("lab", change)
    for tree in fabric.trees:
        rails: dict[int, list[str]] = {}
        for node in fabric.nodes_of(Role.COMPUTE):
            for port in node.ports:
                if port.tree == tree:
                    rails.setdefault(port.rail, []).append(port.leaf.device)
        if len(rails) == 1:
            (leaves,) = rails.values()
            assert leaves == sorted(leaves)


@settings(max_examples=60, deadline=None)
@given(changes())
def test_management_nodes_stand_on_different_leaves(change: dict[str, Any]) -> None:
    fabric = fabric_of("lab", change)
    for tree in fabric.trees:
        held = Counter(
            port.leaf.device
            for node in fabric.nodes_of(Role.MANAGEMENT)
            for port in node.ports
            if port.tree == tree
        )
        whole = sum(1 for _ in fabric.switches_of(Layer.LEAF, tree)) - (len(fabric.zones) > 1)
        # Where a node has several adapters they stand on the last unit's leaves; without a node one
        # cannot tell, and the first that is appended must not move them.
        rails = max(
            (port.rail + 1 for node in fabric.nodes_of(Role.COMPUTE) for port in node.ports),
            default=0,
        )
        if rails == 1 and held.total() <= whole:
            assert set(held.values()) <= {1}


@settings(max_examples=60, deadline=None)
@given(changes())
def test_planes_and_zones_are_joined_as_the_intent_says(change: dict[str, Any]) -> None:
    """No cable joins two planes; zones meet at the switches between them and nowhere else."""
    fabric = fabric_of("lab", change)
    for cable in fabric.cables:
        if cable.role is CableRole.HOST:
            assert fabric.switch[cable.z.device].tree == fabric.node_port[cable.a].tree
            continue
        lower, upper = fabric.switch[cable.a.device], fabric.switch[cable.z.device]
        if cable.role is CableRole.TREE:
            assert lower.tree == upper.tree
        else:
            assert (lower.layer, upper.layer) == (Layer.LEAF, Layer.INTERZONE)
            assert lower.index == change["cluster.fabric.leaf.count"] - 1


@settings(max_examples=60, deadline=None)
@given(changes())
def test_adapter_i_is_on_tree_i(change: dict[str, Any]) -> None:
    fabric = fabric_of("lab", change)
    for node in fabric.nodes:
        reached = fabric.trees
        if len(fabric.zones) > 1 and node.role is not Role.STORAGE:
            reached = (node.zone,)
        assert [port.tree for port in node.ports] == [
            reached[index % len(reached)] for index in range(len(node.ports))
        ]


@settings(max_examples=60, deadline=None)
@given(changes())
def test_addresses_are_unique_and_a_leaf_routes_its_own_hosts(change: dict[str, Any]) -> None:
    fabric = fabric_of("lab", change)
    ports = list(fabric.node_port.values())
    given = [port.address for port in ports] + [s.management for s in fabric.switches]
    given += [node.management for node in fabric.nodes]
    gateways = {port.leaf.device: port.gateway for port in ports if port.gateway}
    given += gateways.values()
    assert len(set(given)) == len(given)
    networks: dict[str, str] = {}
    for port in ports:
        assert port.address in port.network
        if fabric.is_ethernet:
            assert port.gateway == gateways[port.leaf.device]
            assert port.gateway in port.network
            assert networks.setdefault(str(port.network), port.leaf.device) == port.leaf.device


@settings(max_examples=60, deadline=None)
@given(changes())
def test_the_budget_counts_the_cables(change: dict[str, Any]) -> None:
    fabric = fabric_of("lab", change)
    for tree, budget in fabric.budgets.items():
        lower = [
            cable
            for cable in fabric.cables
            for end in (cable.a, cable.z)
            if cable.role is not CableRole.TREE
            and end.device in fabric.switch
            and fabric.switch[end.device].layer is Layer.LEAF
            and fabric.switch[end.device].tree == tree
        ]
        assert budget.used == len(lower)
        assert budget.used + budget.free == budget.total


@settings(max_examples=40, deadline=None)
@given(changes())
def test_plan_renderings_and_what_is_proved_count_the_same(change: dict[str, Any]) -> None:
    fabric, shape = designed("lab", change)
    figures = plan(fabric, shape)
    files = artefacts(fabric, ("cabling", "frr", "ibsim"))
    cables = sum(figures.cables.values())
    between = cables - figures.cables[str(CableRole.HOST)]
    assert len(files["cabling/cables.csv"].splitlines()) - 1 == cables
    if fabric.is_ethernet:  # what vtysh and the routers are given
        routers = [text for path, text in files.items() if path.startswith("frr/")]
        sessions = sum(
            line.startswith(" neighbor ") and " remote-as " in line
            for text in routers
            for line in text.splitlines()
        )
        assert (len(routers), sessions) == (sum(figures.switches.values()), 2 * between)
    else:  # what ibsim loads
        netfile = parse_netfile(files["ibsim/fabric.net"], "fabric.net")
        adapters = sum(len(node.ports) for node in fabric.nodes)
        assert len(netfile.far) == 2 * cables
        assert len(netfile.nodes) == sum(figures.switches.values()) + adapters


@settings(max_examples=30, deadline=None)
@given(changes())
def test_the_same_intent_gives_the_same_files(change: dict[str, Any]) -> None:
    assert artefacts(fabric_of("lab", change)) == artefacts(fabric_of("lab", change))


@settings(max_examples=40, deadline=None)
@given(changes(), st.sampled_from(["compute", "storage"]))
def test_appending_nodes_moves_nobody(change: dict[str, Any], role: str) -> None:
    if role == "storage":  # leaf by leaf, storage takes its ports from the leaves before compute
        change = change | {"cluster.compute.placement": "spread"}
    before = fabric_of("lab", change)
    more = change | {f"cluster.{role}.nodes": change[f"cluster.{role}.nodes"] + 1}
    try:
        after = fabric_of("lab", more)
    except IntentError:
        assume(False)  # there was no room for one more
        return
    for node in before.nodes:
        now = after.node[node.name]
        assert (now.management, now.loopback, now.place.rack) == (
            node.management,
            node.loopback,
            node.place.rack,
        )
        assert [(p.leaf, p.address, p.guid) for p in now.ports] == [
            (p.leaf, p.address, p.guid) for p in node.ports
        ]


def test_fire_flyer_2_closes_exactly(fire_flyer_2: Fabric) -> None:
    assert len(fire_flyer_2.switches) == 122
    assert len(fire_flyer_2.cables) == 3200
    for zone in "ab":
        per_leaf = Counter(
            (port.leaf.device, node.role)
            for node in fire_flyer_2.nodes
            for port in node.ports
            if port.tree == zone
        )
        *leaves, gateway = fire_flyer_2.switches_of(Layer.LEAF, zone)
        assert (per_leaf[gateway.name, Role.COMPUTE], per_leaf[gateway.name, Role.STORAGE]) == (
            0,
            4,
        )
        for leaf in leaves:
            compute, storage, management = (per_leaf[leaf.name, role] for role in Role)
            assert (compute, storage, management) in {(16, 4, 0), (15, 5, 0), (15, 4, 1)}


def test_two_cables_of_a_fabric_never_share_a_guid(fire_flyer_2: Fabric) -> None:
    guids = [port.guid.value for port in fire_flyer_2.node_port.values()]
    guids += [switch.guid.value for switch in fire_flyer_2.switches]
    assert len(set(guids)) == len(guids)
    assert all(guid >> 56 == 0x02 for guid in guids)  # locally administered


def test_three_layers_join_every_pod_to_every_core() -> None:
    fabric = fabric_of("lab", THREE_LAYERS)
    up = Counter(
        (fabric.switch[c.a.device].layer, c.z.device)
        for c in fabric.cables
        if c.role is CableRole.TREE and fabric.switch[c.z.device].layer is Layer.CORE
    )
    assert up == {(Layer.SPINE, "a-core01"): 8, (Layer.SPINE, "a-core02"): 8}
    leaf = Counter(
        c.a.device for c in fabric.cables if c.role is CableRole.TREE and "leaf" in c.a.device
    )
    assert set(leaf.values()) == {4}


@pytest.mark.parametrize(("pods", "cores", "total"), [(4, 40, 200), (25, 320, 1320)])
def test_the_papers_three_layer_trees_of_40_port_switches(
    pods: int, cores: int, total: int
) -> None:
    """Table III: 200 switches for 1,600 ports, 1,320 for 10,000."""
    change = THREE_LAYERS | {
        "cluster.fabric.pods_per_zone": pods,
        "cluster.fabric.leaf": {"model": "qm8700", "count": 20 * pods},
        "cluster.fabric.spine": {"model": "qm8700", "count": 20 * pods},
        "cluster.fabric.core": {"model": "qm8700", "count": cores},
        "cluster.fabric.cables_per_pair": 1,
        "cluster.racks": {
            "power_kw": 50.0,
            "per_row": 50,
            "pitch_m": 0.5,
            "row_pitch_m": 1.0,
            "nodes": {"compute": 2, "storage": 1},
            "network": {"rows": 6, "per_row": 10, "devices": 27},
        },
        "cluster.addresses": {
            "management": "10.0.0.0/16",
            "ipoib": ["10.1.0.0/16", "10.2.0.0/16"],
            "loopback": "10.9.0.0/16",
            "blocks": BLOCKS,
        },
    }
    fabric = fabric_of("lab", change)
    assert len(fabric.switches) == total
    assert fabric.budgets["a"].total == pods * 400
