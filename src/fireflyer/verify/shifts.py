"""What a shift permutation gets of the line rate: node i sends to node i + k, all at once.

Ring all-reduce, pipeline stages and all-to-all by turns are shifts. The rate of a flow is one
over the number of flows on the fullest link of its path: every link is divided evenly, so
the max-min fair rate is at least that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fireflyer.design.routing_order import has_three_layers
from fireflyer.model.fabric import Fabric, Layer, Role
from fireflyer.verify.finding import Finding
from fireflyer.verify.hops import Hops, Indices
from fireflyer.verify.link_load import whole_leaves

MOST_SHIFTS = 300
"""Of one ordering; a larger zone is sampled at even distances."""
LEAST_RATE = 0.97
"""Of what the leaves' uplinks allow, on average over all shifts, where every leaf has a
multiple of its uplinks in hosts. Other leaves shift the routing order: no limit is held there."""
LEAST_RATE_FAT_TREE = 0.9
"""The same for fat-tree routing (three layers)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftRate:
    """Rates of all shifts of a tree's compute ports in one order."""

    tree: str
    order: str
    """`name` or `leaf`."""
    ports: int
    shifts: int
    mean: float
    """Share of the line rate, over all flows and shifts."""
    worst: float
    """The mean of the worst shift."""
    possible: float
    """Uplinks over compute ports of the fullest leaf, at most 1."""
    limit: float
    """0 where none is held."""


def shift_rates(fabric: Fabric, hops: Hops) -> Iterator[ShiftRate]:
    """Yield the rates of shifts over the compute ports of every zone or plane, rail by rail."""
    limit = LEAST_RATE if whole_leaves(fabric, hops) else 0.0
    if has_three_layers(fabric):
        limit = LEAST_RATE_FAT_TREE
    compute = np.array([role is Role.COMPUTE for role in hops.roles], dtype=bool)
    for number, tree in enumerate(fabric.trees):
        for rail in sorted({int(rail) for rail in hops.rails[compute]}):
            chosen = np.flatnonzero(compute & (hops.trees == number) & (hops.rails == rail))
            if len(chosen) < 2 or len(set(hops.at_row[chosen].tolist())) < 2:
                continue
            by_leaf = chosen[np.lexsort((hops.leaf_ports[chosen], hops.at_row[chosen]))]
            for order, ports in (("name", chosen), ("leaf", by_leaf)):
                yield _rate(fabric, hops, tree, order, ports, limit)


def _rate(
    fabric: Fabric, hops: Hops, tree: str, order: str, ports: Indices, limit: float
) -> ShiftRate:
    count = len(ports)
    step = -(-(count - 1) // MOST_SHIFTS)
    rates = [_shift(hops, ports, np.roll(ports, -k)) for k in range(1, count, step)]
    possible = _possible(fabric, hops, ports)
    return ShiftRate(
        tree=tree,
        order=order,
        ports=count,
        shifts=len(rates),
        mean=float(np.mean(rates)),
        worst=min(rates),
        possible=possible,
        limit=limit * possible,
    )


def _shift(hops: Hops, source: Indices, target: Indices) -> float:
    """Return the mean rate of flows from each source to the target at the same index."""
    rows = hops.at_row[source]
    remote = rows != hops.at_row[target]
    taken = [step[rows, target] for step in hops.steps]
    used = [(channel >= 0) & remote for channel in taken]
    load = np.zeros(hops.channels, dtype=np.int64)
    for channel, on in zip(taken, used, strict=True):
        load += np.bincount(channel[on], minlength=hops.channels)
    fullest = np.ones(len(source))
    for channel, on in zip(taken, used, strict=True):
        fullest[on] = np.maximum(fullest[on], load[channel[on]])
    return float((1.0 / fullest).mean())


def _possible(fabric: Fabric, hops: Hops, ports: Indices) -> float:
    """Return uplinks over compute ports, at the leaf where that is least; at most 1."""
    spine = [fabric.switch[name].layer is Layer.SPINE for name in hops.switches]
    counts = np.bincount(hops.at_row[ports], minlength=len(hops.leaves))
    shares = [1.0]
    for leaf, count in zip(hops.leaves.tolist(), counts.tolist(), strict=True):
        links = sum(spine[far] for far in hops.neighbour[leaf].tolist() if far >= 0)
        if count:
            shares.append(links / count)
    return min(shares)


def shift_findings(rates: tuple[ShiftRate, ...]) -> tuple[Finding, ...]:
    """Return the orders whose shifts run below the limit."""
    return tuple(
        Finding(
            "shift",
            f"{rate.tree}, nodes in order of {rate.order}",
            f"shift permutations of {rate.ports} ports run at {rate.mean:.3f} of the line rate on"
            f" average, the limit is {rate.limit:.3f}",
            "check guid-routing-order.conf and the links between leaves and spines",
        )
        for rate in rates
        if rate.mean < rate.limit - 1e-6
    )
