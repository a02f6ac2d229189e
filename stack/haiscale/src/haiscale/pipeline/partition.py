"""Cutting a sequence of layers into pipeline stages."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, overload

from torch import Tensor, nn

from haiscale.errors import HaiscaleError

Style = Literal["loop", "v"]
"""How stages go round the ranks: over and over, or there and back."""


@dataclass(frozen=True, slots=True)
class StagePosition:
    """Which part of how many a module is; `partition` leaves it on what it returns."""

    index: int
    count: int


class SequentialModel(nn.Sequential):
    """Layers one after the other, where a layer may take and return several tensors."""

    def forward(self, *inputs: Tensor) -> Tensor | tuple[Tensor, ...]:
        """Hand each layer what the layer before it returned."""
        for layer in self:
            outputs = layer(*inputs)
            inputs = outputs if isinstance(outputs, tuple) else (outputs,)
        return inputs[0] if len(inputs) == 1 else inputs


def stages_of(rank: int, size: int, num_model_chunks: int, style: Style) -> tuple[int, ...]:
    """Return the stages that a rank holds, in the order in which data passes them."""
    return tuple(
        turn * size + (size - 1 - rank if style == "v" and turn % 2 else rank)
        for turn in range(num_model_chunks)
    )


@overload
def partition(
    seq: nn.Sequential, rank: int, size: int, balance: Sequence[int] | None = None
) -> nn.Sequential: ...


@overload
def partition(
    seq: nn.Sequential,
    rank: int,
    size: int,
    balance: Sequence[int] | None = None,
    *,
    num_model_chunks: int,
    style: Style = "loop",
) -> list[nn.Sequential]: ...


def partition(
    seq: nn.Sequential,
    rank: int,
    size: int,
    balance: Sequence[int] | None = None,
    *,
    num_model_chunks: int | None = None,
    style: Style = "loop",
) -> nn.Sequential | list[nn.Sequential]:
    """Return what a rank of a pipeline holds of a sequence of layers.

    Layers keep their names, so that the state dicts of all ranks together are the model's.

    Args:
        seq: the layers, the same on every rank.
        rank: of this process in its pipeline.
        size: of the pipeline.
        balance: number of layers of each stage; by default as even as it goes, first stages
            first.
        num_model_chunks: stages a rank holds. With it a list is returned.
        style: "loop" as `Interleaved1F1B` and `ZeroBubble` want it, "v" for `ZBV` and
            `DualPipeV`.
    """
    if not isinstance(seq, nn.Sequential):
        raise HaiscaleError(
            f"seq is a {type(seq).__name__}; pass an nn.Sequential or a SequentialModel"
        )
    if not 0 <= rank < size:
        raise HaiscaleError(f"rank is {rank}; a pipeline of size {size} has 0 to {size - 1}")
    if style not in ("loop", "v"):
        raise HaiscaleError(f"style is {style!r}; it must be 'loop' or 'v'")
    if num_model_chunks is not None and num_model_chunks < 1:
        raise HaiscaleError(f"num_model_chunks is {num_model_chunks}; it must be at least 1")
    stages = size * (num_model_chunks or 1)
    bounds = list(accumulate(_balance(len(seq), stages, balance), initial=0))
    parts = [
        _slice(seq, bounds[stage], bounds[stage + 1], StagePosition(stage, stages))
        for stage in stages_of(rank, size, num_model_chunks or 1, style)
    ]
    return parts[0] if num_model_chunks is None else parts


def _balance(layers: int, stages: int, balance: Sequence[int] | None) -> list[int]:
    if layers < stages:
        raise HaiscaleError(
            f"the model has {layers} layers for {stages} stages: take a smaller pipeline or"
            " fewer model chunks, or cut the model finer"
        )
    if balance is None:
        return [layers // stages + (stage < layers % stages) for stage in range(stages)]
    if len(balance) != stages:
        raise HaiscaleError(
            f"balance is {list(balance)}, which is {len(balance)} stages; there are {stages}"
        )
    if min(balance) < 1 or sum(balance) != layers:
        raise HaiscaleError(
            f"balance is {list(balance)}, which is {sum(balance)} layers; the model has {layers},"
            " and every stage needs one"
        )
    return list(balance)


def _slice(seq: nn.Sequential, start: int, end: int, position: StagePosition) -> nn.Sequential:
    layers = OrderedDict(list(seq.named_children())[start:end])
    part = SequentialModel(layers) if isinstance(seq, SequentialModel) else nn.Sequential(layers)
    part.train(seq.training)
    part.stage_position = position  # type: ignore[assignment]
    return part
