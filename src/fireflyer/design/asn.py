"""Autonomous system numbers: one a leaf, one for all spines of a tree (RFC 7938, 5.2.1).

Spines of a tree share a number, so that no path goes through two of them; so do its cores
and the switches between zones. A leaf's number follows from its tree and its place in it.
"""

from __future__ import annotations

from fireflyer.errors import Problem
from fireflyer.load import Site
from fireflyer.model.fabric import Layer

PER_TREE = 4096
"""Numbers set aside for each tree: one for its cores, one for the spines of each pod, the
rest for leaves."""
SPINES = 1024
LEAVES = 2048
PRIVATE = ((64_512, 65_534), (4_200_000_000, 4_294_967_294))
"""RFC 6996."""


def asn(first: int, layer: Layer, tree: int, pod: int, index: int) -> int:
    """Return the number of a switch; tree, pod and index count from 0.

    >>> asn(4_200_000_000, Layer.LEAF, 1, 0, 0)
    4200006145
    """
    if layer is Layer.INTERZONE:
        return first
    base = first + 1 + tree * PER_TREE
    if layer is Layer.CORE:
        return base
    return base + SPINES + pod if layer is Layer.SPINE else base + LEAVES + index


def asn_problems(site: Site) -> list[Problem]:
    """Return the problems of too few numbers in a tree, or of ones that are not private."""
    fabric, at = site.cluster.fabric, site.document.problem
    if fabric.ethernet is None:
        return []
    for key, count, most in (
        ("cluster.fabric.leaf.count", fabric.leaf.count, PER_TREE - LEAVES),
        ("cluster.fabric.pods_per_zone", fabric.pods_per_zone, LEAVES - SPINES),
    ):
        if count > most:
            limit = f"a tree has AS numbers for {most:,}"
            return [at(key, count, limit, f"lower it to at most {most}")]
    first = fabric.ethernet.asn_first
    trees = fabric.zones * fabric.planes
    last = asn(first, Layer.LEAF, trees - 1, 0, fabric.leaf.count - 1)
    if any(low <= first and last <= high for low, high in PRIVATE):
        return []
    limit = f"numbers {first} to {last} are not private (RFC 6996)"
    remedy = "use 4200000000"
    key = "cluster.fabric.ethernet.asn_first"
    return [at(key, first, limit, remedy)]
