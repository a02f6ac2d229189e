"""Walk forwarding tables: everything connected, without a loop, in zone, and even.

Destination-based forwarding, as InfiniBand switches do it: a switch's table has one output
port for each LID. All walks go at once, as arrays over (leaf with hosts, destination).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fireflyer.model.fabric import Fabric, Role
from fireflyer.verify.finding import Finding

Ints: TypeAlias = NDArray[np.int32]
MAX_HOPS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedSubnet:
    """What a subnet manager computed for the links that are there.

    S switches, L = highest LID + 1, P = highest port + 1.
    """

    switches: tuple[str, ...]
    """Name of each switch index."""
    forward: Ints
    """S x L: output port to each LID; 0 at the switch itself, 255 where there is none."""
    neighbour: Ints
    """S x P: switch at the other end of a port, -1 where there is no switch."""
    end_port: Ints
    """S x P: LID of the adapter at a port, 0 where there is none."""
    lids: Mapping[int, int]
    """LID by port GUID, of switches and adapters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """What the walk over all pairs of end ports found."""

    pairs: int
    unreachable: int
    first_unreachable: str
    out_of_zone: int
    first_out_of_zone: str
    loop: tuple[str, ...]
    """Channels of a cycle of dependencies; empty where there is none."""
    longest_hops: int
    without_lid: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Ends:
    """Every end port of the plan that has a LID."""

    names: tuple[str, ...]
    lids: Ints
    zones: Ints
    roles: tuple[Role, ...]


def _ends(fabric: Fabric, subnet: RoutedSubnet) -> tuple[_Ends, tuple[str, ...]]:
    found, without = [], []
    zone_index = {tree: index for index, tree in enumerate(fabric.trees)}
    for node in fabric.nodes:
        for port in node.ports:
            name = f"{node.name} {port.hca}"
            lid = subnet.lids.get(port.guid.value)
            if lid:
                found.append((name, lid, zone_index[port.tree], node.role))
            else:
                without.append(name)
    return (
        _Ends(
            names=tuple(row[0] for row in found),
            lids=np.array([row[1] for row in found], dtype=np.int32),
            zones=np.array([row[2] for row in found], dtype=np.int32),
            roles=tuple(row[3] for row in found),
        ),
        tuple(without),
    )


def walk(fabric: Fabric, subnet: RoutedSubnet) -> Walk:
    """Follow every pair of end ports through the tables."""
    ends, without = _ends(fabric, subnet)
    at_leaf, hosts_at = _attachment(subnet, ends)
    leaves = np.flatnonzero(hosts_at)
    zone_of = _switch_zones(fabric, subnet)
    count = len(ends.lids)
    current = np.repeat(leaves[:, None], count, axis=1).astype(np.int32)
    start_zone = zone_of[leaves][:, None]
    inside = start_zone == ends.zones[None, :]
    arrived = np.zeros(current.shape, dtype=bool)
    stray = np.zeros(current.shape, dtype=bool)
    channel = np.full(current.shape, -1, dtype=np.int64)
    ports = subnet.neighbour.shape[1]
    edges: list[NDArray[np.int64]] = []
    hops = 0
    target = np.broadcast_to(ends.lids, current.shape)
    alive = np.ones(current.shape, dtype=bool)
    while alive.any() and hops < MAX_HOPS:
        hops += 1
        rows, columns = np.nonzero(alive)
        here, lid = current[rows, columns], target[rows, columns]
        port = subnet.forward[here, lid]
        dead = (port <= 0) | (port >= ports)
        port = np.where(dead, 0, port)
        arrived[rows, columns] = ~dead & (subnet.end_port[here, port] == lid)
        following = np.where(dead, -1, subnet.neighbour[here, port])
        moved = following >= 0
        alive[rows, columns] = moved
        rows, columns = rows[moved], columns[moved]
        taken = here[moved].astype(np.int64) * ports + port[moved]
        before = channel[rows, columns]
        turned = before >= 0
        edges.append(np.unique(before[turned] * (len(zone_of) * ports) + taken[turned]))
        channel[rows, columns] = taken
        current[rows, columns] = following[moved]
        stray[rows, columns] |= zone_of[following[moved]] != ends.zones[columns]
    weights = hosts_at[leaves][:, None] - (leaves[:, None] == at_leaf[None, :])
    lost = ~arrived & (weights > 0)
    out = inside & arrived & stray & (weights > 0)
    return Walk(
        pairs=int(weights.sum()),
        unreachable=int(weights[lost].sum()),
        first_unreachable=_first(lost, leaves, subnet, ends),
        out_of_zone=int(weights[out].sum()),
        first_out_of_zone=_first(out, leaves, subnet, ends),
        loop=_cycle(edges, subnet, ports),
        longest_hops=hops,
        without_lid=without,
    )


def _attachment(subnet: RoutedSubnet, ends: _Ends) -> tuple[Ints, Ints]:
    """Return the switch of each end port, and the number of end ports at each switch."""
    of_lid = np.full(subnet.forward.shape[1], -1, dtype=np.int32)
    switch, port = np.nonzero(subnet.end_port)
    of_lid[subnet.end_port[switch, port]] = switch
    at_leaf = of_lid[ends.lids]
    counts = np.bincount(at_leaf[at_leaf >= 0], minlength=len(subnet.switches))
    return at_leaf, counts.astype(np.int32)


def _switch_zones(fabric: Fabric, subnet: RoutedSubnet) -> Ints:
    zones = {tree: index for index, tree in enumerate(fabric.trees)}
    of = [zones.get(fabric.switch[name].tree or "", -1) for name in subnet.switches]
    return np.array(of, dtype=np.int32)


def _first(
    where: NDArray[np.bool_], leaves: NDArray[np.intp], subnet: RoutedSubnet, ends: _Ends
) -> str:
    if not where.any():
        return ""
    row, column = np.argwhere(where)[0]
    return f"{subnet.switches[leaves[row]]} to {ends.names[column]}"


def _cycle(edges: list[NDArray[np.int64]], subnet: RoutedSubnet, ports: int) -> tuple[str, ...]:
    """Return the channels of one ring, each waiting for the next (Dally and Seitz, 1987)."""
    if not edges:
        return ()
    total = len(subnet.switches) * ports
    pairs = np.unique(np.concatenate(edges))
    after: dict[int, list[int]] = {}
    waits: dict[int, int] = {}
    for before, then in zip((pairs // total).tolist(), (pairs % total).tolist(), strict=True):
        after.setdefault(before, []).append(then)
        waits[then] = waits.get(then, 0) + 1
        waits.setdefault(before, 0)
    free = [channel for channel, number in waits.items() if number == 0]
    while free:
        channel = free.pop()
        for then in after.get(channel, ()):
            waits[then] -= 1
            if waits[then] == 0:
                free.append(then)
    # What is left is on a ring or behind one: each has a predecessor that is left, too, so that
    # going back from any of them leads into a ring.
    left = {channel for channel, number in waits.items() if number > 0}
    if not left:
        return ()
    before_of = {then: channel for channel in sorted(left) for then in after.get(channel, ())}
    way, channel = dict[int, None](), min(left)
    while channel not in way:
        way[channel] = None
        channel = before_of[channel]
    ring = list(way)[list(way).index(channel) :][::-1]
    first = ring.index(min(ring))
    ring = ring[first:] + ring[:first]
    return tuple(f"{subnet.switches[c // ports]}/{c % ports}" for c in ring)


def routing_findings(result: Walk) -> tuple[Finding, ...]:
    """Return what is wrong with the routes."""
    findings = [
        Finding("connectivity", name, "has no LID", "check that its cable is up")
        for name in result.without_lid
    ]
    if result.unreachable:
        findings.append(
            Finding(
                "connectivity",
                "forwarding tables",
                f"{result.unreachable:,} of {result.pairs:,} pairs of end ports have no path,"
                f" the first is {result.first_unreachable}",
                "compare root-guids.conf with the topmost switches that are up",
            )
        )
    if result.loop:
        findings.append(
            Finding(
                "credit loop",
                " ".join(result.loop),
                "channels wait for each other in a ring and can deadlock",
                "use a routing engine that is free of loops on this fabric",
            )
        )
    if result.out_of_zone:
        findings.append(
            Finding(
                "zone",
                result.first_out_of_zone,
                f"{result.out_of_zone:,} paths between ports of one zone leave it",
                "check the zone's own leaf-spine links",
            )
        )
    return tuple(findings)
