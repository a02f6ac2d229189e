"""The fabric as a SimGrid platform (simgrid.dtd 4.1): hosts are adapters, routers are switches.

Routes are found by Dijkstra over single cables, so a flow takes one shortest path: give flows
paths of your own to study static routing. The cables of a trunk are one link with their sum,
because SimGrid allows one edge between two switches; its name lists them.
"""

from __future__ import annotations

from collections.abc import Iterable

from fireflyer.render.exports.endpoints import adapters, delay_ns, trunks
from fireflyer.render.exports.wiring import Files, Link, Wiring

_HEAD = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="{zone}" routing="Dijkstra">
"""
_TAIL = "  </zone>\n</platform>\n"
JOIN = "+"
"""Between the cables of a trunk."""


def files(wiring: Wiring) -> Files:
    """Yield `platform.xml`, or `<tree>.xml` for trees that no cable joins."""
    fabric = wiring.fabric
    if fabric.intent.fabric.interzone is not None or len(fabric.trees) == 1:
        switches = [switch.name for switch in fabric.switches]
        yield (
            "platform.xml",
            _platform(fabric.intent.name, adapters(wiring), switches, wiring.links),
        )
        return
    for tree in fabric.trees:
        switches = [switch.name for switch in fabric.switches if switch.tree == tree]
        below = frozenset(switches)
        links = [link for link in wiring.links if link.z in below]
        hosts = [link.id for link in links if link.host]
        yield f"{tree}.xml", _platform(f"{fabric.intent.name}-{tree}", hosts, switches, links)


def _platform(
    name: str, hosts: Iterable[str], switches: Iterable[str], links: Iterable[Link]
) -> str:
    edges = trunks(links)
    delays = {edge.length_m: delay_ns(edge.length_m) for edge in edges}
    # SimGrid asks every host for a speed; nothing is computed on an adapter.
    parts = [f'    <host id="{host}" speed="1Gf"/>\n' for host in hosts]
    parts += [f'    <router id="{switch}"/>\n' for switch in switches]
    parts += [
        f'    <link id="{JOIN.join(edge.ids)}" bandwidth="{edge.gbps}Gbps"'
        f' latency="{delays[edge.length_m]}ns" sharing_policy="SPLITDUPLEX"/>\n'
        for edge in edges
    ]
    parts += [
        f'    <route src="{edge.a}" dst="{edge.z}">'
        f'<link_ctn id="{JOIN.join(edge.ids)}" direction="UP"/></route>\n'
        for edge in edges
    ]
    return _HEAD.format(zone=name) + "".join(parts) + _TAIL
