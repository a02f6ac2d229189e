"""Slurm's tree and blocks hold the compute nodes and nothing else, each once."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import yaml
from tests.conftest import MakeSite
from tests.sites import ONE_ZONE, PLANES

from fireflyer.design import design
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric, Role
from fireflyer.render import topology_conf


def expand(hostlist: str) -> Iterator[str]:
    """Read Slurm's bracket notation."""
    for prefix, inside, plain in re.findall(r"([^,\[\]]+)\[([^\]]+)\]|([^,\[\]]+)", hostlist):
        if plain:
            yield plain
        for part in inside.split(",") if inside else []:
            first, _, last = part.partition("-")
            for number in range(int(first), int(last or first) + 1):
                yield f"{prefix}{number:0{len(first)}d}"


def blocks(fabric: Fabric) -> dict[str, list[str]]:
    lines = topology_conf.files(fabric)["topology-block.conf"]
    found = re.findall(r"^BlockName=(\S+) Nodes=(\S+)$", lines, re.M)
    return {name: list(expand(nodes)) for name, nodes in found}


def compute(fabric: Fabric) -> list[str]:
    return sorted(node.name for node in fabric.nodes_of(Role.COMPUTE))


@pytest.mark.parametrize("changes", [{}, ONE_ZONE, PLANES])
def test_blocks_and_tree_have_each_compute_node_once(
    make_site: MakeSite, changes: dict[str, object]
) -> None:
    fabric = design(load_site(make_site("lab", changes)))
    in_blocks = [name for nodes in blocks(fabric).values() for name in nodes]
    assert sorted(in_blocks) == compute(fabric)
    tree, block = yaml.safe_load(topology_conf.files(fabric)["topology.yaml"])
    switches = tree["tree"]["switches"]
    in_tree = [name for s in switches if "nodes" in s for name in expand(s["nodes"])]
    assert sorted(in_tree) == compute(fabric)
    assert {b["block"]: list(expand(b["nodes"])) for b in block["block"]["blocks"]} == blocks(
        fabric
    )


def test_a_tree_has_one_root_and_every_other_switch_below_one(fire_flyer_2: Fabric) -> None:
    tree, _ = yaml.safe_load(topology_conf.files(fire_flyer_2)["topology.yaml"])
    switches = tree["tree"]["switches"]
    below = [name for s in switches if "children" in s for name in expand(s["children"])]
    assert len(below) == len(set(below))
    assert [s["switch"] for s in switches if s["switch"] not in below] == ["interzone"]


def test_blocks_are_zones_where_there_are_several(fire_flyer_2: Fabric) -> None:
    found = blocks(fire_flyer_2)
    assert {name: len(nodes) for name, nodes in found.items()} == {"zone-a": 600, "zone-b": 600}
    assert "BlockSizes=600\n" in topology_conf.files(fire_flyer_2)["topology-block.conf"]


def test_blocks_of_one_zone_are_its_leaves(make_site: MakeSite) -> None:
    fabric = design(load_site(make_site("lab", ONE_ZONE)))
    for name, nodes in blocks(fabric).items():
        assert {fabric.node[node].ports[0].leaf.device for node in nodes} == {name}


def test_the_smallest_block_is_the_base(make_site: MakeSite) -> None:
    fabric = design(load_site(make_site("lab", {"cluster.compute.nodes": 5})))
    smallest = min(len(nodes) for nodes in blocks(fabric).values())
    assert f"BlockSizes={smallest}\n" in topology_conf.files(fabric)["topology-block.conf"]


def test_a_site_without_compute_nodes_has_no_blocks(make_site: MakeSite) -> None:
    fabric = design(load_site(make_site("lab", {"cluster.compute.nodes": 0})))
    assert blocks(fabric) == {}
    assert len(yaml.safe_load(topology_conf.files(fabric)["topology.yaml"])) == 1
