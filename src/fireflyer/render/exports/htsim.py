"""A tree of the fabric as htsim's fat-tree reads it: numbers alone, one file a tree.

htsim knows regular two-layer trees in which every host port has a host and every radix counts
ports: the gateway leaf, the switches between zones and free host ports are not in it. It works
out the number of spines from a whole number of oversubscription; a tree without one has no file,
nor has one of three layers, whose cores htsim would cable to one spine of a pod.
"""

from __future__ import annotations

from dataclasses import dataclass

from fireflyer.model.fabric import CableRole, Layer
from fireflyer.render.exports.endpoints import delay_ns
from fireflyer.render.exports.wiring import Files, Wiring
from fireflyer.render.template import render


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A tree of leaves and spines; radixes count ports."""

    site: str
    name: str
    hosts: int
    gbps: int
    leaf_down: int
    leaf_up: int
    spine_down: int
    trunk: int
    """Cables between a leaf and a spine."""
    oversubscribed: int
    host_ns: int
    tree_ns: int


def files(wiring: Wiring) -> Files:
    """Yield `<tree>.topo` for every tree that htsim can describe."""
    fabric = wiring.fabric
    intent = fabric.intent.fabric
    host_ns, tree_ns = (
        max((delay_ns(cable.length_m) for cable in fabric.cables if cable.role is role), default=1)
        for role in (CableRole.HOST, CableRole.TREE)
    )
    for name in fabric.trees:
        leaves = list(fabric.switches_of(Layer.LEAF, name))
        spines = sum(1 for _ in fabric.switches_of(Layer.SPINE, name))
        with_hosts = len(leaves) - (intent.interzone is not None)
        leaf_up = spines * intent.cables_per_pair
        leaf_down = leaves[0].model.ports - leaf_up
        if intent.layers == 2 and leaf_down % leaf_up == 0:
            tree = Tree(
                site=fabric.intent.name,
                name=name,
                hosts=with_hosts * leaf_down,
                gbps=leaves[0].model.port_gbps,
                leaf_down=leaf_down,
                leaf_up=leaf_up,
                spine_down=with_hosts * intent.cables_per_pair,
                trunk=intent.cables_per_pair,
                oversubscribed=leaf_down // leaf_up,
                host_ns=host_ns,
                tree_ns=tree_ns,
            )
            yield f"{name}.topo", render("htsim/fat_tree.topo.j2", tree=tree)
