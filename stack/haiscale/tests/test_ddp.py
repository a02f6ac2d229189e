"""Replicas on two ranks train as one process on the whole batch does."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

import ranks_ddp
from haiscale.ddp import DistributedDataParallel
from haiscale.errors import HaiscaleError
from models import TASKS, TOLERANCE, alone, furthest, learns
from processes import run_ranks

WORLD = 2
HAS_HFREDUCE = (
    importlib.util.find_spec("hfreduce") is not None
    and importlib.util.find_spec("hfreduce.torch") is not None
)
BACKENDS = [
    "group",
    "fake",
    pytest.param(
        "hfreduce", marks=pytest.mark.skipif(not HAS_HFREDUCE, reason="hfreduce is not installed")
    ),
]


@pytest.fixture(scope="module", name="found", params=BACKENDS)
def trained(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    return run_ranks(WORLD, ranks_ddp.work, request.param)


@pytest.mark.parametrize("name", TASKS)
def test_the_losses_are_those_of_one_process(found: list[dict[str, Any]], name: str) -> None:
    losses, state = alone(TASKS[name])
    assert learns(losses)
    for rank in found:
        assert rank[name]["losses"] == pytest.approx(losses, rel=TOLERANCE)
        assert furthest(rank[name]["state"], state) < TOLERANCE


def test_without_reduction_they_are_not(found: list[dict[str, Any]]) -> None:
    losses, _ = alone(TASKS["gpt"])
    for rank in found:
        assert rank["control"]["losses"][0] == pytest.approx(losses[0], rel=TOLERANCE)
        assert rank["control"]["losses"][-1] != pytest.approx(losses[-1], rel=1000 * TOLERANCE)


def test_a_replica_is_not_trained_once_its_reducer_has_stopped(found: list[dict[str, Any]]) -> None:
    assert found[0]["gpt"]["after_stop"] == [
        "reducer.stop() was called, and gradients are no longer averaged: call it after the last"
        " step, or run under torch.no_grad()"
    ]


def test_buckets_are_handed_to_hfreduce_while_the_backward_runs() -> None:
    for events in run_ranks(WORLD, ranks_ddp.order_of_buckets):
        assert events.count("bucket") > 3
        assert events.index("bucket") < events.index("first layer")


@pytest.fixture(scope="module", name="others")
def of_two_ranks() -> list[dict[str, Any]]:
    return run_ranks(WORLD, ranks_ddp.others)


def test_without_hfreduce_the_group_reduces_and_says_so_once(others: list[dict[str, Any]]) -> None:
    for rank in others:
        assert rank["said"] == [
            "haiscale: the package hfreduce is not installed; gradients are reduced by the process"
            " group's own backend"
        ]


def test_a_hook_of_the_users_is_taken(others: list[dict[str, Any]]) -> None:
    assert all(rank["buckets"] > 0 for rank in others)


def test_refusals(others: list[dict[str, Any]]) -> None:
    assert others[0]["wrong"] == [
        "reduce_with is 'nccl'; it must be 'auto', 'hfreduce' or 'group'",
        "reduce_with is 'hfreduce', but the package hfreduce is not installed: install hfreduce's"
        " wheel, built from stack/hfreduce of the same repository, or pass reduce_with='group'",
    ]


def test_it_needs_a_group() -> None:
    with pytest.raises(HaiscaleError, match=r"needs torch\.distributed\.init_process_group first"):
        DistributedDataParallel(TASKS["cnn"].model())
