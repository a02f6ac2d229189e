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
from tests.conftest import make_site_in
from tests.flows import disjoint, halves_flow, tree_cables, walk
from tests.intents import changes
from tests.sites import PLANES, THREE_LAYERS

from fireflyer.design import design
from fireflyer.design.plan import Plan, plan
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
    device: str
    """Empty for a cable."""
    tree: str | None
    """None where no tree loses a switch or a cable between two."""
    cables: list[Cable]
    """What is left."""


def check_losses(fabric: Fabric) -> None:
    """Take each device and cable out: the one named is as bad as was said, and none is worse."""
    found = {loss.kind: loss for loss in losses(fabric)}
    whole = {tree: halves_flow(fabric, tree, tree_cables(fabric, tree)) for tree in fabric.trees}
    worst: dict[str, tuple[int, int, int]] = {}
    for failure in failures(fabric):
        hosts = hosts_lost(fabric, failure.cables)
        worst[failure.kind] = max(hosts, worst.get(failure.kind, hosts))
        loss = found[failure.kind]
        if failure.name != loss.name:
            continue
        assert hosts_of(loss) == hosts, failure.name
        rest = whole_links = 1.0
        if failure.tree is not None:
            left = [c for c in tree_cables(fabric, failure.tree) if c in failure.cables]
            rest = halves_flow(fabric, failure.tree, left, failure.device)
            whole_links = whole[failure.tree]
            ratio = narrowest(fabric, failure.tree, left, failure.device)
            assert loss.oversubscription == pytest.approx(ratio), failure.name
        assert loss.bisection_share == pytest.approx(1 - rest / whole_links), failure.name
        assert loss.interzone_share == pytest.approx(interzone_lost(fabric, failure.cables))
    assert {kind: hosts_of(loss) for kind, loss in found.items()} == worst


def failures(fabric: Fabric) -> Iterator[Failure]:
    """Yield every device and cable."""
    gateways = {c.a.device for c in fabric.cables if c.role is CableRole.INTERZONE}
    for switch in fabric.switches:
        left = [c for c in fabric.cables if switch.name not in (c.a.device, c.z.device)]
        kind = "gateway leaf" if switch.name in gateways else str(switch.layer)
        kind = "interzone switch" if switch.tree is None else kind
        yield Failure(kind, switch.name, switch.name, switch.tree, left)
    for index, cable in enumerate(fabric.cables):
        left = [*fabric.cables[:index], *fabric.cables[index + 1 :]]
        kind, name, tree = f"{cable.role} cable", f"{cable.a.device} to {cable.z.device}", None
        if cable.role is CableRole.HOST:
            name = cable.id
        elif cable.role is CableRole.TREE:
            a, z = fabric.switch[cable.a.device], fabric.switch[cable.z.device]
            kind, tree = f"{a.layer}-{z.layer} cable", a.tree
        yield Failure(kind, name, "", tree, left)


def narrowest(fabric: Fabric, tree: str, cables: list[Cable], gone: str) -> float:
    """Return the worst ratio of a leaf, times the worst of a spine where there are cores."""
    up = Counter(cable.a.device for cable in cables)
    down = Counter(cable.z.device for cable in cables)
    whole = Counter(cable.a.device for cable in tree_cables(fabric, tree))

    def worst(layer: Layer, below: Callable[[Switch], int]) -> float:
        switches = [s for s in fabric.switches_of(layer, tree) if s.name != gone and below(s)]
        return max(below(s) / up[s.name] if up[s.name] else math.inf for s in switches)

    leaf = worst(Layer.LEAF, lambda s: s.model.ports - whole[s.name])
    if not any(fabric.switches_of(Layer.CORE, tree)):
        return leaf
    return max(leaf, leaf * worst(Layer.SPINE, lambda s: down[s.name]))


def interzone_lost(fabric: Fabric, cables: list[Cable]) -> float:
    """Return the share of the links between zones that is gone, at the zone that loses most."""
    before = Counter(c.a.device for c in fabric.cables if c.role is CableRole.INTERZONE)
    after = Counter(c.a.device for c in cables if c.role is CableRole.INTERZONE)
    return max((1 - after[gateway] / links for gateway, links in before.items()), default=0.0)


def hosts_lost(fabric: Fabric, cables: list[Cable]) -> tuple[int, int, int]:
    """Return the nodes cut off, those that lose a port, and the storage nodes among these."""
    up = {cable.a.device for cable in cables if cable.role is CableRole.TREE}
    alive = {c.a for c in cables if c.role is CableRole.HOST and c.z.device in up}
    cut_off = narrowed = storage = 0
    for node in fabric.nodes:
        left = sum(cable.device == node.name for cable in alive)
        if node.ports and not left:
            cut_off += 1
        elif left < len(node.ports):
            narrowed += 1
            storage += node.role is Role.STORAGE
    return cut_off, narrowed, storage


def hosts_of(loss: Loss) -> tuple[int, int, int]:
    return loss.nodes_cut_off, loss.nodes_narrowed, loss.storage_feet


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
        "host cable",
        "leaf-spine cable",
        "interzone cable",
    ]
    shares = {kind: loss.bisection_share for kind, loss in found.items()}
    assert shares["leaf"] == shares["gateway leaf"] == pytest.approx(1 / 40)
    assert shares["spine"] == pytest.approx(1 / 20)
    assert shares["leaf-spine cable"] == pytest.approx(1 / (20 * 20))
    assert hosts_of(found["leaf"]) == (16, 4, 4)
    assert hosts_of(found["gateway leaf"]) == (4, 0, 0)
    assert hosts_of(found["host cable"]) == (1, 0, 0)
    assert found["spine"].oversubscription == pytest.approx(20 / 19)
    across = {kind: loss.interzone_share for kind, loss in found.items() if loss.interzone_share}
    assert across == {"gateway leaf": 1.0, "interzone switch": 1 / 2, "interzone cable": 1 / 16}


def test_a_leaf_of_a_plane_cuts_no_node_off() -> None:
    fabric, _ = planned(PLANES)
    leaf = losses(fabric)[0]
    assert (leaf.kind, leaf.nodes_cut_off) == ("leaf", 0)
    assert leaf.nodes_narrowed > 0
