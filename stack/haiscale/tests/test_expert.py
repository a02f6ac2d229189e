"""Experts on four ranks train as in one process, whatever way the tokens go."""

from __future__ import annotations

from typing import Any

import pytest

import ranks_expert
from models import TOLERANCE, alone, furthest, learns
from processes import run_ranks

RANKS = 4


@pytest.fixture(scope="module", name="found")
def trained() -> list[dict[str, Any]]:
    return run_ranks(RANKS, ranks_expert.work)


@pytest.mark.parametrize("ep", [4, 2])
def test_the_losses_are_those_of_one_process(found: list[dict[str, Any]], ep: int) -> None:
    losses, state = alone(ranks_expert.TASK)
    assert learns(losses)
    held = {}
    for rank in found:
        run = rank[str(ep)]
        held |= run["state"]
        assert run["losses"] == pytest.approx(losses, rel=TOLERANCE)
        assert furthest(run["state"], state) < TOLERANCE
        assert run["experts"] == 2 * ranks_expert.EXPERTS // ep * 4
    assert held.keys() == state.keys()


def test_ranks_with_the_same_experts_must_average(found: list[dict[str, Any]]) -> None:
    losses, state = alone(ranks_expert.TASK)
    for rank in found:
        assert rank["control"]["losses"][-1] != pytest.approx(losses[-1], rel=1000 * TOLERANCE)
        assert furthest(rank["control"]["state"], state) > 1000 * TOLERANCE


def test_no_token_is_dropped_where_all_want_one_expert(found: list[dict[str, Any]]) -> None:
    for rank in found:
        assert rank["crowded"]["results"] < TOLERANCE
        assert rank["crowded"]["gradients"] < TOLERANCE
        assert rank["crowded"]["empty"] == (0, 4)
    assert [rank["crowded"]["idle"] > 0 for rank in found] == [True, True, False, True]


def test_refusals(found: list[dict[str, Any]]) -> None:
    assert found[0]["wrong"] == [
        "num_experts is 6, which does not divide over the 4 ranks of the expert group: take 8"
        " experts or a group of a size that divides them",
        "top_k is 5; with 4 experts it is 1 to that",
        "ep is 3, which does not divide dp 4: experts are spread over data-parallel ranks; take ep"
        " from 1, 2, 4",
    ]
