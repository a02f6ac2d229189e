"""The trees that the site exports are those that HFReduce builds at run time."""

from __future__ import annotations

import importlib.util
import sys
from itertools import groupby
from pathlib import Path
from types import ModuleType

import pytest

from fireflyer.design.rank_order import tree_order
from fireflyer.model.fabric import Fabric, Role
from fireflyer.render.communication import positions

TREE = Path(__file__).resolve().parents[2] / "stack/hfreduce/src/hfreduce/tree.py"


def _tree() -> ModuleType:
    """Return hfreduce.tree by itself; the package needs its compiled core."""
    spec = importlib.util.spec_from_file_location("hfreduce_tree", TREE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("site", ["fire_flyer_2", "lab"])
def test_they_are_the_same(site: str, request: pytest.FixtureRequest) -> None:
    fabric: Fabric = request.getfixturevalue(site)
    order = tree_order(list(fabric.nodes_of(Role.COMPUTE)))
    zones = [node.zone for node in order.nodes]
    assert len([*groupby(zones)]) == len(set(zones))
    assert _tree().trees_over(zones) == order.trees


@pytest.mark.parametrize("site", ["fire_flyer_2", "lab"])
def test_nodes_stand_in_them_as_each_is_told(site: str, request: pytest.FixtureRequest) -> None:
    fabric: Fabric = request.getfixturevalue(site)
    nodes = list(fabric.nodes_of(Role.COMPUTE))
    position = positions(fabric)
    told = [(node.zone, position[node.name]) for node in nodes]
    assert len({*told}) == len(nodes)
    by_place = sorted(range(len(nodes)), key=told.__getitem__)  # as hfreduce.communicator does
    assert [nodes[n] for n in by_place] == [*tree_order(nodes).nodes]
