"""What schedulers in Kubernetes get of the fabric: labels, Slinky's lines, topograph's model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml
from tests.conftest import REPO, make_site_in
from tests.sites import ETHERNET, ONE_ZONE, PLANES, THREE_LAYERS

from fireflyer.design import design
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric, Role
from fireflyer.render.artefacts import artefacts

SHAPES = {
    "one zone": ONE_ZONE,
    "three layers": THREE_LAYERS,
    "ethernet": ETHERNET,
    "planes": PLANES,
}
KEY = re.compile(r"([a-z0-9.-]+)/([A-Za-z0-9][A-Za-z0-9._-]{0,61}[A-Za-z0-9])")
VALUE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


@pytest.fixture(scope="module", params=["fire-flyer-2", *SHAPES])
def fabric(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Fabric:
    name: str = request.param
    if name not in SHAPES:
        return design(load_site(REPO / "inventory" / name))
    return design(load_site(make_site_in(tmp_path_factory.mktemp("site"), "lab", SHAPES[name])))


@pytest.fixture(scope="module")
def tree(fabric: Fabric) -> Mapping[str, str]:
    return artefacts(fabric, ("exports", "slurm"))


@pytest.fixture(scope="module")
def nodes(tree: Mapping[str, str]) -> dict[str, dict[str, dict[str, str]]]:
    objects = yaml.load_all(tree["exports/kubernetes/nodes.yaml"], yaml.CSafeLoader)
    assert all((o["apiVersion"], o["kind"]) == ("v1", "Node") for o in objects)
    objects = yaml.load_all(tree["exports/kubernetes/nodes.yaml"], yaml.CSafeLoader)
    return {o["metadata"]["name"]: o["metadata"] for o in objects}


def tiers(labels: Mapping[str, str]) -> list[str]:
    prefix = "fabric.topograph.run/tier-"
    found = {int(k.removeprefix(prefix)): v for k, v in labels.items() if k.startswith(prefix)}
    assert sorted(found) == list(range(len(found)))
    return [found[tier] for tier in sorted(found)]


def expanded(hosts: str) -> Iterator[str]:
    """Yield the names of a Slurm host list."""
    for prefix, numbers in re.findall(r"([^,\[\]]+)(?:\[([^\]]+)\])?", hosts):
        for part in numbers.split(",") if numbers else []:
            first, _, last = part.partition("-")
            for number in range(int(first), int(last or first) + 1):
                yield f"{prefix}{number:0{len(first)}d}"
        if not numbers:
            yield prefix


def test_every_label_is_one_that_kubernetes_takes(
    nodes: dict[str, dict[str, dict[str, str]]],
) -> None:
    for node in nodes.values():
        assert all(KEY.fullmatch(key) for key in (*node["labels"], *node["annotations"]))
        assert all(VALUE.fullmatch(value) for value in node["labels"].values())


def test_tiers_are_the_fabrics(fabric: Fabric, nodes: dict[str, dict[str, dict[str, str]]]) -> None:
    """Two nodes share a tier if a path between them needs no switch above it."""
    compute = {node.name: node for node in fabric.nodes_of(Role.COMPUTE)}
    assert set(nodes) == set(compute)
    zones: dict[str, set[str]] = {}
    for name, node in compute.items():
        labels = nodes[name]["labels"]
        path = tiers(labels)
        assert path[0] == node.ports[0].leaf.device
        assert labels["topology.kubernetes.io/zone"] == node.zone
        zones.setdefault(node.zone, set()).add(path[-1 if len(fabric.zones) == 1 else -2])
        old = [labels.get(f"network.topology.nvidia.com/{n}") for n in ("leaf", "spine", "core")]
        assert [switch for switch in old if switch] == path[:3]
    assert len({tiers(node["labels"])[-1] for node in nodes.values()}) == 1
    assert all(len(tops) == 1 for tops in zones.values())
    assert len({top for tops in zones.values() for top in tops}) == len(zones)


def test_slinky_places_a_node_where_slurm_has_it(
    tree: Mapping[str, str], nodes: dict[str, dict[str, dict[str, str]]]
) -> None:
    config = yaml.safe_load(tree["exports/kubernetes/slinky-topology.yaml"])
    assert (config["kind"], list(config["data"])) == ("ConfigMap", ["topology.yaml"])
    topologies = yaml.safe_load(config["data"]["topology.yaml"])
    assert topologies == yaml.safe_load(tree["slurm/topology.yaml"])
    places: dict[tuple[str, str], set[str]] = {}
    for topology in topologies:
        units = topology.get("tree", {}).get("switches") or topology["block"]["blocks"]
        for unit in units:
            name = unit.get("switch") or unit["block"]
            places[topology["topology"], name] = set(expanded(unit.get("nodes", "")))
    for name, node in nodes.items():
        line = node["annotations"]["topology.slinky.slurm.net/line"]
        pairs = [tuple(part.split(":")) for part in line.split(",")]
        assert [topology for topology, _ in pairs] == ["tree", "block"]
        assert all(name in places[pair] for pair in pairs)  # type: ignore[index]


def test_topographs_model_is_one_tree(
    fabric: Fabric, tree: Mapping[str, str], nodes: dict[str, dict[str, dict[str, str]]]
) -> None:
    """Its rules: one parent a switch, blocks on known switches, every node once."""
    model: Any = yaml.load(tree["exports/kubernetes/topograph-model.yaml"], yaml.CSafeLoader)
    parents: dict[str, str] = {}
    for name, switch in model["switches"].items():
        for child in switch.get("switches", ()):
            assert child not in parents
            parents[child] = name
    placed: dict[str, str] = {}
    for block in model["blocks"]:
        assert block["switch"] in model["switches"]
        for node in block["nodes"]:
            assert node not in placed
            placed[node] = block["switch"]
    assert set(placed) == {node.name for node in fabric.nodes_of(Role.COMPUTE)}
    for name, switch in placed.items():
        path = [switch]
        while path[-1] in parents:
            path.append(parents[path[-1]])
        assert path == tiers(nodes[name]["labels"])
