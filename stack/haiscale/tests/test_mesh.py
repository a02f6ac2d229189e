"""One mesh has the groups of every kind, and what would reduce over the wrong ranks is refused."""

from __future__ import annotations

from typing import Any

import pytest

import ranks_mesh
from haiscale.layout import layout_of
from models import TOLERANCE
from processes import run_ranks


def test_its_groups_are_those_of_the_layout() -> None:
    layout = layout_of(8, pp=2, tp=2, ep=2)
    for rank, found in enumerate(run_ranks(8, ranks_mesh.groups)):
        for name, wanted in (
            ("dp", layout.dp_groups()),
            ("pp", layout.pp_groups()),
            ("tp", layout.tp_groups()),
            ("ep", layout.ep_groups()),
        ):
            assert found[name] == next(group for group in wanted if rank in group)
        assert found["replicas"] is None
        assert found["data"] == (2, 1)


@pytest.fixture(scope="module", name="found")
def of_four_ranks() -> list[dict[str, Any]]:
    return run_ranks(4, ranks_mesh.work)


def test_replicas_and_shards_are_found_beside_the_tensor_parallel_ranks(
    found: list[dict[str, Any]],
) -> None:
    for rank in found:
        assert max(rank["beside"].values()) < TOLERANCE


def test_refusals(found: list[dict[str, Any]]) -> None:
    assert found[0]["wrong"] == [
        "shard is 3, which does not divide the 4 data-parallel ranks: take a divisor of them, or"
        " leave it out to shard over all",
        "tp is 4 on node of 8 GPUs, where NVLink joins 2 GPUs of it (groups: 0-1, 2-3, 4-5, 6-7):"
        " tensor parallelism reduces activations twice a layer and would do so over PCIe, which all"
        " else in the node needs; take tp 1 or 2, or more pipeline stages",
        "process_group and the module's tensor-parallel ranks have [0, 1] in common, which hold"
        " different shares: pass process_group=mesh.dp_group of the same haiscale.mesh.make_mesh",
        "the module's layers are cut over tensor-parallel ranks, and process_group has the ranks"
        " [0, 1, 2, 3], which are no dimension of its mesh: make one mesh with"
        " haiscale.mesh.make_mesh, cut over its tp, and pass device_mesh=mesh.data or"
        " process_group=mesh.dp_group of it",
        "process_group and device_mesh are both given: pass one of them",
        "the module's layers are cut over tensor-parallel ranks, and device_mesh is part of another"
        " mesh: make one mesh with haiscale.mesh.make_mesh, cut over its tp, and pass"
        " device_mesh=mesh.data or process_group=mesh.dp_group of it",
        "device_mesh has 2 dimensions; pass one of 1 and no process_group, or"
        " process_group=mesh.dp_group of haiscale.mesh.make_mesh",
        "clip_grad_norm_ is given a generator; pass the model, which knows the ranks that hold the"
        " rest of it, and not its parameters",
        "clip_grad_norm_ is given stage 0 of 2, whose norm is not the model's: pass the pipeline"
        " that runs it",
        "norm_type is 0.0; it must be above 0, or math.inf",
        "the norm of the gradients is inf: look for an overflow, or pass error_if_nonfinite=False"
        " to scale by it nevertheless",
        "ZeroBubble computes gradients of weights apart, past the hooks by which"
        " FullyShardedDataParallel reduces them: take GPipe, PipeDream or Interleaved1F1B, or"
        " DistributedDataParallel",
    ]
