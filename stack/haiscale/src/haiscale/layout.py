"""Which rank holds which share of the model: the arithmetic, without a process group.

Ranks count through the tensor-parallel index first, then the data-parallel one, then the
pipeline stage. As `torchrun` numbers the ranks of a node next to each other, the GPUs of a node
thereby fall into different data-parallel ranks at the same stage, which is the paper's rule for
nodes whose GPUs share one adapter: their pipeline sends are those of different replicas.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from haiscale.errors import HaiscaleError


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where a rank stands in each direction, from 0."""

    pp: int
    dp: int
    tp: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The shape of a job: replicas, pipeline stages, shares of a tensor, shares of the experts.

    Expert-parallel ranks are data-parallel ranks too: `ep` divides `dp`.
    """

    dp: int
    pp: int = 1
    tp: int = 1
    ep: int = 1

    def __post_init__(self) -> None:
        for field in fields(self):
            degree = getattr(self, field.name)
            if isinstance(degree, bool) or not isinstance(degree, int) or degree < 1:
                raise HaiscaleError(f"{field.name} is {degree!r}; it must be a whole number from 1")
        if self.dp % self.ep:
            raise HaiscaleError(
                f"ep is {self.ep}, which does not divide dp {self.dp}: experts are spread over"
                f" data-parallel ranks; take ep from {_divisors(self.dp)}"
            )

    @property
    def world(self) -> int:
        """Number of ranks."""
        return self.dp * self.pp * self.tp

    def place(self, rank: int) -> Place:
        """Return where a rank stands."""
        if not 0 <= rank < self.world:
            raise HaiscaleError(f"rank is {rank}; the job has ranks 0 to {self.world - 1}")
        cell, tp = divmod(rank, self.tp)
        pp, dp = divmod(cell, self.dp)
        return Place(pp=pp, dp=dp, tp=tp)

    def rank(self, place: Place) -> int:
        """Return the rank that stands there."""
        return (place.pp * self.dp + place.dp) * self.tp + place.tp

    def pp_groups(self) -> list[list[int]]:
        """Return the ranks of each pipeline, by stage."""
        return [
            [self.rank(Place(pp, dp, tp)) for pp in range(self.pp)]
            for dp in range(self.dp)
            for tp in range(self.tp)
        ]

    def dp_groups(self) -> list[list[int]]:
        """Return the ranks that hold the same parameters, by replica."""
        return [
            [self.rank(Place(pp, dp, tp)) for dp in range(self.dp)]
            for pp in range(self.pp)
            for tp in range(self.tp)
        ]

    def tp_groups(self) -> list[list[int]]:
        """Return the ranks that share each tensor."""
        return [
            [self.rank(Place(pp, dp, tp)) for tp in range(self.tp)]
            for pp in range(self.pp)
            for dp in range(self.dp)
        ]

    def ep_groups(self) -> list[list[int]]:
        """Return the ranks that between them hold every expert: neighbours of a dp group."""
        return [
            group[start : start + self.ep]
            for group in self.dp_groups()
            for start in range(0, self.dp, self.ep)
        ]

    def expert_replicas(self) -> list[list[int]]:
        """Return the ranks that hold the same experts."""
        return [group[start :: self.ep] for group in self.dp_groups() for start in range(self.ep)]


def layout_of(world: int, *, pp: int = 1, tp: int = 1, ep: int = 1) -> Layout:
    """Return the layout of a world size, the data-parallel degree being what is left."""
    shape = Layout(dp=1, pp=pp, tp=tp)
    if world % shape.world:
        raise HaiscaleError(
            f"{world} ranks cannot be cut into pp {pp} x tp {tp}: start a multiple of"
            f" {shape.world} ranks, or take a pp from {_divisors(world // _shared(world, tp))}"
        )
    return Layout(dp=world // shape.world, pp=pp, tp=tp, ep=ep)


def check_spread(
    layout: Layout, ranks_per_node: int, *, nics_per_node: int = 1, co_locate_stages: bool = False
) -> None:
    """Refuse a shape in which GPUs that share an adapter do not sit in different dp ranks.

    A job that fits into one node sends nothing through an adapter, so that any shape goes.
    """
    if ranks_per_node < 1 or layout.world % min(ranks_per_node, layout.world):
        raise HaiscaleError(
            f"{layout.world} ranks on nodes of {ranks_per_node} leave a node partly filled: start"
            f" a multiple of {ranks_per_node} ranks"
        )
    if layout.world <= ranks_per_node or co_locate_stages:
        return
    sharing = max(1, ranks_per_node // layout.tp // nics_per_node)
    if layout.dp < sharing:
        nodes = layout.world // ranks_per_node
        raise HaiscaleError(
            f"pp is {layout.pp} on {nodes} nodes of {ranks_per_node} ranks, which leaves"
            f" {layout.dp} data-parallel ranks, while {sharing} of a node share an adapter and"
            f" must sit in different ones: take a pp of at most {nodes * nics_per_node}, start at"
            f" least {-(-layout.pp // nics_per_node)} nodes, or pass co_locate_stages=True to put"
            " neighbouring stages of one pipeline into a node"
        )


def _shared(world: int, tp: int) -> int:
    return tp if world % tp == 0 else 1


def _divisors(number: int) -> str:
    return ", ".join(str(each) for each in range(1, number + 1) if number % each == 0)
