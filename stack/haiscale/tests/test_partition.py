"""Laws of cutting a model into stages."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from haiscale.errors import HaiscaleError
from haiscale.pipeline import SequentialModel, StagePosition, partition
from haiscale.pipeline.partition import Style, stages_of

SIZES = st.integers(1, 5)
STYLES = st.sampled_from(["loop", "v"])


def model(layers: int, kind: type[nn.Sequential] = nn.Sequential) -> nn.Sequential:
    return kind(*(nn.Linear(1, 1) for _ in range(layers)))


@given(SIZES, st.integers(1, 3), STYLES, st.integers(0, 9))
def test_every_layer_is_on_one_rank_in_order(
    size: int, chunks: int, style: Style, more: int
) -> None:
    whole = model(size * chunks + more)
    parts = {
        part.stage_position.index: part
        for rank in range(size)
        for part in partition(whole, rank, size, num_model_chunks=chunks, style=style)
    }
    assert sorted(parts) == list(range(size * chunks))
    names = [name for stage in sorted(parts) for name in parts[stage].state_dict()]
    assert names == list(whole.state_dict())
    lengths = [len(parts[stage]) for stage in sorted(parts)]
    assert max(lengths) - min(lengths) <= 1
    assert lengths == sorted(lengths, reverse=True)


@given(SIZES, st.integers(1, 4))
def test_a_v_turns_where_a_loop_starts_again(size: int, chunks: int) -> None:
    for rank in range(size):
        loop, v = stages_of(rank, size, chunks, "loop"), stages_of(rank, size, chunks, "v")
        assert loop == tuple(range(rank, size * chunks, size))
        assert v[::2] == loop[::2]
        assert all(
            a + b == 4 * size * turn + 2 * size - 1
            for turn, (a, b) in enumerate(zip(v[::2], v[1::2], strict=False))
        )


def test_the_published_balance() -> None:
    balance = [4, 4, 4, 3, 3, 3, 3, 2]
    parts = [partition(model(26), rank, 8, balance=balance) for rank in range(8)]
    assert [len(part) for part in parts] == balance
    assert parts[7].stage_position == StagePosition(7, 8)
    assert list(parts[7].state_dict()) == ["24.weight", "24.bias", "25.weight", "25.bias"]


def test_a_sequential_model_stays_one() -> None:
    whole = model(4, SequentialModel)
    assert isinstance(partition(whole, 0, 2), SequentialModel)
    x = torch.ones(1)
    assert partition(whole, 1, 2)(partition(whole, 0, 2)(x)) == whole(x)


@pytest.mark.parametrize(
    ("cut", "message"),
    [
        (
            lambda: partition(nn.Linear(1, 1), 0, 1),  # type: ignore[call-overload]
            "seq is a Linear; pass an nn.Sequential or a SequentialModel",
        ),
        (lambda: partition(model(4), 4, 4), "rank is 4; a pipeline of size 4 has 0 to 3"),
        (
            lambda: partition(model(3), 0, 4),
            "the model has 3 layers for 4 stages: take a smaller pipeline or fewer model chunks,"
            " or cut the model finer",
        ),
        (
            lambda: partition(model(4), 0, 2, balance=[2, 1, 1]),
            "balance is [2, 1, 1], which is 3 stages; there are 2",
        ),
        (
            lambda: partition(model(4), 0, 2, balance=[4, 1]),
            "balance is [4, 1], which is 5 layers; the model has 4, and every stage needs one",
        ),
        (
            lambda: partition(model(4), 0, 2, balance=[4, 0]),
            "balance is [4, 0], which is 4 layers; the model has 4, and every stage needs one",
        ),
        (
            lambda: partition(model(4), 0, 2, num_model_chunks=0),
            "num_model_chunks is 0; it must be at least 1",
        ),
        (
            lambda: partition(model(4), 0, 2, num_model_chunks=2, style="w"),  # type: ignore[call-overload]
            "style is 'w'; it must be 'loop' or 'v'",
        ),
    ],
)
def test_refusals(cut: Callable[[], object], message: str) -> None:
    with pytest.raises(HaiscaleError) as caught:
        cut()
    assert str(caught.value) == message
