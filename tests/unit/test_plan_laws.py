"""The plan's closed forms against flows and walks over the cables of random fabrics."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from tests.conftest import MakeSite, make_site_in
from tests.flows import disjoint, halves_flow, tree_cables, walk
from tests.intents import changes
from tests.sites import PLANES, THREE_LAYERS

from fireflyer.design import design
from fireflyer.design.plan import Plan, plan
from fireflyer.design.power import feeds
from fireflyer.design.resilience import Loss, losses
from fireflyer.design.shape import shape_of
from fireflyer.load import load_site
from fireflyer.model.fabric import Cable, CableRole, Fabric, Layer, Role, Switch

TWO_LAYERS = changes().filter(lambda change: "cluster.fabric.core" not in change)
"""Three layers have shapes of their own below: there a figure may be a lower bound."""
WIDE = {"cluster.racks.network.per_row": 3}
SHAPES: dict[str, dict[str, Any]] = {
    "three layers": THREE_LAYERS,
    "three pods": THREE_LAYERS
    | {
        "cluster.fabric.pods_per_zone": 3,
        "cluster.fabric.leaf.count": 6,
        "cluster.fabric.spine.count": 6,
    },
    "four pods, narrow above": THREE_LAYERS
    | WIDE
    | {
        "cluster.fabric.pods_per_zone": 4,
        "cluster.fabric.leaf.count": 12,
        "cluster.fabric.spine.count": 8,
        "cluster.fabric.cables_per_pair": 1,
        "cluster.fabric.core": {"model": "lab-8", "count": 2},
    },
    "planes": PLANES,
}


def planned(change: dict[str, Any]) -> tuple[Fabric, Plan]:
    with tempfile.TemporaryDirectory() as folder:
        site = load_site(make_site_in(Path(folder), "lab", change))
    fabric = design(site)
    return fabric, plan(fabric, shape_of(site))


def check_paths(fabric: Fabric, found: Plan) -> None:
    """Bisection, path lengths and path counts of each tree."""
    for tree, figures in found.trees.items():
        cables = tree_cables(fabric, tree)
        leaves = [leaf.name for leaf in fabric.switches_of(Layer.LEAF, tree)]
        gbps = fabric.cables[0].gbps
        assert figures.bisection_tbps == pytest.approx(
            halves_flow(fabric, tree, cables) * gbps / 1000
        )
        # Where the middle runs through a pod, its leaves also meet below the cores.
        pods = fabric.intent.fabric.pods_per_zone
        if pods % 2 == 0 or pods == 1:
            assert figures.bisection_tbps == pytest.approx(found.asked_bisection_tbps)
        assert figures.bisection_tbps >= found.asked_bisection_tbps - 1e-9
        assert figures.oversubscription == pytest.approx(found.asked_oversubscription)
        ways = [walk(cables, a)[z] for a in leaves for z in leaves if a != z]
        longest = max(length for length, _ in ways)
        assert figures.paths.switches == longest
        assert figures.paths.shortest == min(n for length, n in ways if length == longest)
        assert figures.paths.disjoint == disjoint(cables, leaves)


@dataclass(frozen=True, slots=True)
class Failure:
    """A device or cable that is taken out."""

    kind: str
    name: str
    gone: frozenset[str]
    """Devices; none for a cable."""
    trees: tuple[str, ...]
    """Those that lose a switch or a cable between two."""
    cables: list[Cable]
    """What is left."""


def check_losses(fabric: Fabric) -> None:
    """Take each device and cable out: the one named is as bad as was said, and none is worse."""
    found = {loss.kind: loss for loss in losses(fabric)}
    whole = {tree: halves_flow(fabric, tree, tree_cables(fabric, tree)) for tree in fabric.trees}
    worst: dict[str, tuple[int, int, int]] = {}
    for failure in failures(fabric):
        hosts = hosts_lost(fabric, failure.cables, failure.gone)
        worst[failure.kind] = max(hosts, worst.get(failure.kind, hosts))
        loss = found[failure.kind]
        if failure.name != loss.name:
            continue
        assert hosts_of(loss) == hosts, failure.name
        shares, ratios = [0.0], []
        for tree in failure.trees:
            left = [c for c in tree_cables(fabric, tree) if c in failure.cables]
            rest = halves_flow(fabric, tree, left, failure.gone) / whole[tree]
            shares.append(max(0.0, 1 - rest))  # halved anew, a tree of pods may have more
            ratios.append((shares[-1], narrowest(fabric, tree, left, failure.gone)))
        assert loss.bisection_share == pytest.approx(max(shares)), failure.name
        if ratios:
            worst_ratios = [ratio for share, ratio in ratios if share > max(shares) - 1e-9]
            assert any(loss.oversubscription == pytest.approx(r) for r in worst_ratios), failure
        assert loss.interzone_share == pytest.approx(interzone_lost(fabric, failure.cables))
        unmanaged = ports_without_sm(fabric, failure.cables, failure.gone)
        assert loss.ports_without_sm == unmanaged, failure.name
    assert {kind: hosts_of(loss) for kind, loss in found.items()} == worst


def failures(fabric: Fabric) -> Iterator[Failure]:
    """Yield every device, cable, rack and power feed."""
    gateways = {c.a.device for c in fabric.cables if c.role is CableRole.INTERZONE}
    for switch in fabric.switches:
        kind = "gateway leaf" if switch.name in gateways else str(switch.layer)
        kind = "interzone switch" if switch.tree is None else kind
        yield without(fabric, kind, switch.name, {switch.name})
    for index, cable in enumerate(fabric.cables):
        left = [*fabric.cables[:index], *fabric.cables[index + 1 :]]
        kind, name = f"{cable.role} cable", f"{cable.a.device} to {cable.z.device}"
        trees: tuple[str, ...] = ()
        if cable.role is CableRole.HOST:
            name = cable.id
        elif cable.role is CableRole.TREE:
            a, z = fabric.switch[cable.a.device], fabric.switch[cable.z.device]
            assert a.tree is not None
            kind, trees = f"{a.layer}-{z.layer} cable", (a.tree,)
        yield Failure(kind, name, frozenset(), trees, left)
    if not fabric.is_ethernet:
        managers = fabric.intent.services.subnet_manager
        for name in managers:
            yield without(fabric, "subnet manager", name, {name})
        for leaf in {port.leaf.device for name in managers for port in fabric.node[name].ports}:
            yield without(fabric, "leaf of a manager", leaf, {leaf})
    racks: dict[str, set[str]] = {}
    for name in [*fabric.switch, *fabric.node]:
        racks.setdefault(fabric.device_place(name).rack, set()).add(name)
    for rack, held in racks.items():
        kind = "network rack" if held & set(fabric.switch) else "node rack"
        yield without(fabric, kind, rack, held)
        if held & gateways:
            yield without(fabric, "rack of a gateway", rack, held)
    for feed in "AB":
        single = {name for name, of_device in feeds(fabric).items() if set(of_device) == {feed}}
        yield without(fabric, "power feed", f"feed {feed}", single)


def without(fabric: Fabric, kind: str, name: str, gone: set[str]) -> Failure:
    left = [c for c in fabric.cables if not gone & {c.a.device, c.z.device}]
    switches = [switch for switch in fabric.switches if switch.name in gone]
    trees = tuple({switch.tree for switch in switches if switch.tree is not None})
    return Failure(kind, name, frozenset(gone), trees, left)


def ports_without_sm(fabric: Fabric, cables: list[Cable], gone: frozenset[str]) -> int:
    """Walk from every working manager over what is left; count the host ports not met."""
    if fabric.is_ethernet:
        return 0
    near: dict[str, set[str]] = {}
    for cable in cables:
        if cable.role is not CableRole.HOST:
            near.setdefault(cable.a.device, set()).add(cable.z.device)
            near.setdefault(cable.z.device, set()).add(cable.a.device)
    managers = set(fabric.intent.services.subnet_manager) - gone
    hosts = [c for c in cables if c.role is CableRole.HOST]
    queue = [c.z.device for c in hosts if c.a.device in managers]
    met = set(queue)
    while queue:
        for other in near.get(queue.pop(), set()) - met:
            met.add(other)
            queue.append(other)
    return sum(c.z.device not in met for c in hosts)


def narrowest(fabric: Fabric, tree: str, cables: list[Cable], gone: frozenset[str]) -> float:
    """Return the worst ratio of a leaf, times the worst of a spine where there are cores."""
    up = Counter(cable.a.device for cable in cables)
    down = Counter(cable.z.device for cable in cables)
    whole = Counter(cable.a.device for cable in tree_cables(fabric, tree))

    def worst(layer: Layer, below: Callable[[Switch], int]) -> float:
        switches = [s for s in fabric.switches_of(layer, tree) if s.name not in gone and below(s)]
        ratios = (below(s) / up[s.name] if up[s.name] else math.inf for s in switches)
        return max(ratios, default=0.0)

    leaf = worst(Layer.LEAF, lambda s: s.model.ports - whole[s.name])
    if not any(fabric.switches_of(Layer.CORE, tree)):
        return leaf
    return max(leaf, leaf * worst(Layer.SPINE, lambda s: down[s.name]))


def interzone_lost(fabric: Fabric, cables: list[Cable]) -> float:
    """Return the share of the links between zones that is gone, at the zone that loses most."""
    before = Counter(c.a.device for c in fabric.cables if c.role is CableRole.INTERZONE)
    after = Counter(c.a.device for c in cables if c.role is CableRole.INTERZONE)
    return max((1 - after[gateway] / links for gateway, links in before.items()), default=0.0)


def hosts_lost(fabric: Fabric, cables: list[Cable], gone: frozenset[str]) -> tuple[int, int, int]:
    """Return the nodes cut off, those that lose a port, and the storage nodes among these."""
    up = {cable.a.device for cable in cables if cable.role is CableRole.TREE}
    alive = {c.a for c in cables if c.role is CableRole.HOST and c.z.device in up}
    cut_off = narrowed = storage = 0
    for node in fabric.nodes:
        left = sum(cable.device == node.name for cable in alive)
        if node.name in gone or (node.ports and not left):
            cut_off += 1
        elif left < len(node.ports):
            narrowed += 1
            storage += node.role is Role.STORAGE
    return cut_off, narrowed, storage


def hosts_of(loss: Loss) -> tuple[int, int, int]:
    return loss.nodes_cut_off, loss.nodes_narrowed, loss.storage_narrowed


@settings(max_examples=40, deadline=None)
@given(TWO_LAYERS)
def test_paths_of_random_fabrics(change: dict[str, Any]) -> None:
    check_paths(*planned(change))


@settings(max_examples=20, deadline=None)
@given(TWO_LAYERS)
def test_losses_of_random_fabrics(change: dict[str, Any]) -> None:
    check_losses(planned(change)[0])


@pytest.mark.parametrize("shape", SHAPES)
def test_paths_of_other_shapes(shape: str) -> None:
    check_paths(*planned(SHAPES[shape]))


@pytest.mark.parametrize("shape", SHAPES)
def test_losses_of_other_shapes(shape: str) -> None:
    check_losses(planned(SHAPES[shape])[0])


def test_the_way_from_zone_to_zone(lab: Fabric, fire_flyer_2: Fabric) -> None:
    for fabric in (lab, fire_flyer_2):
        switches = [c for c in fabric.cables if c.role is not CableRole.HOST]
        first = next(fabric.switches_of(Layer.LEAF, "a")).name
        last = next(fabric.switches_of(Layer.LEAF, "b")).name
        assert walk(switches, first)[last][0] == 7


def test_what_one_failure_costs_fire_flyer_2(fire_flyer_2: Fabric) -> None:
    """20 ports a leaf, 20 spines and 40 leaves a zone, 16 links between zones."""
    found = {loss.kind: loss for loss in losses(fire_flyer_2)}
    assert list(found) == [
        "leaf",
        "gateway leaf",
        "spine",
        "interzone switch",
        "subnet manager",
        "leaf of a manager",
        "host cable",
        "leaf-spine cable",
        "interzone cable",
        "network rack",
        "rack of a gateway",
        "node rack",
        "power feed",
    ]
    shares = {kind: loss.bisection_share for kind, loss in found.items()}
    assert shares["leaf"] == shares["gateway leaf"] == pytest.approx(1 / 40)
    assert shares["spine"] == pytest.approx(1 / 20)
    assert shares["leaf-spine cable"] == pytest.approx(1 / (20 * 20))
    assert hosts_of(found["leaf"]) == (16, 4, 4)
    assert hosts_of(found["gateway leaf"]) == (0, 4, 4)  # storage keeps its other zone
    assert hosts_of(found["host cable"]) == (1, 0, 0)
    assert found["spine"].oversubscription == pytest.approx(20 / 19)
    across = {kind: loss.interzone_share for kind, loss in found.items() if loss.interzone_share}
    assert across["gateway leaf"] == 1.0
    assert across["interzone switch"] == 1 / 2
    assert across["interzone cable"] == 1 / 16
    # 7 of 20 spines and 13 of 40 leaves stand in one network rack; every switch has two feeds.
    assert shares["network rack"] == pytest.approx(1 - (27 * 13) / (40 * 20))
    assert shares["rack of a gateway"] > 0
    assert across["rack of a gateway"] == 1.0
    assert shares["power feed"] == 0
    assert found["subnet manager"].ports_without_sm == 0


def test_one_feed_takes_down_all_that_has_no_other(make_site: MakeSite) -> None:
    change = {"cluster.racks.power_feeds": 1}
    fabric = design(load_site(make_site("fire-flyer-2", change)))
    feed = losses(fabric)[-1]
    assert feed.nodes_cut_off == len(fabric.nodes)
    assert feed.bisection_share == 1


def test_a_leaf_of_a_plane_cuts_no_node_off() -> None:
    fabric, _ = planned(PLANES)
    leaf = losses(fabric)[0]
    assert (leaf.kind, leaf.nodes_cut_off) == ("leaf", 0)
    assert leaf.nodes_narrowed > 0
