"""Published scripts run with their own defaults."""

from __future__ import annotations

import ranks_published
from models import TOLERANCE
from processes import run_ranks
from ranks_published import STAGES


def test_a_graph_of_constants_through_more_stages_than_chunks() -> None:
    *others, last = run_ranks(STAGES, ranks_published.graph_pipeline)
    assert all(rank["loss"] is None and rank["outputs"] is None for rank in others)
    assert abs(last["loss"]) < TOLERANCE
    assert last["outputs"] < TOLERANCE
    assert all(rank["gradients"] < TOLERANCE for rank in [*others, last])
