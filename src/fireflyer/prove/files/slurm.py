"""Slurm's topology files against the leaves that compute nodes hang on.

Read as topology.conf(5) and topology.yaml(5) have them. The planned tree follows the cables:
the leaves above the nodes' first adapters, the leaves that share spines as one switch above, and
all pods or zones joined at the top.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from fireflyer.model.fabric import Fabric, Layer, Role
from fireflyer.prove.files.hostlists import expanded
from fireflyer.prove.files.source import read
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Row, Value, fault, row_findings

TREE, BLOCK, BOTH = "slurm/topology.conf", "slurm/topology-block.conf", "slurm/topology.yaml"


def slurm(fabric: Fabric, tree: Path) -> tuple[Finding, ...]:
    """Return where Slurm's topology differs from the fabric's."""
    switches, blocks = planned_switches(fabric), planned_blocks(fabric)
    return (
        *read(tree, TREE, lambda text: _conf(TREE, text, "SwitchName", switches)),
        *read(tree, BLOCK, lambda text: _conf(BLOCK, text, "BlockName", blocks)),
        *read(tree, BOTH, lambda text: topology_yaml(BOTH, text, switches, blocks)),
    )


def planned_switches(fabric: Fabric) -> dict[str, dict[str, Value]]:
    """Return the switches of Slurm's tree: the names below each, in order."""
    under: dict[str, set[str]] = {}
    for node in fabric.nodes_of(Role.COMPUTE):
        if node.ports:
            under.setdefault(node.ports[0].leaf.device, set()).add(node.name)
    planned: dict[str, dict[str, Value]] = {
        leaf: {"Nodes": tuple(sorted(names))} for leaf, names in under.items()
    }
    spines = _neighbours_above(fabric)
    tops = []
    for tree in fabric.trees[: len(fabric.zones)]:  # of several planes, the first
        pods: dict[frozenset[str], list[str]] = {}
        for leaf in fabric.switches_of(Layer.LEAF, tree):
            above = frozenset(n for n in spines[leaf.name] if fabric.switch[n].tree == tree)
            pods.setdefault(above, []).append(leaf.name)
        several, names = len(pods) > 1, []
        for number, leaves in enumerate(pods.values(), start=1):
            used = sorted(leaf for leaf in leaves if leaf in under)
            if used:
                names.append(f"{tree}-pod{number:02d}" if several else f"{tree}-spines")
                planned[names[-1]] = {"Switches": tuple(used)}
        if several and names:
            planned[f"{tree}-cores"] = {"Switches": tuple(sorted(names))}
            names = [f"{tree}-cores"]
        tops += names
    if len(tops) > 1:
        planned["interzone"] = {"Switches": tuple(sorted(tops))}
    return planned


def _neighbours_above(fabric: Fabric) -> Mapping[str, set[str]]:
    """Return the spines that each leaf is cabled to."""
    above: dict[str, set[str]] = {s.name: set() for s in fabric.switches}
    for cable in fabric.cables:
        upper = fabric.switch.get(cable.z.device)
        if upper is not None and upper.layer is Layer.SPINE:
            above.setdefault(cable.a.device, set()).add(upper.name)
    return above


def planned_blocks(fabric: Fabric) -> dict[str, dict[str, Value]]:
    """Return Slurm's blocks: zones, or the leaves of the only one; and the smallest size."""
    blocks: dict[str, set[str]] = {}
    for node in fabric.nodes_of(Role.COMPUTE):
        zone = f"zone-{node.zone}"
        name = zone if len(fabric.zones) > 1 else node.ports[0].leaf.device
        blocks.setdefault(name, set()).add(node.name)
    planned: dict[str, dict[str, Value]] = {
        name: {"Nodes": tuple(sorted(names))} for name, names in blocks.items()
    }
    if blocks:
        planned["BlockSizes"] = {"sizes": (str(min(len(names) for names in blocks.values())),)}
    return planned


def _conf(
    path: str, text: str, kind: str, planned: Mapping[str, Mapping[str, Value]]
) -> Iterator[Finding]:
    rows: list[Row] = []
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.partition("#")[0].strip()
        if not line:
            continue
        options = dict(word.partition("=")[::2] for word in line.split())
        name = options.pop(kind, None)
        if name is None and "BlockSizes" in options and kind == "BlockName":
            sizes = tuple(options.pop("BlockSizes").split(","))
            rows.append(Row("BlockSizes", {"sizes": sizes, **options}, number))
        elif name is None:
            yield fault(path, f"{line} is no line with {kind}=", number)
        else:
            rows.append(Row(name, {key: _names(value) for key, value in options.items()}, number))
    yield from row_findings(path, planned, rows)


def _names(text: str) -> tuple[Value, ...]:
    """Return the names of a hostlist in order; what is none as it stands."""
    try:
        return tuple(sorted(expanded(text)))
    except ValueError:
        return (text,)


def topology_yaml(
    path: str,
    text: str,
    switches: Mapping[str, Mapping[str, Value]],
    blocks: Mapping[str, Mapping[str, Value]],
) -> Iterator[Finding]:
    """Yield the differences of topology.yaml: the tree for every partition, the blocks beside."""
    try:
        topologies = yaml.load(text, Loader=yaml.CSafeLoader)
        rows = list(_topologies(topologies))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        yield fault(path, f"is no YAML: {error.problem}", line)
        return
    except (AttributeError, KeyError, TypeError, ValueError, yaml.YAMLError) as error:
        yield fault(path, f"is no topology.yaml: {error!r}")
        return
    planned: dict[str, Mapping[str, Value]] = {"topology tree": {"cluster_default": True}}
    planned |= {
        f"switch {name}": {
            {"Nodes": "nodes", "Switches": "children"}[key]: value for key, value in row.items()
        }
        for name, row in switches.items()
    }
    if blocks:
        planned["topology block"] = {"cluster_default": False}
    for name, row in blocks.items():
        if name == "BlockSizes":
            planned["block_sizes"] = row
        else:
            planned[f"block {name}"] = {"nodes": row["Nodes"]}
    yield from row_findings(path, planned, rows)


def _topologies(topologies: Any) -> Iterator[Row]:
    for topology in topologies:
        left = dict(topology)
        kind = left.pop("topology")
        for switch in left.pop("tree", {}).get("switches") or ():
            below = {key: _names(value) for key, value in switch.items() if key != "switch"}
            yield Row(f"switch {switch['switch']}", below)
        held = left.pop("block", {})
        if "block_sizes" in held:
            yield Row("block_sizes", {"sizes": tuple(map(str, held["block_sizes"]))})
        for block in held.get("blocks") or ():
            below = {key: _names(value) for key, value in block.items() if key != "block"}
            yield Row(f"block {block['block']}", below)
        yield Row(f"topology {kind}", left)
