"""How much cable a fabric takes, and how its leaves and racks meet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fireflyer.design.materials import Item
from fireflyer.model.fabric import Fabric


@dataclass(frozen=True, slots=True, kw_only=True)
class Cabling:
    """Figures of the cables of a site."""

    length_m: float
    """All cables bought end to end, spares left out."""
    bundles: int
    """Pairs of racks, or single racks, that cables join."""
    bundles_between_racks: int
    racks_per_leaf: float
    """Node racks that a leaf with hosts reaches, on average."""
    racks_per_leaf_max: int
    leaves_per_rack: float
    """Leaves that a node rack reaches, on average."""
    leaves_per_rack_max: int


def cabling(fabric: Fabric, items: Iterable[Item]) -> Cabling:
    """Count the cables of a fabric; `items` is its bill of materials."""
    racks: Mapping[str, set[str]] = defaultdict(set)
    leaves: Mapping[str, set[str]] = defaultdict(set)
    network = {switch.place.rack for switch in fabric.switches}
    for node in fabric.nodes:
        rack = node.place.rack
        if rack not in network:
            for port in node.ports:
                racks[port.leaf.device].add(rack)
                leaves[rack].add(port.leaf.device)
    bundles = {cable.bundle for cable in fabric.cables}
    return Cabling(
        length_m=sum(item.length_m * item.quantity for item in items if item.length_m),
        bundles=len(bundles),
        bundles_between_racks=sum("+" in bundle for bundle in bundles),
        racks_per_leaf=_mean(racks),
        racks_per_leaf_max=max(map(len, racks.values()), default=0),
        leaves_per_rack=_mean(leaves),
        leaves_per_rack_max=max(map(len, leaves.values()), default=0),
    )


def _mean(found: Mapping[str, set[str]]) -> float:
    return round(sum(map(len, found.values())) / len(found), 2) if found else 0.0
