"""Network descriptions for ASTRA-sim: links for its ns-3 back end, dimensions for its other.

An NPU is an adapter, numbered by node and port from 0; switches follow. Compute nodes come
first, so a workload of n ranks runs on the first n adapters. The cables of a trunk are one link
with their sum: the ns-3 back end keeps one link between two devices and forgets the others.
"""

from __future__ import annotations

from fireflyer.model.fabric import Role
from fireflyer.render.exports.endpoints import adapters, delay_ns, trunks
from fireflyer.render.exports.wiring import Files, Wiring

BITS_PER_BYTE = 8
_LEAST_NPUS = 2
"""The analytical back ends refuse a dimension of fewer."""
_AWARE = (
    "# Two dimensions: for the congestion-unaware back end. The aware one takes a zone's file.\n"
)


def files(wiring: Wiring) -> Files:
    """Yield `ns3-topology.txt`, `nodes.txt` (number to name) and `analytical.yml`.

    Of zones that are joined there is a file of each, `analytical-<zone>.yml`, too: the
    congestion-aware analytical back end takes one dimension.
    """
    fabric = wiring.fabric
    hosts = adapters(wiring)
    names = hosts + [switch.name for switch in fabric.switches]
    number = {name: index for index, name in enumerate(names)}
    links = trunks(wiring.links)
    lines = [f"{len(names)} {len(fabric.switches)} {len(links)}\n"]
    lines.append(" ".join(str(n) for n in range(len(hosts), len(names))) + "\n")
    delays = {m: delay_ns(m) for m in sorted({link.length_m for link in links})}
    lines += [
        f"{number[link.a]} {number[link.z]} {link.gbps}Gbps {delays[link.length_m]}ns 0\n"
        for link in links
    ]
    yield "ns3-topology.txt", "".join(lines)
    yield "nodes.txt", "".join(f"{index} {name}\n" for index, name in enumerate(names))
    yield from _analytical(wiring)


def _analytical(wiring: Wiring) -> Files:
    """Yield dimensions from the inside out: adapters of a zone or plane, then zones.

    A dimension's bandwidth is an adapter's share of it, GB/s, each way. Planes have no second
    dimension: no cable joins them.
    """
    fabric = wiring.fabric
    npus = dict.fromkeys(fabric.trees, 0)
    for node in fabric.nodes_of(Role.COMPUTE):
        for port in node.ports:
            npus[port.tree] += 1
    smallest = min(npus.values())
    gbps = wiring.links[0].gbps
    ways = [cable.length_m for cable in wiring.links if cable.host]
    latency = 2 * delay_ns(max(ways)) if ways else 0
    interzone = fabric.intent.fabric.interzone
    inside = {
        tree: ("Switch", count, gbps / BITS_PER_BYTE, latency) for tree, count in npus.items()
    }
    if interzone is None or len(fabric.zones) == 1 or not smallest:
        if smallest >= _LEAST_NPUS:
            tree = min(npus, key=lambda name: npus[name])
            yield "analytical.yml", _dimensions(inside[tree])
        return
    share = gbps * interzone.links_per_zone / BITS_PER_BYTE / smallest
    between = [c.length_m for c in fabric.cables if c.role == "interzone"]
    zones = ("Switch", len(fabric.zones), share, 2 * delay_ns(max(between)))
    least = ("Switch", smallest, gbps / BITS_PER_BYTE, latency)
    if smallest >= _LEAST_NPUS:
        yield "analytical.yml", _AWARE + _dimensions(least, zones)
    else:
        yield "analytical.yml", _dimensions(zones)
    for tree, dimension in inside.items():
        if dimension[1] >= _LEAST_NPUS:
            yield f"analytical-{tree}.yml", _dimensions(dimension)


def _dimensions(*dimensions: tuple[str, int, float, int]) -> str:
    kinds, counts, speeds, latencies = zip(*dimensions, strict=True)
    return (
        f"topology: [ {', '.join(kinds)} ]\n"
        f"npus_count: [ {', '.join(map(str, counts))} ]\n"
        f"bandwidth: [ {', '.join(f'{speed:.6g}' for speed in speeds)} ]  # GB/s\n"
        f"latency: [ {', '.join(map(str, latencies))} ]  # ns, of the longest cables alone\n"
    )
