"""Stages on four ranks train as one process does, in every order of the microbatches."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import ranks_pipeline
from models import BATCH, TASKS, TOLERANCE, alone, cross_entropy, furthest, learns
from processes import run_ranks
from ranks_pipeline import ONE_STAGE, SCHEDULES

RUNS = [
    *(f"{name} gpt" for name in SCHEDULES),
    "GPipe cnn",
    "Interleaved1F1B cnn",
    "GPipe gpt except_last",
    "PipeDream gpt always",
    *(f"{name} gpt {chunks}" for name in ONE_STAGE for chunks in (1, 2)),
]


@pytest.fixture(scope="module", name="found")
def trained() -> list[dict[str, Any]]:
    return run_ranks(4, ranks_pipeline.work)


@pytest.fixture(scope="module", name="both")
def trained_in_two_directions(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [rank["both"] for rank in found]


def agree(runs: list[dict[str, Any]], task: str) -> None:
    losses, state = alone(TASKS[task])
    assert learns(losses)
    assert sum(run["last"] for run in runs) == len([run for run in runs if run["losses"]]) > 0
    held = {}
    for run in runs:
        held |= run["state"]
        assert furthest(run["state"], state) < TOLERANCE
        if run["last"]:
            assert run["losses"] == pytest.approx(losses, rel=TOLERANCE)
    assert held.keys() == state.keys()


@pytest.mark.parametrize("run", RUNS)
def test_the_losses_are_those_of_one_process(found: list[dict[str, Any]], run: str) -> None:
    agree([rank[run] for rank in found], run.split()[1])


@pytest.mark.parametrize("run", RUNS)
def test_an_evaluation_gives_the_models_outputs(found: list[dict[str, Any]], run: str) -> None:
    task = TASKS[run.split()[1]]
    model = task.model()
    model.load_state_dict(alone(task)[1])
    with torch.no_grad():
        wanted = model(task.batch(9)[0][:6])
    for rank in found:
        assert (rank[run]["outputs"] is not None) == rank[run]["last"]
        if rank[run]["last"]:
            torch.testing.assert_close(rank[run]["outputs"], wanted, rtol=TOLERANCE, atol=1e-8)


@pytest.mark.parametrize("run", [*SCHEDULES, "checkpoint", "always"])
def test_replicas_of_pipelines_too(both: list[dict[str, Any]], run: str) -> None:
    agree([rank[run] for rank in both], "gpt")


def test_pipelines_that_are_no_replicas_are_told_apart(both: list[dict[str, Any]]) -> None:
    losses, _ = alone(TASKS["gpt"])
    last = both[2]["control"]
    assert last["losses"][0] == pytest.approx(losses[0], rel=TOLERANCE)
    assert last["losses"][-1] != pytest.approx(losses[-1], rel=1000 * TOLERANCE)


def test_the_ranks_of_a_node_are_replicas_of_one_stage(both: list[dict[str, Any]]) -> None:
    assert [rank["ranks"] for rank in both] == [
        [[0, 1], [0, 2]],
        [[0, 1], [1, 3]],
        [[2, 3], [0, 2]],
        [[2, 3], [1, 3]],
    ]


def test_a_replica_in_a_pipeline_stops_as_in_the_published_example(
    both: list[dict[str, Any]],
) -> None:
    assert all(rank["stops"] for rank in both)


def test_outputs_are_returned_when_asked_for(found: list[dict[str, Any]]) -> None:
    *others, last = (rank["return outputs"] for rank in found)
    assert others == [None, None, None]
    x, _ = TASKS["gpt"].batch(0)
    torch.testing.assert_close(last, TASKS["gpt"].model()(x).detach())


def test_stages_pass_on_tensors_of_all_kinds(found: list[dict[str, Any]]) -> None:
    assert all(rank["tuples"][0]["worst"] < TOLERANCE for rank in found)


def test_a_constant_with_as_many_rows_as_the_batch_is_not_cut(found: list[dict[str, Any]]) -> None:
    assert all(rank["tuples"][1]["worst"] < TOLERANCE for rank in found)


def test_running_averages_see_every_microbatch_once(found: list[dict[str, Any]]) -> None:
    for rank in found:
        assert rank["norms"] == {"counts": [4], "random": True}


def test_what_is_forgotten_is_run_again(found: list[dict[str, Any]]) -> None:
    blocks = [1, 2, 2, 1]  # whose attentions are forgotten in any case, and never more than once
    for rank, attentions in zip(found, blocks, strict=True):
        ran = 2 * 4 * attentions
        assert rank["runs"] == {
            "never": (4, ran),
            "except_last": (4 + 3, ran),
            "always": (4 + 4, ran),
        }


def test_the_batch_may_change_its_shape(found: list[dict[str, Any]]) -> None:
    x, y = TASKS["gpt"].batch(0)
    model = TASKS["gpt"].model()
    wanted = [
        cross_entropy(model(x[:rows]), y[:rows]).item() for rows in (BATCH, BATCH // 2, BATCH)
    ]
    assert found[0]["reshaped"]["losses"] == [None] * 3
    assert found[3]["reshaped"]["losses"] == pytest.approx(wanted, rel=TOLERANCE)


def test_refusals(found: list[dict[str, Any]]) -> None:
    assert found[0]["wrong"] == [
        "the batch has 14 rows, which do not fall into 4 equal chunks: pad or drop to a multiple of"
        " 4, or take chunks=2",
        "no argument of the pipeline is a tensor with rows; every rank passes the batch, though"
        " only the first stage reads it",
        "the pipeline was given a str in place 1; only tensors pass between the stages of a"
        " pipeline",
        "input 1 is a tensor of shape [5, 8] beside other tensors, and nothing says whether it has"
        " a row a sample: write Batched(...) around it to cut it into chunks, or Replicated(...) to"
        " pass it whole",
        "label 1 is a tensor of shape [16, 8] beside other tensors, and nothing says whether it has"
        " a row a sample: write Batched(...) around it to cut it into chunks, or Replicated(...) to"
        " pass it whole",
        "label 0 has 5 rows, the batch 16: write Batched(...) around it to cut it into chunks, or"
        " Replicated(...) to pass it whole",
        "input 1 is a tensor of shape [16, 8] beside other tensors, and nothing says whether it has"
        " a row a sample: write Batched(...) around it to cut it into chunks, or Replicated(...) to"
        " pass it whole",
        "chunks is 0; it must be a whole number from 1",
        "checkpoint is 'often'; it must be 'never', 'always' or 'except_last'",
        "GPipe was given list for its stage; pass one module, as partition returns it without"
        " num_model_chunks",
        "PipeDream was given stage 1 of 4 where stage 0 of 4 belongs: partition for the rank in the"
        " pipeline's group",
        "Interleaved1F1B was given one Sequential; pass the list that partition returns with"
        " num_model_chunks=2 and style='loop'",
        "chunks is 11, which does not fall into 2 equal rounds over 4 ranks: take 8 or 12",
        "chunks is 4 for a pipeline of 8 stages; DualPipeV needs at least 8",
        "ZBV was given stage 4 of 8 where stage 7 of 8 belongs: partition with num_model_chunks=2,"
        " style='v' for the rank in the pipeline's group",
        "4 ranks cannot be cut into pp 3 x tp 1: start a multiple of 3 ranks, or take a pp from 1,"
        " 2, 4",
    ]
