"""How fast HFReduce can be on a node: `python -m hfreduce.bound PROFILE.json [--json]`.

A rate here is the size of one rank's gradients over the time of the allreduce (algorithm
bandwidth), in GB/s of 10^9 bytes. Three things limit it: what the memory carries, what the
adapters carry, and what one PCIe root port carries. "The paper" is Fire-Flyer AI-HPC (SC'24);
what is marked "ours" is not in it.

Memory, in reads and writes as multiples of the gradients' size (the paper, section IV-D3):

    phase                     reads  writes   why
    device to host                -       8   one copy a GPU
    addition in the node          8       1
    between nodes                 3       2   2 sent, 2 received, 1 added (5 nodes or more)
    host to device                2       -   GDRCopy: one read serves a NUMA node's four GPUs
                                  8       -   without it: one copy a GPU

That is 24, or 30 without GDRCopy: 320 GB/s of practical bandwidth make 13.3 or 10.7 GB/s. For
other numbers of GPUs and NUMA nodes the same phases are counted (ours). A node of the double
tree talks to 4 neighbours and sends half the data to each; of 3 or 4 nodes to 3, of 2 to 1 in
each tree, so that fewer nodes send 1.5 and 1 times the data and add 1 and 0.5 (ours). A node
by itself has no phase between nodes.

NVLink pairs that reduce first (the paper, section IV-C, gives the steps and no count; ours): the
two GPUs of a pair each copy half of the pair's sum to the host and fetch half of the result. So
four halves of two leave the node's GPUs: 4 writes, 4 + 1 in the addition, 5 between nodes, and
back 2 reads by GDRCopy or 4 without: 16 or 18, 20 or 17.8 GB/s.

Adapters: a node sends 2 times the data and receives as much, at the same time, so that 25 GB/s
make 12.5 (the paper speaks of about 12; headers and the rest of the algorithm are not in ours).

Root ports: 37.5 GB/s is what the paper measured from a root port to the processor, one way; with
copies in both directions "even lower", without a figure. Each GPU's gradients come up once and
go down once; we let both share the 37.5 GB/s (ours): GPU5 and GPU6 behind one port make
37.5 / 4 = 9.4 GB/s, where the paper measured a little over 8 and names this port as the cause.
An adapter that has its port for itself is not counted: the paper takes it at line rate both ways.

Threads that add between nodes: where the data of a tree is joined, half of all data is read
three times and written once, or read twice and written once in both trees of 4 nodes or fewer:
1.5 times the data for 2 nodes, at most 2 times for more (not published; counted here as
`added` + 1). The rate of one core is `add_gbytes_per_s` of the profile, from `python -m
hfreduce.bench.network_threads`; without it there is no such limit. What UCX and the kernel cost
a thread is not in it, so it is an upper bound.

Arrays that processors have, in a node without GPUs or with, are read once and their results
written once for every rank, if all between stays in caches (ours).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from hfreduce.channels import MOST_CHANNELS, default_channels
from hfreduce.node_profile import NodeProfile, ProfileError, profile_from

MANY_NODES = 5
"""From here on a node of the double tree has all the neighbours it can have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One thing that the rate cannot pass."""

    name: str
    gbytes_per_s: float
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Every limit that is known, the lowest first."""

    limits: tuple[Limit, ...]

    @property
    def binding(self) -> Limit | None:
        """The limit that is reached first; None where nothing is known."""
        return self.limits[0] if self.limits else None


def bound(
    profile: NodeProfile,
    *,
    nodes: int = MANY_NODES,
    ranks: int | None = None,
    on_gpus: bool = True,
    network_threads: int | None = None,
) -> Bound:
    """Return the limits of an allreduce over `nodes` such nodes with `ranks` on each.

    Without `ranks` there is one a GPU; rank i has GPU i, and round again if there are more.
    `on_gpus` is false for arrays that the processors have, whatever else is in the node.
    `network_threads` is that setting of the nodes; one an adapter, as there, by default.
    """
    if nodes < 1:
        raise ProfileError(f"nodes is {nodes}; it must be at least 1")
    count = len(profile.gpus) or 1 if ranks is None else ranks
    if count < 1:
        raise ProfileError(f"ranks is {count}; it must be at least 1")
    gpus = len(profile.gpus) if on_gpus else 0
    devices = tuple(rank % gpus for rank in range(count)) if gpus else ()
    found = [
        _memory(profile, devices, nodes) if devices else _host_memory(profile, count),
        _network(profile, nodes),
        _adding(profile, nodes, network_threads or default_channels(len(profile.nics), None)),
        _root_port(profile, devices, nodes),
    ]
    limits = [limit for limit in found if limit is not None]
    return Bound(limits=tuple(sorted(limits, key=lambda limit: limit.gbytes_per_s)))


def between_nodes(nodes: int) -> tuple[float, float]:
    """Return how many times its data a node sends (and receives), and how many it adds.

    >>> [between_nodes(nodes) for nodes in (1, 2, 3, 4, 5, 1000)]
    [(0.0, 0.0), (1.0, 0.5), (1.5, 1.0), (1.5, 1.0), (2.0, 1.0), (2.0, 1.0)]
    """
    if nodes == 1:
        return 0.0, 0.0
    neighbours = {2: 2, 3: 3, 4: 3}.get(nodes, 4)
    return neighbours / 2, min(neighbours - 1, 2) / 2


def _memory(profile: NodeProfile, devices: Sequence[int], nodes: int) -> Limit | None:
    if profile.memory_gbytes_per_s is None:
        return None
    copied = sum(len(profile.halves(gpu)) for gpu in devices) / 2
    per_numa: dict[int, frozenset[int]] = {}
    for gpu in devices:
        numa = profile.gpus[gpu].numa
        per_numa[numa] = per_numa.get(numa, frozenset()) | profile.halves(gpu)
    fetched = sum(map(len, per_numa.values())) / 2 if profile.gdrcopy else copied
    sent, added = between_nodes(nodes)
    phases = {
        "device to host": copied,
        "addition": copied + 1,
        "between nodes": 2 * sent + added,
        "host to device": fetched,
    }
    total = sum(phases.values())
    counted = " + ".join(f"{times:g} {name}" for name, times in phases.items() if times)
    return Limit(
        name="memory",
        gbytes_per_s=profile.memory_gbytes_per_s / total,
        why=f"{profile.memory_gbytes_per_s:g} GB/s over {total:g} reads and writes ({counted})",
    )


def _host_memory(profile: NodeProfile, ranks: int) -> Limit | None:
    if profile.memory_gbytes_per_s is None:
        return None
    return Limit(
        name="memory",
        gbytes_per_s=profile.memory_gbytes_per_s / (2 * ranks),
        why=f"{profile.memory_gbytes_per_s:g} GB/s over {ranks} inputs read and {ranks} results"
        " written",
    )


def _network(profile: NodeProfile, nodes: int) -> Limit | None:
    if nodes == 1 or not profile.nics:
        return None
    gbytes_per_s = sum(nic.gbit_per_s for nic in profile.nics) / 8
    sent, _ = between_nodes(nodes)
    return Limit(
        name="network",
        gbytes_per_s=gbytes_per_s / sent,
        why=f"{gbytes_per_s:g} GB/s each way, {sent:g} times the data sent and received",
    )


def _adding(profile: NodeProfile, nodes: int, threads: int) -> Limit | None:
    if profile.add_gbytes_per_s is None or nodes == 1:
        return None
    _, added = between_nodes(nodes)
    crossed = added + 1
    return Limit(
        name="network threads",
        gbytes_per_s=threads * profile.add_gbytes_per_s / crossed,
        why=f"{profile.add_gbytes_per_s:g} GB/s by each of {threads} that add, {crossed:g} times"
        " the data read and written",
    )


def _root_port(profile: NodeProfile, devices: Sequence[int], nodes: int) -> Limit | None:
    if profile.root_port_gbytes_per_s is None or not devices:
        return None
    load: dict[int, float] = {}
    for gpu in devices:
        port = profile.gpus[gpu].root_port
        load[port] = load.get(port, 0.0) + len(profile.halves(gpu))  # half up, half down: one
    sent, _ = between_nodes(nodes)
    for nic in profile.nics:
        if nic.root_port in load:
            load[nic.root_port] += 2 * sent / len(profile.nics)
    heaviest = max(load.values())
    ports = sorted(port for port in load if load[port] == heaviest)
    on_ports = [f"GPU{gpu}" for gpu in sorted(set(devices)) if profile.gpus[gpu].root_port in ports]
    on_ports += [f"NIC{i}" for i, nic in enumerate(profile.nics) if nic.root_port in ports]
    named = f"root port{'s' if len(ports) > 1 else ''} {', '.join(map(str, ports))}"
    return Limit(
        name=f"{named} ({', '.join(on_ports)})",
        gbytes_per_s=profile.root_port_gbytes_per_s / heaviest,
        why=f"{profile.root_port_gbytes_per_s:g} GB/s, {heaviest:g} times the data up and down",
    )


def table(profile: NodeProfile, found: Bound) -> str:
    """Return the limits for people."""
    lines = [profile.name]
    for limit in found.limits:
        mark = "<-- binds" if limit is found.binding else ""
        lines.append(f"  {limit.gbytes_per_s:6.1f} GB/s  {limit.name:24} {mark}".rstrip())
        lines.append(f"               {limit.why}")
    return "\n".join(lines if found.limits else [*lines, "  nothing is known that limits it"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0, or 2 for a profile that cannot be used."""
    parser = argparse.ArgumentParser(prog="hfreduce.bound", description="What limits HFReduce here")
    parser.add_argument("profile", type=Path, help="a node's profile or its node.json")
    parser.add_argument("--nodes", type=int, default=MANY_NODES, help="nodes of the job")
    parser.add_argument("--ranks-per-node", type=int, help="one a GPU if it is not given")
    parser.add_argument(
        "--network-threads", type=int, choices=range(1, MOST_CHANNELS + 1), metavar="N",
        help="as in the node's settings; one an adapter if it is not given",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args(arguments)
    try:
        profile = profile_from(json.loads(asked.profile.read_text()))
        found = bound(
            profile,
            nodes=asked.nodes,
            ranks=asked.ranks_per_node,
            network_threads=asked.network_threads,
        )
    except (OSError, ValueError) as error:
        print(f"hfreduce.bound: {asked.profile}: {error}", file=sys.stderr)
        return 2
    if asked.json:
        limits = [asdict(limit) for limit in found.limits]
        binding = found.binding.name if found.binding else None
        print(json.dumps({"name": profile.name, "limits": limits, "binding": binding}))
    else:
        print(table(profile, found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
