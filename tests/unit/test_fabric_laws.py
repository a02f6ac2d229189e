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
from tests.sites import THREE_LAYERS

from fireflyer.design import design
from fireflyer.errors import IntentError
from fireflyer.load import load_site
from fireflyer.model.fabric import CableRole, Fabric, Layer, Role
from fireflyer.render import artefacts

SMALL = {
    "cluster.racks.power_kw": 1000.0,
    "cluster.racks.per_row": 100,
    "cluster.addresses": {
        "management": "10.0.0.0/16",
        "ipoib": ["10.1.0.0/16"],
        "loopback": "10.9.0.0/16",
        "blocks": {
            "management": {"first": 1, "size": 1000},
            "storage": {"first": 1001, "size": 1000},
            "compute": {"first": 2001, "size": 1000},
            "switch": {"first": 3001, "size": 4000},
        },
    },
}


def fabric_of(base: str, changes: dict[str, Any]) -> Fabric:
    """Design a changed site; its files are gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        return design(load_site(make_site_in(Path(folder), base, changes)))


@st.composite
def changes(draw: st.DrawFn) -> dict[str, Any]:
    """Any site of one or two zones that its switches can hold."""
    zones = draw(st.integers(1, 2))
    trunk = draw(st.integers(1, 2))
    spines = draw(st.integers(1, 6 // trunk))
    leaves = draw(st.integers(2, 8 // trunk))
    host_ports = 8 - spines * trunk
    host_leaves = leaves - (zones > 1)
    room = host_leaves * host_ports
    links = draw(st.integers(1, min(host_ports - 1, 4)))
    spare = int(zones == 1)  # its management node hangs on an ordinary leaf
    storage = draw(st.integers(0, room - spare))
    compute = draw(st.integers(0, room - spare - storage))
    management = (host_ports - links) if zones > 1 else room - storage - compute
    addresses = SMALL["cluster.addresses"] | {  # type: ignore[operator]
        "ipoib": [f"10.{zone + 1}.0.0/16" for zone in range(zones)]
    }
    between = {"model": "lab-8", "switches": 1, "links_per_zone": links}
    return SMALL | {
        "cluster.fabric.zones": zones,
        "cluster.fabric.leaf.count": leaves,
        "cluster.fabric.spine.count": spines,
        "cluster.fabric.cables_per_pair": trunk,
        "cluster.fabric.interzone": between if zones > 1 else None,
        "cluster.compute.nodes": compute * zones,
        "cluster.storage.nodes": storage,
        "cluster.management.nodes": draw(st.integers(1, management)),
        "cluster.addresses": addresses,
    }


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
def test_every_leaf_reaches_every_spine_of_its_zone_equally(change: dict[str, Any]) -> None:
    fabric = fabric_of("lab", change)
    pairs = Counter((c.a.device, c.z.device) for c in fabric.cables if c.role is CableRole.TREE)
    expected = {
        (leaf.name, spine.name)
        for zone in fabric.zones
        for leaf in fabric.switches_of(Layer.LEAF, zone)
        for spine in fabric.switches_of(Layer.SPINE, zone)
    }
    assert set(pairs) == expected
    assert set(pairs.values()) == {change["cluster.fabric.cables_per_pair"]}


@settings(max_examples=60, deadline=None)
@given(changes())
def test_storage_has_a_foot_in_every_zone_and_spreads_within_one(change: dict[str, Any]) -> None:
    fabric = fabric_of("lab", change)
    feet = {node.name: [p.tree for p in node.ports] for node in fabric.nodes_of(Role.STORAGE)}
    assert all(zones == list(fabric.zones) for zones in feet.values())
    for role in (Role.STORAGE, Role.COMPUTE):
        for zone in fabric.zones:
            leaves = [leaf.name for leaf in fabric.switches_of(Layer.LEAF, zone)]
            if len(fabric.zones) > 1:
                leaves.pop()  # the gateway leaf holds neither
            held = Counter(
                port.leaf.device
                for node in fabric.nodes_of(role)
                for port in node.ports
                if port.tree == zone
            )
            assert set(held) <= set(leaves)
            if role is Role.STORAGE:
                counts = [held[leaf] for leaf in leaves]
                assert max(counts) - min(counts) <= 1


@settings(max_examples=60, deadline=None)
@given(changes())
def test_the_budget_counts_the_cables(change: dict[str, Any]) -> None:
    fabric = fabric_of("lab", change)
    for zone, budget in fabric.budgets.items():
        lower = [
            cable
            for cable in fabric.cables
            for end in (cable.a, cable.z)
            if cable.role is not CableRole.TREE
            and end.device in fabric.switch
            and fabric.switch[end.device].layer is Layer.LEAF
            and fabric.switch[end.device].tree == zone
        ]
        assert budget.used == len(lower)
        assert budget.used + budget.free == budget.total


@settings(max_examples=30, deadline=None)
@given(changes())
def test_the_same_intent_gives_the_same_files(change: dict[str, Any]) -> None:
    assert artefacts(fabric_of("lab", change)) == artefacts(fabric_of("lab", change))


@settings(max_examples=40, deadline=None)
@given(changes(), st.sampled_from(["compute", "storage"]))
def test_appending_nodes_moves_nobody(change: dict[str, Any], role: str) -> None:
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
        for leaf in list(fire_flyer_2.switches_of(Layer.LEAF, zone))[:-1]:
            compute = per_leaf[leaf.name, Role.COMPUTE]
            storage = per_leaf[leaf.name, Role.STORAGE]
            assert (compute, storage) in {(16, 4), (15, 5)}


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
            "per_row": 200,
            "pitch_m": 0.1,
            "row_pitch_m": 0.5,
            "nodes": {"compute": 2, "storage": 1},
            "switches": 40,
        },
        "cluster.addresses": SMALL["cluster.addresses"],
    }
    fabric = fabric_of("lab", change)
    assert len(fabric.switches) == total
    assert fabric.budgets["a"].total == pods * 400
