"""The fabric as a SimGrid platform (simgrid.dtd 4.1): hosts are adapters, routers are switches.

Routes are found by Dijkstra over single cables, so a flow takes one shortest path: give flows
paths of your own to study static routing. The cables of a trunk are one link with their sum,
because SimGrid allows one edge between two switches; its name lists them.
"""

from __future__ import annotations

from collections.abc import Iterable

from fireflyer.render.exports.endpoints import adapters, delay_ns
from fireflyer.render.exports.wiring import Files, Link, Wiring

_HEAD = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="{site}" routing="Dijkstra">
"""
_TAIL = "  </zone>\n</platform>\n"
JOIN = "+"
"""Between the cables of a trunk."""


def files(wiring: Wiring) -> Files:
    """Yield `platform.xml`."""
    fabric = wiring.fabric
    trunks: dict[tuple[str, str], list[Link]] = {}
    for link in wiring.links:
        if not link.host:
            trunks.setdefault((link.a, link.z), []).append(link)
    parts = [_HEAD.format(site=fabric.intent.name)]
    # SimGrid asks every host for a speed; nothing is computed on an adapter.
    parts += [f'    <host id="{name}" speed="1Gf"/>\n' for name in adapters(wiring)]
    parts += [f'    <router id="{switch.name}"/>\n' for switch in fabric.switches]
    edges = [
        (link.id, link.z, link.id, link.gbps, link.length_m) for link in wiring.links if link.host
    ]
    edges += [
        (a, z, JOIN.join(link.id for link in links), *_sum(links))
        for (a, z), links in trunks.items()
    ]
    parts += [
        f'    <link id="{name}" bandwidth="{gbps}Gbps" latency="{delay_ns(length_m)}ns"'
        ' sharing_policy="SPLITDUPLEX"/>\n'
        for _, _, name, gbps, length_m in edges
    ]
    parts += [
        f'    <route src="{a}" dst="{z}"><link_ctn id="{name}" direction="UP"/></route>\n'
        for a, z, name, _, _ in edges
    ]
    parts.append(_TAIL)
    yield "platform.xml", "".join(parts)


def _sum(links: Iterable[Link]) -> tuple[int, float]:
    """Return a trunk's speed in Gb/s, and its longest cable in metres."""
    return sum(link.gbps for link in links), max(link.length_m for link in links)
