"""Failure domains: what one network rack may hold of each layer."""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import REPO, make_site_in
from tests.intents import changes

from fireflyer.design import design
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric, Layer, Role, Switch

SITES = ["fire-flyer-2", "fire-flyer-roce", "three-layer-1600", "next-gen", "lab"]


def fabric_of(change: dict[str, Any]) -> Fabric:
    with tempfile.TemporaryDirectory() as folder:
        return design(load_site(make_site_in(Path(folder), "lab", change)))


def network_racks(fabric: Fabric) -> int:
    """Return the network racks of a zone."""
    network = fabric.intent.racks.network
    return network.rows * network.per_row


def most(racks: Iterable[str]) -> int:
    """Return the most devices that share a rack."""
    return max(Counter(racks).values(), default=0)


def check_shares(fabric: Fabric) -> None:
    """No network rack holds more than its share of a layer, of a tree or of a pod's spines."""
    racks = network_racks(fabric)
    pods = fabric.intent.fabric.pods_per_zone
    groups: dict[tuple[object, ...], list[Switch]] = defaultdict(list)
    for switch in fabric.switches:
        if switch.layer is Layer.INTERZONE:
            continue
        groups[switch.tree, switch.layer].append(switch)
        if switch.layer is Layer.SPINE:
            each = sum(1 for _ in fabric.switches_of(Layer.SPINE, switch.tree)) // pods
            groups[switch.tree, switch.layer, switch.index // each].append(switch)
    for key, switches in groups.items():
        held = most(switch.place.rack for switch in switches)
        assert held <= -(-len(switches) // racks), key


def check_apart(fabric: Fabric) -> None:
    """Interzone switches, managers and subnet managers stand in different racks."""
    racks, zones = network_racks(fabric), len(fabric.zones)
    between = [switch.place for switch in fabric.switches_of(Layer.INTERZONE)]
    if racks * zones > 1:
        assert most(place.rack for place in between) <= -(-len(between) // (racks * zones))
    assert most(str(place.row % zones) for place in between) <= -(-len(between) // zones)
    managers = list(fabric.nodes_of(Role.MANAGEMENT))
    for zone in fabric.zones:
        own = [node.place.rack for node in managers if node.zone == zone]
        assert most(own) <= -(-len(own) // racks)
        chosen = fabric.intent.services.subnet_manager
        own = [node.place.rack for node in managers if node.zone == zone and node.name in chosen]
        assert most(own) <= -(-len(own) // racks)


@settings(max_examples=60, deadline=None)
@given(changes(), st.integers(1, 3), st.integers(1, 6))
def test_no_network_rack_holds_more_than_its_share(
    change: dict[str, Any], rows: int, per_row: int
) -> None:
    fabric = fabric_of(
        change
        | {"cluster.racks.network": {"rows": rows, "per_row": per_row, "devices": 1000}}
        | {"cluster.racks.network.per_row": per_row, "cluster.racks.units": 60}
    )
    check_shares(fabric)
    check_apart(fabric)


@pytest.mark.parametrize("site", SITES)
def test_shipped_sites_lose_as_little_as_they_can(site: str) -> None:
    fabric = design(load_site(REPO / "inventory" / site))
    check_shares(fabric)
    check_apart(fabric)


def test_leaves_of_one_number_stand_in_a_rack_a_plane() -> None:
    """A node has one leaf in each plane: one lost rack must not take them all."""
    fabric = design(load_site(REPO / "inventory" / "next-gen"))
    racks: dict[int, set[str]] = defaultdict(set)
    for leaf in fabric.switches_of(Layer.LEAF):
        racks[leaf.index].add(leaf.place.rack)
    assert {len(found) for found in racks.values()} == {4}


def test_nodes_appended_move_no_switch() -> None:
    def places(nodes: int) -> dict[str, str]:
        change = {"cluster.compute.nodes": nodes, "cluster.racks.network.per_row": 2}
        return {switch.name: str(switch.place) for switch in fabric_of(change).switches}

    assert places(2) == places(6)


def test_subnet_managers_of_one_zone_stand_apart_though_managers_are_many() -> None:
    """mg01 and mg07 are the first and the fourth of zone a, which has three network racks."""
    change = {
        "cluster.management.nodes": 8,
        "cluster.services.subnet_manager": ["mg01", "mg07"],
    }
    with tempfile.TemporaryDirectory() as folder:
        fabric = design(load_site(make_site_in(Path(folder), "fire-flyer-2", change)))
    assert fabric.node["mg01"].place.rack != fabric.node["mg07"].place.rack
