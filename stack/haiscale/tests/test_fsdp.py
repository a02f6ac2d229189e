"""Shards on two ranks train as one process does, the optimizer apart or in the backward."""

from __future__ import annotations

from typing import Any

import pytest

import ranks_fsdp
from models import TASKS, TOLERANCE, alone, furthest, learns
from processes import run_ranks

BLOCKS = 6


@pytest.fixture(scope="module", name="found")
def trained() -> list[dict[str, Any]]:
    return run_ranks(2, ranks_fsdp.work)


@pytest.mark.parametrize("run", ["gpt", "gpt fused", "gpt fused post", "cnn", "cnn fused"])
def test_the_losses_are_those_of_one_process(found: list[dict[str, Any]], run: str) -> None:
    losses, state = alone(TASKS[run.split()[0]])
    assert learns(losses)
    for rank in found:
        assert rank[run]["losses"] == pytest.approx(losses, rel=TOLERANCE)
        assert furthest(rank[run]["state"], state) < TOLERANCE


def test_a_rank_keeps_half_of_every_parameter(found: list[dict[str, Any]]) -> None:
    for rank in found:
        assert len(rank["shares"]) == rank["parameters"]
    for name, (_, whole) in found[0]["shares"].items():
        assert sum(rank["shares"][name][0] for rank in found) == whole


def test_gradients_are_clipped_by_the_norm_of_all_ranks(found: list[dict[str, Any]]) -> None:
    losses, state = alone(TASKS["gpt"], clip=0.1)
    assert losses != alone(TASKS["gpt"])[0]
    for rank in found:
        assert furthest(rank["clipped"]["torch"]["state"], state) < TOLERANCE
        assert furthest(rank["clipped"]["ours"]["state"], state) < TOLERANCE
        assert all(norm > 0.1 for norm in rank["clipped"]["ours"]["norms"])


def test_a_fused_step_takes_gradients_added_up_under_no_sync(found: list[dict[str, Any]]) -> None:
    _, state = alone(TASKS["gpt"])
    for rank in found:
        assert furthest(rank["accumulated"], state) < TOLERANCE


def test_fused_and_plain_optimizers_carry_on_from_each_other(found: list[dict[str, Any]]) -> None:
    _, state = alone(TASKS["gpt"])
    for rank in found:
        assert furthest(rank["resumed"], state) < TOLERANCE
        assert furthest(rank["whole optimizer"], state) < TOLERANCE


def test_a_fused_backward_holds_the_gradients_of_one_parameter(
    found: list[dict[str, Any]],
) -> None:
    assert found[0]["most gradients"] == [found[0]["parameters"], 1]


def blocks_in_order(events: list[str], what: str) -> list[int]:
    return [events.index(f"FSDP::{what} ({block})") for block in range(1, BLOCKS + 1)]


def test_blocks_are_gathered_while_the_one_before_computes(found: list[dict[str, Any]]) -> None:
    events = found[0]["pre"]["forward"]
    gathers, starts = (blocks_in_order(events, w) for w in ("all_gather", "pre_forward"))
    assert all(gather < start for gather, start in zip(gathers, starts, strict=True))
    events = found[0]["post"]["forward"]
    gathers, starts = (blocks_in_order(events, w) for w in ("all_gather", "pre_forward"))
    assert all(gather > start for gather, start in zip(gathers, starts, strict=True))


def test_when_blocks_are_gathered_in_the_backward(found: list[dict[str, Any]]) -> None:
    for which in ("pre", "post"):
        events = found[0][which]["backward"]
        gathers = blocks_in_order(events, "all_gather")
        computing = blocks_in_order(events, "pre_backward")
        done = blocks_in_order(events, "post_backward_reduce")
        for block in range(BLOCKS - 1):  # each but the last, whose backward is the first
            assert computing[block + 1] < gathers[block] < done[block + 1]
            late = "aten::mm" in events[computing[block + 1] : gathers[block]]
            assert late == (which == "post")


@pytest.fixture(scope="module", name="first")
def first_one(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return run_ranks(2, ranks_fsdp.first_one, str(tmp_path_factory.mktemp("saved")))


def test_what_the_first_rank_saved_is_resumed_by_all(first: list[dict[str, Any]]) -> None:
    _, state = alone(TASKS["gpt"])
    for rank in first:
        assert furthest(rank["published"], state) < TOLERANCE


def test_arguments_of_torchs_first_are_taken(first: list[dict[str, Any]]) -> None:
    _, state = alone(TASKS["gpt"])
    for rank in first:
        assert furthest(rank["arguments"]["state"], state) < TOLERANCE
        shares = rank["ignored"]
        assert {name for name in shares if not shares[name]} == {n for n in shares if n[:2] == "7."}
    assert [rank["arguments"]["shares inside"] for rank in first] == [{False}, {True}]


def test_other_arguments_are_refused_with_what_to_write(first: list[dict[str, Any]]) -> None:
    assert first[0]["refused"] == [
        "sharding_strategy is NO_SHARD, which shards nothing: use"
        " haiscale.ddp.DistributedDataParallel",
        "sharding_strategy is HYBRID_SHARD, and nothing says which ranks share a shard: pass"
        " device_mesh=mesh.data of haiscale.mesh.make_mesh(..., shard=N)",
        "use_orig_params is False, and there are no flat parameters: parameters(), names and"
        " optimizer groups are the module's own; leave it out or pass True",
        "sync_module_states is not taken: make the module alike on every rank (one seed, or one"
        " checkpoint)",
        "process_group is a tuple; pass one group, or for shards that have replicas"
        " device_mesh=mesh.data of haiscale.mesh.make_mesh(..., shard=N)",
        "ignored_modules has a str; it takes modules of the one that is wrapped",
        "cpu_offload keeps gradients in the processors' memory, where they are known after the"
        " backward: use the plain optimizer",
        "summon_full_params is called with rank0_only=True and writeback=True, and the other ranks"
        " would not get what the first one writes: pass writeback=False to save, or"
        " rank0_only=False to load",
        "summon_full_params is called with recurse=False or with_grads=True; it summons the"
        " parameters of the whole module, without gradients: read those from"
        " parameter.grad.full_tensor() on every rank",
        "Linear has no FullyShardedDataParallel inside: there is nothing to summon",
    ]


def test_refusals(found: list[dict[str, Any]]) -> None:
    assert found[0]["wrong"] == [
        "max_norm is 1.0, but the optimizer is fused into the backward: each gradient is spent"
        " before the norm of all is known; use the plain optimizer to clip by norm",
        "FusedOptimizer is fused already: a parameter cannot step twice",
        "a fused optimizer steps in the backward and takes no closure: call step() without",
        "LBFGS steps all parameters at once and cannot be fused into the backward: use it unfused,"
        " or an optimizer that treats each parameter by itself",
        "a parameter of shape [3] is not one of the sharded module's: take params from the module"
        " that was wrapped",
        "summon_full_params() is entered twice: leave the first one",
        "the module is called inside summon_full_params(), which holds its parameters for reading"
        " and writing: leave it first",
        "backward_prefetch is 'post'; it must be one of BackwardPrefetch.BACKWARD_PRE,"
        " BackwardPrefetch.BACKWARD_POST",
        "GELU has no parameters; there is nothing to shard",
        "module.6.attention.query.weight has a second gradient before optimizer.step(), and the"
        " first is spent: call step() after every backward, and run all backwards of a step but"
        " the last under no_sync() to add gradients up",
    ]
