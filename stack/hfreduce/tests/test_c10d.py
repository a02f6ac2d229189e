"""The backend under torch.distributed: names, devices, callbacks, timeouts, groups, forks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import ranks_c10d
from jobs import SLOWNESS, Job
from jobs import run as run_job

pytest.importorskip("torch")


def run(function: Callable[..., Any], ranks: int, *arguments: Any) -> list[Any]:
    """Run a function on the ranks of one node."""
    return run_job(function, ranks, ranks, *arguments)


@pytest.mark.parametrize("ranks", [2, 3])
def test_newer_names(ranks: int) -> None:
    run(ranks_c10d.newer_names, ranks)


@pytest.mark.parametrize(
    ("backend", "ours"),
    [
        ("cpu:hfreduce,cuda:gloo", "cpu"),
        ("cuda:gloo,cpu:hfreduce", "cpu"),
        ("cpu:gloo,cuda:hfreduce", "cuda"),
        ("cuda:hfreduce,cpu:gloo", "cuda"),
    ],
)
def test_each_device_has_the_backend_that_was_named(backend: str, ours: str) -> None:
    run(ranks_c10d.mixed_backends, 2, backend, ours)


def test_a_backend_that_cannot_stand_beside_is_refused() -> None:
    for outcome in Job(ranks_c10d.foreign_backend, 2, 2).outcomes():
        assert "a group of hfreduce and ucc (cpu:hfreduce,cuda:ucc) is not" in outcome.error


@pytest.mark.parametrize("ranks", [2, 3])
def test_callbacks_may_wait_for_collectives(ranks: int) -> None:
    run(ranks_c10d.callbacks_that_wait, ranks)


def test_power_sgd_trains_as_on_gloo() -> None:
    ours = run(ranks_c10d.power_sgd, 2, "hfreduce")
    theirs = run(ranks_c10d.power_sgd, 2, "gloo")
    assert ours[0] == ours[1]
    assert ours[0][0] == pytest.approx(theirs[0][0], rel=1e-9)


@pytest.mark.parametrize("wait", ["group", "work", "barrier", "set", "monitored"])
def test_timeouts_are_kept(wait: str) -> None:
    took_s = run(ranks_c10d.late, 2, wait)[0]
    assert 0.9 < took_s < 1 + 1.5 * SLOWNESS


def test_a_group_is_destroyed_before_the_others() -> None:
    run(ranks_c10d.subgroups, 3)


def test_what_a_work_tells() -> None:
    run(ranks_c10d.results, 3)


def test_a_model_is_copied_and_pickled() -> None:
    run(ranks_c10d.copied_model, 2)
