"""What Slurm is told of the fabric: nodes, partitions, and the tree for its topology plugin.

Slurm's tree wants each switch once: leaves by name, and one entry for the layer above the
leaves of a zone (or pod), because every leaf is on every spine (topology.conf(5)).

Its blocks (topology/block, Slurm 23.11) are zones where there are several: inside one every node
reaches every other at full speed, so only the step between zones is worth a rule. A site of one
zone has a block a leaf, where neighbours talk without a spine. Storage and management nodes are
in neither: nothing is scheduled on them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from fireflyer.model.fabric import Fabric, Layer, Node, Role
from fireflyer.model.hardware import NodeModel

_PARTS = re.compile(r"^(.*?)(\d+)$")


@dataclass(frozen=True, slots=True)
class TopologyEntry:
    """One line of topology.conf: a switch over nodes, or over switches."""

    name: str
    nodes: str
    switches: str


@dataclass(frozen=True, slots=True)
class Block:
    """One block of Slurm's block topology."""

    name: str
    nodes: str


@dataclass(frozen=True, slots=True)
class Blocks:
    """Slurm's block topology."""

    size: int
    """Nodes of the smallest block. No larger unit is named: any two blocks go together."""
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class NodeEntry:
    """One NodeName line of slurm.conf."""

    names: str
    cpus: int
    sockets: int
    cores_per_socket: int
    threads_per_core: int
    real_memory_mb: int
    gres: str
    features: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GresEntry:
    """One line of gres.conf."""

    name: str
    type: str
    file: str
    nodes: str
    """Hosts that have it."""
    cores: str
    """Cores beside it, by Slurm's own numbers: those of the first socket come first."""


@dataclass(frozen=True, slots=True)
class PartitionEntry:
    """One PartitionName line of slurm.conf."""

    name: str
    nodes: str
    default: bool
    max_time: str


def hostlist(names: Iterable[str]) -> str:
    """Return names in Slurm's bracket notation, in order of prefix and number.

    >>> hostlist(["a-cn0001", "a-cn0002", "a-cn0040", "mg"])
    'a-cn[0001-0002,0040],mg'
    """
    split: list[tuple[str, int, int]] = []
    plain: list[str] = []
    for name in names:
        if match := _PARTS.match(name):
            split.append((match[1], len(match[2]), int(match[2])))
        else:
            plain.append(name)
    found: list[str] = []
    for (prefix, width), group in groupby(sorted(split), key=lambda part: part[:2]):
        numbers = [number for _, _, number in group]
        if len(numbers) == 1:
            found.append(f"{prefix}{numbers[0]:0{width}d}")
        else:
            found.append(f"{prefix}[{_ranges(numbers, width)}]")
    return ",".join(found + sorted(plain))


def _ranges(numbers: list[int], width: int) -> str:
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return ",".join(
        f"{first:0{width}d}" if first == last else f"{first:0{width}d}-{last:0{width}d}"
        for first, last in runs
    )


def topology(fabric: Fabric) -> tuple[TopologyEntry, ...]:
    """Return the tree over the compute nodes; leaves without any are left out."""
    return tuple(
        TopologyEntry(name, "", ",".join(below) if name == _TOP else hostlist(below))
        if below[0] not in fabric.node
        else TopologyEntry(name, hostlist(below), "")
        for name, below in tree(fabric).items()
    )


_TOP = "interzone"
"""What joins the zones in Slurm's tree."""


def tree(fabric: Fabric) -> dict[str, tuple[str, ...]]:
    """Return what stands below each switch of Slurm's tree: compute nodes, or switches."""
    on_leaf: dict[str, list[str]] = {}
    for node in fabric.nodes_of(Role.COMPUTE):
        # A node is in Slurm's tree once: at the leaf of its first adapter.
        on_leaf.setdefault(node.ports[0].leaf.device, []).append(node.name)
    below: dict[str, tuple[str, ...]] = {}
    tops: list[str] = []
    pods = fabric.intent.fabric.pods_per_zone
    for zone in fabric.trees[: len(fabric.zones)]:  # of several planes, the first
        leaves = [leaf.name for leaf in fabric.switches_of(Layer.LEAF, zone)]
        groups: list[str] = []
        size = len(leaves) // pods
        for pod in range(pods):
            used = [leaf for leaf in leaves[pod * size : (pod + 1) * size] if leaf in on_leaf]
            below |= {leaf: tuple(on_leaf[leaf]) for leaf in used}
            if used:
                name = f"{zone}-spines" if pods == 1 else f"{zone}-pod{pod + 1:02d}"
                below[name] = tuple(used)
                groups.append(name)
        if pods > 1 and groups:
            below[f"{zone}-cores"] = tuple(groups)
            groups = [f"{zone}-cores"]
        tops += groups
    if len(tops) > 1:
        below[_TOP] = tuple(tops)
    return below


def block_of(fabric: Fabric, node: Node) -> str:
    """Return the name of a compute node's block."""
    return f"zone-{node.zone}" if len(fabric.zones) > 1 else node.ports[0].leaf.device


def blocks(fabric: Fabric) -> Blocks:
    """Return the blocks of compute nodes: zones, or the leaves of the only zone."""
    found: dict[str, list[str]] = {}
    for node in fabric.nodes_of(Role.COMPUTE):
        found.setdefault(block_of(fabric, node), []).append(node.name)
    if not found:
        return Blocks(0, ())
    return Blocks(
        size=min(len(names) for names in found.values()),
        blocks=tuple(Block(name, hostlist(names)) for name, names in sorted(found.items())),
    )


def nodes(fabric: Fabric) -> tuple[NodeEntry, ...]:
    """Return the compute nodes, zone by zone."""
    entries = []
    for zone in fabric.zones:
        names = [node.name for node in fabric.nodes_of(Role.COMPUTE) if node.zone == zone]
        if names:
            entries.append(_node_entry(fabric.node[names[0]].model, names, zone))
    return tuple(entries)


def _node_entry(model: NodeModel, names: list[str], zone: str) -> NodeEntry:
    cpus = model.cpus
    return NodeEntry(
        names=hostlist(names),
        cpus=cpus.sockets * cpus.cores_per_socket * cpus.threads_per_core,
        sockets=cpus.sockets,
        cores_per_socket=cpus.cores_per_socket,
        threads_per_core=cpus.threads_per_core,
        real_memory_mb=model.memory_mb,
        gres=f"gpu:{_gpu_type(model)}:{len(model.gpus)}" if model.gpus else "",
        features=(f"zone_{zone}", model.name),
    )


def gres(fabric: Fabric) -> tuple[GresEntry, ...]:
    """Return the nodes' GPUs, as NVIDIA's driver names them, by model and NUMA node.

    Slurm gives a job's processes the cores beside its GPUs (gres.conf(5), Cores).
    """
    names: dict[str, list[str]] = {}
    models: dict[str, NodeModel] = {}
    for node in fabric.nodes_of(Role.COMPUTE):
        if node.model.gpus:
            names.setdefault(node.model.name, []).append(node.name)
            models[node.model.name] = node.model
    return tuple(
        GresEntry(
            name="gpu",
            type=_gpu_type(model),
            file=_devices([number for number, _ in beside]),
            nodes=hostlist(names[name]),
            cores=_cores(model, numa),
        )
        for name, model in models.items()
        for numa, group in groupby(enumerate(model.gpus), key=lambda numbered: numbered[1].numa)
        for beside in [list(group)]
    )


def _devices(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"/dev/nvidia{numbers[0]}"
    return f"/dev/nvidia[{numbers[0]}-{numbers[-1]}]"


def _cores(model: NodeModel, numa: int) -> str:
    of_each = model.cpus.sockets * model.cpus.cores_per_socket // model.cpus.numa_count
    first = numa * of_each
    return f"{first}-{first + of_each - 1}" if of_each > 1 else str(first)


def _gpu_type(model: NodeModel) -> str:
    return model.gpus[0].model.lower()


def partitions(fabric: Fabric) -> tuple[PartitionEntry, ...]:
    """Return a partition for each zone and one over all, as the paper's groups #A, #B, #AB."""
    by_zone = {
        zone: [node.name for node in fabric.nodes_of(Role.COMPUTE) if node.zone == zone]
        for zone in fabric.zones
    }
    everything = [name for names in by_zone.values() for name in names]
    if not everything:
        return ()
    entries = [PartitionEntry("all", hostlist(everything), True, "UNLIMITED")]
    if len(by_zone) > 1:
        entries += [
            PartitionEntry(f"zone-{zone}", hostlist(names), False, "UNLIMITED")
            for zone, names in by_zone.items()
            if names
        ]
    return tuple(entries)
