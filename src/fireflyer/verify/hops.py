"""The channels that every path takes, hop by hop.

A channel is an output port of a switch, numbered switch x ports + port.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fireflyer.model.fabric import Fabric, NodePort, Role
from fireflyer.verify.routing import Ints, RoutedSubnet

Indices: TypeAlias = NDArray[np.intp]
MAX_HOPS = 16


@dataclass(frozen=True, eq=False)
class Hops:
    """Paths from every leaf with hosts (R rows) to every end port (D columns)."""

    switches: tuple[str, ...]
    neighbour: Ints
    """Switch x port: switch at the other end, -1 where there is none."""
    leaves: Indices
    """R: switch index."""
    lids: Ints
    """D."""
    at_row: Indices
    """D: row of the leaf of an end port."""
    roles: tuple[Role, ...]
    trees: Ints
    """D: index of the end port's zone or plane."""
    rails: Ints
    """D: the node's adapter in its tree, from 0."""
    leaf_ports: Ints
    """D: number of the leaf's port."""
    steps: tuple[Ints, ...]
    """R x D each: channel between switches, -1 once the path has left the last of them."""

    @property
    def ports(self) -> int:
        return int(self.neighbour.shape[1])

    @cached_property
    def channels(self) -> int:
        """Number of channels, used or not."""
        return len(self.switches) * self.ports

    def links(self) -> Iterator[tuple[int, str, str]]:
        """Yield the channels between switches: channel, sender, receiver."""
        for switch, port in np.argwhere(self.neighbour >= 0).tolist():
            receiver = self.switches[self.neighbour[switch, port]]
            yield switch * self.ports + port, self.switches[switch], receiver


def paths(fabric: Fabric, subnet: RoutedSubnet) -> Hops:
    """Follow the tables from each leaf with hosts to each end port that has a LID and a link."""
    index = {tree: number for number, tree in enumerate(fabric.trees)}
    switch, port = np.nonzero(subnet.end_port)
    at = dict(
        zip(subnet.end_port[switch, port].tolist(), zip(switch, port, strict=True), strict=True)
    )
    ends: list[tuple[Role, NodePort, int]] = []
    for node in fabric.nodes:
        for end in node.ports:
            lid = subnet.lids.get(end.guid.value, 0)
            if lid in at and end.tree in index:
                ends.append((node.role, end, lid))
    lids = np.array([lid for *_, lid in ends], dtype=np.int32)
    leaves, at_row = np.unique(
        np.array([at[lid][0] for *_, lid in ends], dtype=np.intp), return_inverse=True
    )
    return Hops(
        switches=subnet.switches,
        neighbour=subnet.neighbour,
        leaves=leaves,
        lids=lids,
        at_row=at_row,
        roles=tuple(role for role, _, _ in ends),
        trees=np.array([index[end.tree] for _, end, _ in ends], dtype=np.int32),
        rails=np.array([end.rail for _, end, _ in ends], dtype=np.int32),
        leaf_ports=np.array([at[lid][1] for *_, lid in ends], dtype=np.int32),
        steps=tuple(_steps(subnet, leaves, lids)),
    )


def _steps(subnet: RoutedSubnet, leaves: Indices, lids: Ints) -> Iterator[Ints]:
    ports = subnet.neighbour.shape[1]
    current = np.repeat(leaves[:, None], len(lids), axis=1)
    target = np.broadcast_to(lids, current.shape)
    alive = np.ones(current.shape, dtype=bool)
    for _ in range(MAX_HOPS):
        port = subnet.forward[current, target]
        alive &= (port > 0) & (port < ports)
        port = np.where(alive, port, 0)
        following = subnet.neighbour[current, port]
        alive &= following >= 0
        if not alive.any():
            return
        yield np.where(alive, current * ports + port, -1).astype(np.int32)
        current = np.where(alive, following, current)
