"""Topology of the compute nodes for Kubernetes: labels, a topograph model, Slinky's ConfigMap.

Tiers are those of Slurm's tree: the leaf, the spines above it as one, and what joins these. A
node has no accelerator domain: its GPUs reach no other node's but over the fabric.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from fireflyer.model.fabric import Fabric, Node, Role
from fireflyer.render.exports.wiring import Files, Wiring
from fireflyer.render.slurm import block_of, tree
from fireflyer.render.topology_conf import files as slurm_files

_ZONE: Final = "topology.kubernetes.io/zone"
_REGION: Final = "topology.kubernetes.io/region"
_TIER: Final = "fabric.topograph.run/tier-{}"
"""Of topograph from 1.0 on; tier 0 is the leaf."""
_LAYERS: Final = tuple(f"network.topology.nvidia.com/{name}" for name in ("leaf", "spine", "core"))
"""Of topograph before 1.0."""
_LINE: Final = "topology.slinky.slurm.net/line"
"""Annotation that Slinky's operator hands to Slurm; names as in `slurm/topology.yaml`."""


def files(wiring: Wiring) -> Files:
    """Yield `nodes.yaml`, `topograph-model.yaml` and `slinky-topology.yaml`."""
    fabric = wiring.fabric
    nodes = list(fabric.nodes_of(Role.COMPUTE))
    if not nodes:
        return
    below = tree(fabric)
    above = {name: switch for switch, names in below.items() for name in names}
    yield "nodes.yaml", "".join(_node(fabric, node, above) for node in nodes)
    yield "topograph-model.yaml", "".join(_model(fabric, below))
    topology = slurm_files(fabric)["topology.yaml"]
    yield (
        "slinky-topology.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: slurm-topology\n"
        "data:\n  topology.yaml: |\n" + "".join(f"    {line}\n" for line in topology.splitlines()),
    )


def _node(fabric: Fabric, node: Node, above: Mapping[str, str]) -> str:
    path = []
    switch = above.get(node.name)
    while switch is not None:
        path.append(switch)
        switch = above.get(switch)
    labels = {_REGION: fabric.intent.name, _ZONE: node.zone}
    labels |= {_TIER.format(tier): name for tier, name in enumerate(path)}
    labels |= dict(zip(_LAYERS, path, strict=False))
    text = "".join(f"    {key}: {value}\n" for key, value in labels.items())
    line = f"tree:{path[0]},block:{block_of(fabric, node)}"
    return (
        f"---\napiVersion: v1\nkind: Node\nmetadata:\n  name: {node.name}\n  labels:\n{text}"
        f"  annotations:\n    {_LINE}: {line}\n"
    )


def _model(fabric: Fabric, below: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Yield topograph's simulation model: switches over switches, then nodes by leaf."""
    zones = {node.ports[0].leaf.device: node.zone for node in fabric.nodes_of(Role.COMPUTE)}
    yield f"# Compute nodes of {fabric.intent.name}, generated from its intent.\nswitches:\n"
    for switch, names in below.items():
        if names[0] not in fabric.node:
            yield f"  {switch}:\n    switches: [{', '.join(names)}]\n"
        else:
            labels = f"{_REGION}: {fabric.intent.name}, {_ZONE}: {zones[switch]}"
            yield f"  {switch}:\n    labels: {{{labels}}}\n"
    yield "blocks:\n"
    for switch, names in below.items():
        if names[0] in fabric.node:
            yield f"- switch: {switch}\n  nodes: [{', '.join(names)}]\n"
