"""Every pair of kinds of parallelism trains as one process: clipped, accumulated, recomputed.

All take their groups from one mesh, and one function clips by the norm of the whole model.
"""

from __future__ import annotations

from typing import Any

import pytest
from torch import Tensor, nn

import ranks_pairs
from models import STEPS, TOLERANCE, furthest, learns, optimizer
from processes import run_ranks
from ranks_pairs import CLIP, OF_EIGHT, PAIRS, Pair, task_of

AT_ONCE = {4: 2, 8: 1}
_FOUND: dict[tuple[int, str], list[dict[str, Any]]] = {}


def alone(pair: Pair) -> tuple[list[float], list[float], dict[str, Tensor]]:
    """Train in one process; return the losses, the norms, and the state after them."""
    task = task_of(pair)
    model = task.model()
    steps, losses, norms = optimizer(model.parameters()), [], []
    for step in range(STEPS):
        x, y = task.batch(step)
        loss = task.loss(model(x), y)
        steps.zero_grad()
        loss.backward()
        norms.append(float(nn.utils.clip_grad_norm_(model.parameters(), CLIP)))
        steps.step()
        losses.append(loss.item())
    return losses, norms, model.state_dict()


def ran(world: int, name: str) -> list[dict[str, Any]]:
    """Return what every rank found of a pair; a handful run in the same processes."""
    if (world, name) not in _FOUND:
        pairs = PAIRS if world == 4 else OF_EIGHT
        first = list(pairs).index(name) // AT_ONCE[world] * AT_ONCE[world]
        batch = {each: pairs[each] for each in list(pairs)[first : first + AT_ONCE[world]]}
        ranks = run_ranks(world, ranks_pairs.work, batch)
        _FOUND.update({(world, each): [rank[each] for rank in ranks] for each in batch})
    return _FOUND[world, name]


def agree(ranks: list[dict[str, Any]], pair: Pair) -> None:
    losses, norms, state = alone(pair)
    assert learns(losses)
    assert min(norms) > CLIP
    held: dict[str, Tensor] = {}
    for rank in ranks:
        held |= rank["state"]
        assert rank["norms"] == pytest.approx(norms, rel=TOLERANCE)
        assert rank["norms"] == ranks[0]["norms"]  # to the bit, so that replicas do not drift
        assert furthest(rank["state"], state) < TOLERANCE
        if rank["losses"]:
            assert rank["losses"] == pytest.approx(losses, rel=TOLERANCE)
    assert held.keys() == state.keys()
    assert any(rank["losses"] for rank in ranks)


@pytest.mark.parametrize("name", PAIRS)
def test_a_pair_of_kinds_trains_as_one_process(name: str) -> None:
    agree(ran(4, name), PAIRS[name])


@pytest.mark.parametrize("name", OF_EIGHT)
def test_three_kinds_and_four_do(name: str) -> None:
    agree(ran(8, name), OF_EIGHT[name])


def test_the_norm_of_one_rank_is_another() -> None:
    ranks = run_ranks(4, ranks_pairs.controls)
    for name in ranks[0]:
        _, norms, state = alone(PAIRS[name])
        assert any(rank[name]["norms"][0] < 0.999 * norms[0] for rank in ranks)
        assert any(furthest(rank[name]["state"], state) > 1000 * TOLERANCE for rank in ranks)
