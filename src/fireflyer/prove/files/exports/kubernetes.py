"""Kubernetes' nodes with their places in the fabric, Slinky's ConfigMap and topograph's model.

The planned places follow the cables, as Slurm's tree does (`fireflyer.prove.files.slurm`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from fireflyer.model.fabric import Fabric, Role
from fireflyer.prove.files.exports.links import Link
from fireflyer.prove.files.marked_yaml import Tree, flattened
from fireflyer.prove.files.slurm import planned_blocks, planned_switches, topology_yaml
from fireflyer.prove.files.source import read
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Row, Value, fault, row_findings

_FOLDER = "exports/kubernetes"
_OLD = ("leaf", "spine", "core")
"""Tiers with a name in topograph's labels before 1.0."""


def kubernetes(fabric: Fabric, links: list[Link], tree: Path) -> Iterator[Finding]:
    """Yield where a compute node's labels, Slurm's topology or the model differ."""
    if not any(True for _ in fabric.nodes_of(Role.COMPUTE)):
        return
    above = {
        name: switch
        for switch, row in planned_switches(fabric).items()
        for names in row.values()
        if isinstance(names, tuple)
        for name in map(str, names)
    }
    path = f"{_FOLDER}/nodes.yaml"
    yield from read(tree, path, lambda text: _nodes(fabric, above, path, text))
    model = f"{_FOLDER}/topograph-model.yaml"
    yield from read(tree, model, lambda text: _model(fabric, above, model, text))
    config = f"{_FOLDER}/slinky-topology.yaml"
    yield from read(tree, config, lambda text: _config_map(fabric, config, text))


def _documents(path: str, text: str, findings: list[Finding]) -> list[Mapping[str, Tree]]:
    try:
        documents = list(yaml.load_all(text, Loader=yaml.CSafeLoader))
    except yaml.YAMLError as error:
        findings.append(fault(path, f"is no YAML: {error}".replace("\n", " ")))
        return []
    for document in documents:
        if not isinstance(document, dict):
            findings.append(fault(path, f"{document} is no object"))
    return [document for document in documents if isinstance(document, dict)]


def _nodes(fabric: Fabric, above: Mapping[str, str], path: str, text: str) -> Iterator[Finding]:
    findings: list[Finding] = []
    documents = _documents(path, text, findings)
    yield from findings
    plan: dict[str, dict[str, Value]] = {}
    blocks = {
        str(name): block
        for block, row in planned_blocks(fabric).items()
        for names in row.values()
        if isinstance(names, tuple)
        for name in names
    }
    for node in fabric.nodes_of(Role.COMPUTE):
        places = _places(node.name, above)
        labels: dict[str, Tree] = {
            "topology.kubernetes.io/region": fabric.intent.name,
            "topology.kubernetes.io/zone": node.zone,
        }
        labels |= {f"fabric.topograph.run/tier-{n}": place for n, place in enumerate(places)}
        old = zip(_OLD, places, strict=False)
        labels |= {f"network.topology.nvidia.com/{name}": place for name, place in old}
        line = f"tree:{places[0]},block:{blocks[node.name]}"
        document: Tree = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": node.name,
                "labels": labels,
                "annotations": {"topology.slinky.slurm.net/line": line},
            },
        }
        plan[node.name] = dict(flattened(document))
    rows = [dict(flattened(document)) for document in documents]
    yield from row_findings(path, plan, [Row(str(row.get("metadata.name")), row) for row in rows])


def _places(name: str, above: Mapping[str, str]) -> list[str]:
    places = []
    while (found := above.get(name)) is not None:
        places.append(found)
        name = found
    return places


def _model(fabric: Fabric, above: Mapping[str, str], path: str, text: str) -> Iterator[Finding]:
    findings: list[Finding] = []
    documents = _documents(path, text, findings)
    yield from findings
    below: dict[str, list[str]] = {}
    for name, switch in above.items():
        below.setdefault(switch, []).append(name)
    plan: dict[str, dict[str, Value]] = {}
    for switch, names in below.items():
        if names[0] in fabric.node:
            zone = {fabric.node[name].zone for name in names}
            plan[f"block {switch}"] = {"nodes": tuple(sorted(names))}
            plan[f"switch {switch}"] = {
                "labels.topology.kubernetes.io/region": fabric.intent.name,
                "labels.topology.kubernetes.io/zone": ",".join(sorted(zone)),
            }
        else:
            plan[f"switch {switch}"] = {"switches": tuple(sorted(names))}
    rows = []
    for document in documents:
        switches, blocks = document.get("switches"), document.get("blocks")
        for switch, held in switches.items() if isinstance(switches, Mapping) else ():
            rows.append(Row(f"switch {switch}", _sorted(held)))
        for block in blocks if isinstance(blocks, list) else ():
            values = _sorted(block)
            rows.append(Row(f"block {values.pop('switch', None)}", values))
        for key in set(document) - {"switches", "blocks"}:
            yield fault(path, f"{key}: is there, and is not planned")
    yield from row_findings(path, plan, rows)


def _sorted(held: Tree) -> dict[str, Value]:
    """Return the values of an object; lists of names in order of name."""
    values: dict[str, Value] = {}
    for key, value in held.items() if isinstance(held, Mapping) else ():
        if isinstance(value, list):
            values[key] = tuple(sorted(map(str, value)))
        elif isinstance(value, Mapping):
            values |= {f"{key}.{name}": part for name, part in flattened(value)}
        else:
            values[key] = str(value)
    return values


def _config_map(fabric: Fabric, path: str, text: str) -> Iterator[Finding]:
    findings: list[Finding] = []
    documents = _documents(path, text, findings)
    yield from findings
    for document in documents[1:]:
        yield fault(path, f"{document.get('kind')} is there, and is not planned")
    seen = dict(flattened(documents[0] if documents else {}))
    topology = seen.pop("data.topology.yaml", None)
    plan: dict[str, Value] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata.name": "slurm-topology",
    }
    yield from row_findings(path, {"ConfigMap": plan}, [Row("ConfigMap", seen)])
    switches, blocks = planned_switches(fabric), planned_blocks(fabric)
    yield from topology_yaml(path, str(topology), switches, blocks)
