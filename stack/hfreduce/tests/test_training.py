"""torch's own kinds of training over the backend: the losses of Gloo, to 1e-9 in float64."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import ranks_training
from jobs import run

pytest.importorskip("torch")


def _as_on_gloo(function: Callable[..., Any], ranks: int, *arguments: Any) -> None:
    ours, theirs = (
        run(function, ranks, ranks, backend, *(f"{each}/{backend}" for each in arguments))
        for backend in ("hfreduce", "gloo")
    )
    for rank in range(ranks):
        assert ours[rank] == pytest.approx(theirs[rank], rel=1e-9, abs=1e-12)
        assert len(ours[rank]) > 2


def test_fsdp2_with_asynchronous_checkpoints(tmp_path: Path) -> None:
    _as_on_gloo(ranks_training.fsdp2, 2, tmp_path)


def test_fsdp2_over_tensor_parallelism_and_dtensor() -> None:
    _as_on_gloo(ranks_training.tensor_parallel, 4)


def test_zero_redundancy_optimizer_and_join() -> None:
    _as_on_gloo(ranks_training.zero_and_join, 2)
