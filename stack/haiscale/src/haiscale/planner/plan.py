"""A placement: which rank runs where, and what rules that keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from haiscale.errors import HaiscaleError
from haiscale.layout import Layout
from haiscale.node import NodeModel

State = Literal["kept", "weakened", "broken", "not in play"]


@dataclass(frozen=True, slots=True)
class Zone:
    """A fat tree, and its nodes in the order of the fabric."""

    name: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Host:
    """A node of the job; its place in the plan is its node rank."""

    name: str
    zone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedRank:
    """A rank: where it runs, and what it does."""

    rank: int
    host: str
    zone: str
    local_rank: int
    gpu: int
    nic: int
    pp: int
    dp: int
    tp: int
    ep: int


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of placement, and how it fared."""

    name: str
    state: State
    why: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A job on its nodes.

    Attributes:
        layout: the job's shape.
        node: what every node is.
        hosts: by node rank, as a launcher has to number them.
        ranks: by rank.
        rules: what the placement was checked against.
    """

    layout: Layout
    node: NodeModel
    hosts: tuple[Host, ...]
    ranks: tuple[PlacedRank, ...]
    rules: tuple[Rule, ...]

    @property
    def visible_devices(self) -> str:
        """The order of GPUs (`CUDA_VISIBLE_DEVICES`) that local ranks count in."""
        return ",".join(map(str, self.node.order(self.layout.tp)))


def zones_of(counts: dict[str, int]) -> tuple[Zone, ...]:
    """Return zones of so many nodes, named as the fabric names them."""
    zones = []
    for name, count in counts.items():
        if count < 1:
            raise HaiscaleError(f"zone {name} has {count} nodes; it needs at least 1")
        width = max(4, len(str(count)))
        zones.append(
            Zone(name, tuple(f"{name}-cn{number:0{width}}" for number in range(1, count + 1)))
        )
    return tuple(zones)
