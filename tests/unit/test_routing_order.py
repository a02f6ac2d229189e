"""The routing order, against a model of up/down routing that shares no code with it.

At a leaf the destination at position p of the order, the leaf's own hosts left out, takes
uplink p mod U (opensm: osm_switch_recommend_path picks the least used port, then the lowest).
"""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from tests.any_intent import as_text, intents, written

from fireflyer.design import design
from fireflyer.design.part_leaves import End
from fireflyer.design.routing_order import routing_order
from fireflyer.design.subnets import subnet_fabric
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric, Layer, Role

UPLINKS = 20
"""Of a Fire-Flyer 2 leaf."""


def uplinks(order: tuple[End, ...], ways: int) -> Mapping[str, Mapping[str, int]]:
    """Return the uplink by leaf and destination."""
    taken: dict[str, dict[str, int]] = {}
    for leaf in {port.leaf.device for _, port in order}:
        remote = [f"{n.name} {p.hca}" for n, p in order if p.leaf.device != leaf]
        taken[leaf] = {name: position % ways for position, name in enumerate(remote)}
    return taken


def shift_rate(fabric: Fabric, ways: int) -> Fraction:
    """Return the mean rate of all shifts of zone a's nodes, counted flow by flow."""
    taken = uplinks(routing_order(fabric, fabric.trees), ways)
    nodes = [n for n in fabric.nodes_of(Role.COMPUTE) if n.zone == "a"]
    total, flows = Fraction(0), 0
    for distance in range(1, len(nodes), 13):
        up: Counter[tuple[str, int]] = Counter()
        down: Counter[tuple[str, int]] = Counter()
        pairs = []
        for index, node in enumerate(nodes):
            other = nodes[(index + distance) % len(nodes)]
            leaf, far = node.ports[0].leaf.device, other.ports[0].leaf.device
            flows += 1
            if leaf == far:
                total += 1
                continue
            way = taken[leaf][f"{other.name} {other.ports[0].hca}"]
            pairs.append(((leaf, way), (way, far)))
            up[leaf, way] += 1
            down[far, way] += 1
        total += sum(
            (Fraction(1, max(up[u], down[far, way])) for u, (way, far) in pairs), start=Fraction(0)
        )
    return total / flows


def counts(fabric: Fabric, role: Role) -> Iterator[Counter[int]]:
    """Yield the destinations of a role on each uplink, leaf by leaf; gateways left out."""
    order = routing_order(fabric, fabric.trees)
    roles = {f"{node.name} {port.hca}": node.role for node, port in order}
    for leaf, taken in uplinks(order, UPLINKS).items():
        if not leaf.endswith("leaf40"):
            yield Counter(way for name, way in taken.items() if roles[name] is role)


def test_every_destination_has_one_spine(fire_flyer_2: Fabric) -> None:
    order = routing_order(fire_flyer_2, fire_flyer_2.trees)
    spines: dict[str, set[int]] = defaultdict(set)
    for leaf, taken in uplinks(order, UPLINKS).items():
        for name, way in taken.items():
            if not leaf.endswith("leaf40"):
                spines[name].add(way)
    assert {len(found) for found in spines.values()} == {1}


def test_the_hosts_of_a_leaf_take_all_its_spines(fire_flyer_2: Fabric) -> None:
    order = routing_order(fire_flyer_2, fire_flyer_2.trees)
    taken = uplinks(order, UPLINKS)["b-leaf01"]
    of_leaf: dict[str, list[int]] = defaultdict(list)
    for node, port in order:
        if port.leaf.device != "b-leaf01":
            of_leaf[port.leaf.device].append(taken[f"{node.name} {port.hca}"])
    for leaf, ways in of_leaf.items():
        assert len(set(ways)) == len(ways) == (4 if leaf.endswith("leaf40") else 20)


@pytest.mark.parametrize(("role", "most"), [(Role.STORAGE, 18), (Role.COMPUTE, 60)])
def test_each_class_is_even(fire_flyer_2: Fabric, role: Role, most: int) -> None:
    for found in counts(fire_flyer_2, role):
        assert max(found.values()) == most
        assert most / (found.total() / UPLINKS) < 1.02


def test_shifts_run_at_line_rate(fire_flyer_2: Fabric) -> None:
    assert shift_rate(fire_flyer_2, UPLINKS) == 1


def test_shifts_with_a_spine_lost(fire_flyer_2: Fabric) -> None:
    """19 uplinks for 15 or 16 nodes a leaf; the order was made for 20."""
    assert shift_rate(fire_flyer_2, UPLINKS - 1) > Fraction(95, 100)


def test_every_end_port_once(fire_flyer_2: Fabric, lab: Fabric) -> None:
    for fabric in (fire_flyer_2, lab):
        guids = [port.guid.value for _, port in routing_order(fabric, fabric.trees)]
        assert sorted(guids) == sorted(port.guid.value for port in fabric.node_port.values())


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(intents())
def test_leaves_of_any_hosts_leave_each_class_even(cluster: dict[str, Any]) -> None:
    """Two destinations over the mean, rounded up: what a leaf's own hosts may shift."""
    assume(cluster["fabric"]["technology"] == "infiniband" and cluster["fabric"]["layers"] == 2)
    with tempfile.TemporaryDirectory() as folder:
        whole = design(load_site(written(Path(folder), as_text(cluster))))
    for subnet in whole.subnets:
        fabric = subnet_fabric(whole, subnet)
        order = routing_order(fabric, fabric.trees)
        roles = {f"{node.name} {port.hca}": node.role for node, port in order}
        leaf = next(fabric.switches_of(Layer.LEAF)).name
        ways = fabric.leaf_uplinks[leaf]
        for name, taken in uplinks(order, ways).items():
            for role in (Role.STORAGE, Role.COMPUTE):
                found = Counter(way for end, way in taken.items() if roles[end] is role)
                even = -(-found.total() * 102 // (100 * ways))
                assert name in fabric.gateways or max(found.values(), default=0) <= even + 2
