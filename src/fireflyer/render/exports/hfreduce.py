"""Rank order and trees of the jobs that take a whole zone, or the whole site."""

from __future__ import annotations

from fireflyer.design.rank_order import tree_order
from fireflyer.model.fabric import Node, Role
from fireflyer.render.exports.wiring import Files, Wiring


def files(wiring: Wiring) -> Files:
    """Yield `zone-<zone>.json` and, of several zones, `site.json`."""
    fabric = wiring.fabric
    everything = list(fabric.nodes_of(Role.COMPUTE))
    for zone in fabric.zones:
        if nodes := [node for node in everything if node.zone == zone]:
            yield f"zone-{zone}.json", _order(nodes)
    if len(fabric.zones) > 1 and everything:
        yield "site.json", _order(everything)


def _order(nodes: list[Node]) -> str:
    """Return one job: `trees` holds the rank above each rank, -1 at the root."""
    order = tree_order(nodes)
    names = ", ".join(f'"{node.name}"' for node in order.nodes)
    trees = ",\n  ".join(f"[{', '.join(map(str, tree))}]" for tree in order.trees)
    pairs = ", ".join(f'["{a}", "{b}"]' for a, b in order.crossings)
    return f'{{\n "nodes": [{names}],\n "trees": [\n  {trees}\n ],\n "crossings": [{pairs}]\n}}\n'
