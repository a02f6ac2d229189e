"""Layers cut over pairs of ranks train as whole ones do."""

from __future__ import annotations

from typing import Any

import pytest

import ranks_tensor
from models import TASKS, TOLERANCE, alone, furthest, learns
from processes import run_ranks


@pytest.fixture(scope="module", name="found")
def trained() -> list[dict[str, Any]]:
    return run_ranks(2, ranks_tensor.work)


def test_the_losses_are_those_of_one_process(found: list[dict[str, Any]]) -> None:
    losses, state = alone(TASKS["gpt"])
    assert learns(losses)
    for rank in found:
        assert rank["pairs"]["losses"] == pytest.approx(losses, rel=TOLERANCE)
        assert furthest(rank["pairs"]["state"], state) < TOLERANCE
        assert rank["pairs"]["state"].keys() == state.keys()


def test_a_rank_holds_half_of_what_is_cut(found: list[dict[str, Any]]) -> None:
    shares = found[0]["pairs"]["shares"]
    assert len(shares) == 6 * 6 * 2
    summed = {name for name in shares if name.endswith((".attention.out.bias", ".2.bias"))}
    assert all(share == (1 if name in summed else 0.5) for name, share in shares.items())


def test_cutting_changes_nothing(found: list[dict[str, Any]]) -> None:
    assert all(rank["untrained"] == 0 for rank in found)
    assert all(rank["outputs"] < TOLERANCE for rank in found)


def test_refusals(found: list[dict[str, Any]]) -> None:
    assert found[0]["wrong"] == [
        "tp is 4 on node of 8 GPUs, where NVLink joins 2 GPUs of it (groups: 0-1, 2-3, 4-5, 6-7):"
        " tensor parallelism reduces activations twice a layer and would do so over PCIe, which all"
        " else in the node needs; take tp 1 or 2, or more pipeline stages",
        "tp is 2 on node bare, where NVLink joins none of it (groups: none): tensor parallelism"
        " reduces activations twice a layer and would do so over PCIe, which all else in the node"
        " needs; take tp 1, or more pipeline stages",
        "tp is 3, which does not divide the 2 ranks",
        "plan cuts '0' 'diagonal'; it must be 'colwise' or 'rowwise'",
        "plan names '*.out', and no part of the model is called so",
        "1 is a GELU; only linear layers are cut: name those inside",
        "0 has out_features 3, which do not divide over 2 ranks: widen the layer to a multiple of"
        " 2",
        "2 has in_features 3, which do not divide over 2 ranks: widen the layer to a multiple of 2",
    ]
