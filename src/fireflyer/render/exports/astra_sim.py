"""Network descriptions for ASTRA-sim: cables for its ns-3 back end, dimensions for its other.

An NPU is an adapter, numbered by node and port from 0; switches follow. Compute nodes come
first, so a workload of n ranks runs on the first n adapters.
"""

from __future__ import annotations

from fireflyer.model.fabric import Role
from fireflyer.render.exports.endpoints import adapters, delay_ns
from fireflyer.render.exports.wiring import Files, Wiring

BITS_PER_BYTE = 8


def files(wiring: Wiring) -> Files:
    """Yield `ns3-topology.txt`, `nodes.txt` (number to name) and `analytical.yml`."""
    fabric = wiring.fabric
    hosts = adapters(wiring)
    names = hosts + [switch.name for switch in fabric.switches]
    number = {name: index for index, name in enumerate(names)}
    lines = [f"{len(names)} {len(fabric.switches)} {len(wiring.links)}\n"]
    lines.append(" ".join(str(n) for n in range(len(hosts), len(names))) + "\n")
    delays = {m: delay_ns(m) for m in sorted({link.length_m for link in wiring.links})}
    lines += [
        f"{number[link.id if link.host else link.a]} {number[link.z]}"
        f" {link.gbps}Gbps {delays[link.length_m]}ns 0\n"
        for link in wiring.links
    ]
    yield "ns3-topology.txt", "".join(lines)
    yield "nodes.txt", "".join(f"{index} {name}\n" for index, name in enumerate(names))
    yield "analytical.yml", _analytical(wiring)


def _analytical(wiring: Wiring) -> str:
    """Return dimensions from the inside out: adapters of a zone or plane, then zones.

    A dimension's bandwidth is an adapter's share of it, GB/s, each way. Planes have no second
    dimension: no cable joins them.
    """
    fabric = wiring.fabric
    trees = dict.fromkeys(fabric.trees, 0)
    for node in fabric.nodes_of(Role.COMPUTE):
        for port in node.ports:
            trees[port.tree] += 1
    smallest = min(trees.values())
    gbps = wiring.links[0].gbps
    ways = [cable.length_m for cable in wiring.links if cable.host]
    latency = 2 * delay_ns(max(ways)) if ways else 0
    dimensions = [("Switch", smallest, gbps / BITS_PER_BYTE, latency)]
    interzone = fabric.intent.fabric.interzone
    if interzone is not None and len(fabric.zones) > 1 and smallest:
        share = gbps * interzone.links_per_zone / BITS_PER_BYTE / smallest
        between = [c.length_m for c in fabric.cables if c.role == "interzone"]
        dimensions.append(("Switch", len(fabric.zones), share, 2 * delay_ns(max(between))))
    kinds, counts, speeds, latencies = zip(*dimensions, strict=True)
    return (
        f"topology: [ {', '.join(kinds)} ]\n"
        f"npus_count: [ {', '.join(map(str, counts))} ]\n"
        f"bandwidth: [ {', '.join(f'{speed:.6g}' for speed in speeds)} ]  # GB/s\n"
        f"latency: [ {', '.join(map(str, latencies))} ]  # ns, of the longest cables alone\n"
    )
