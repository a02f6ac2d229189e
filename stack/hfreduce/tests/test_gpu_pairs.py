"""Pairs of GPUs that reduce over their bridge first: the same results, half of the traffic."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from devices import Device
from jobs import SPAWN, Job, run
from test_gpu import _given, _mixed, _steps, _sums, _train

SIZES = (1, 33, 5001, 60_000)
TWO = {"HFREDUCE_NVLINK_PAIRS": "[[0, 1]]"}
FOUR = {"HFREDUCE_NVLINK_PAIRS": "[[0, 2], [3, 1]]"}
SMALL_CHUNKS = {"HFREDUCE_CHUNK_BYTES": "65536", "HFREDUCE_DEPTH": "4"}


def _pair_sums(_pipe: Any, dtype: str) -> None:
    import hfreduce

    device = Device()
    with hfreduce.Communicator() as job:
        assert job.node.partners(job.job.local_size)
        for size in SIZES:
            given = [_given(rank, size, dtype) for rank in range(job.world_size)]
            for op in ("sum", "avg", "max"):
                wanted = given[job.rank].copy()
                job.allreduce(wanted, op, dtype=dtype)
                array = device.array(given[job.rank], dtype)
                job.allreduce(array, op)
                if dtype == "bfloat16":  # a pair's sum is rounded, too
                    step = np.abs(array.numpy().astype(int) - wanted.astype(int))
                    assert step.max() <= (0 if op == "max" else 2), (op, size)
                else:
                    assert array.numpy().tobytes() == wanted.tobytes(), (op, size)
            array = device.array(given[job.rank], dtype)
            job.reduce(array, 1, "max")
            array = device.array(given[job.rank], dtype)
            job.reduce(array, 1)
            if job.rank != 1:
                assert array.numpy().tobytes() == given[job.rank].tobytes()
            elif dtype != "bfloat16":
                assert np.array_equal(array.numpy(), np.sum(given, axis=0).astype(dtype))


@pytest.mark.parametrize(("ranks", "local"), [(2, 2), (4, 4), (4, 2)])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_sums(gpus: dict[str, str], ranks: int, local: int, dtype: str) -> None:
    pairs = FOUR if local == 4 else TWO
    run(_pair_sums, ranks, local, dtype, environment=gpus | pairs | SMALL_CHUNKS)


def test_types_that_are_not_summed_in_pairs(fakes: dict[str, str]) -> None:
    run(_sums, 2, 2, "int32", environment=fakes | TWO)


def _large_average(_pipe: Any) -> None:
    import hfreduce

    device = Device()
    with hfreduce.Communicator() as job:
        array = device.array(np.full(1000, 60_000, np.float16))
        job.allreduce(array, "avg")
        assert (array.numpy() == np.float16(60_000)).all()


def test_an_average_of_16_bits_does_not_overflow(fakes: dict[str, str]) -> None:
    run(_large_average, 2, 2, environment=fakes | TWO)


def _many(_pipe: Any) -> None:
    import hfreduce

    device = Device()
    with hfreduce.Communicator() as job:
        sizes = (10, 40_000, 7, 20_000) * 4
        arrays = [
            device.array(np.full(size, job.rank + i, np.float32)) for i, size in enumerate(sizes)
        ]
        host = np.ones(100)
        works = [job.allreduce(array, wait=False) for array in arrays]
        works.append(job.allreduce(host, wait=False))
        works[3].wait_stream()
        for work in reversed(works):
            work.wait()
        for i, array in enumerate(arrays):
            assert (array.numpy() == 6 + 4 * i).all()


@pytest.mark.parametrize(("local", "pairs"), [(4, FOUR), (2, TWO)])
def test_many_operations_at_a_time(gpus: dict[str, str], local: int, pairs: dict[str, str]) -> None:
    run(_many, 4, local, environment=gpus | pairs | SMALL_CHUNKS)


def _one_sum(_pipe: Any, size: int) -> None:
    import hfreduce

    device = Device()
    with hfreduce.Communicator() as job:
        array = device.array(np.full(size, job.rank + 1, np.float32))
        job.allreduce(array)
        assert (array.numpy() == 10).all()


def test_half_goes_to_the_host(fakes: dict[str, str], tmp_path: Path) -> None:
    trace = {"FAKE_CUDA_TRACE": str(tmp_path / "trace")}
    run(_one_sum, 4, 4, 50_000, environment=fakes | FOUR | trace)
    moved: dict[tuple[int, str], int] = {}
    for step in _steps(tmp_path / "trace"):
        key = step["rank"], step["step"]
        moved[key] = moved.get(key, 0) + step.get("bytes", 0)
    for one, other in json.loads(FOUR["HFREDUCE_NVLINK_PAIRS"]):
        for kind in ("DtoH", "HtoD"):
            assert moved[one, kind] + moved[other, kind] == 200_000
            assert abs(moved[one, kind] - moved[other, kind]) <= 1024
        # Over the bridge: a half of what was given, one of the result; and that, into its place.
        assert moved[one, "DtoD"] + moved[other, "DtoD"] == 3 * 200_000


@pytest.mark.parametrize("odd", [0, 3])
def test_a_rank_without_a_gpus_tensor_is_named(fakes: dict[str, str], odd: int) -> None:
    job = Job(_mixed, 4, 4, arguments=(odd,), environment=fakes | FOUR)
    for outcome in job.outcomes(60):
        assert re.search(
            rf"rank {odd} called allreduce\(sum, float32, 1000 elements\)", outcome.error
        )


@pytest.mark.parametrize(
    ("fails", "text"),
    [
        ("0:cuMemAlloc_v2:2:2", "rank 0: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY"),
        ("1:cuLaunchKernel:3:2", "rank 1: cuLaunchKernel: CUDA_ERROR_OUT_OF_MEMORY"),
    ],
)
def test_an_error_of_one_gpu_ends_the_job(fakes: dict[str, str], fails: str, text: str) -> None:
    job = Job(_train_small, 2, 2, environment=fakes | TWO | {"FAKE_CUDA_FAIL": fails})
    for outcome in job.outcomes(60):
        assert outcome.error.startswith(f"HFReduceError: {text}"), outcome.error


@pytest.mark.parametrize(
    ("refused", "text", "dtype"),
    [
        (
            {"FAKE_CUDA_PEERS": "0", "FAKE_CUDA_DEVICES": "4"},
            "cuIpcOpenMemHandle: CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
            "float32",
        ),
        (
            {"FAKE_CUDA_FAIL": "1:cuIpcOpenMemHandle_v2:1:801"},
            "rank 1: cuIpcOpenMemHandle",
            "bfloat16",
        ),
        ({"FAKE_CUDA_FAIL": "0:cuIpcGetMemHandle:1:801"}, "rank 0: cuIpcGetMemHandle", "float16"),
    ],
)
def test_without_a_bridge_pairs_reduce_through_the_host(
    fakes: dict[str, str],
    refused: dict[str, str],
    text: str,
    dtype: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    environment = fakes | FOUR | SMALL_CHUNKS | refused
    run(_pair_sums, 4, 4, dtype, environment=environment, context=SPAWN)
    said = capfd.readouterr().err
    assert text in said
    assert "this pair reduces through the host's memory" in said


def test_pairs_on_one_device(fakes: dict[str, str]) -> None:
    environment = fakes | TWO | SMALL_CHUNKS | {"FAKE_CUDA_DEVICES": "1"}
    run(_pair_sums, 2, 2, "float32", environment=environment)


def _train_small(_pipe: Any) -> None:
    _train(_pipe, 5000)


def test_pairs_are_read_from_the_nodes_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hfreduce.errors import HFReduceError
    from hfreduce.settings import node_settings

    def said(**document: Any) -> Any:
        (tmp_path / "node.json").write_text(json.dumps(document))
        return node_settings(tmp_path / "node.json")

    gpus = [{"numa": 0, "root_port": each} for each in range(4)]
    profile = {"name": "x", "gpus": gpus, "nvlink_pairs": [[0, 1], [2, 3]]}
    assert said(profile=profile).nvlink_pairs == ()
    assert not said(profile=profile).gdrcopy
    bridged = said(profile=profile | {"nvlink_reduction": True, "gdrcopy": True})
    assert bridged.gdrcopy
    assert bridged.partners(4) == [1, 0, 3, 2]
    assert bridged.partners(2) == [1, 0]
    assert bridged.partners(3) == []
    assert said(nvlink_pairs=[[0, 3], [1, 2]]).partners(4) == [3, 2, 1, 0]
    for wrong in ([[0]], [[0, 1], [1, 2]], [[0, 0]], [[0, -1]], [[0, "1"]]):
        with pytest.raises(HFReduceError, match="a pair has two local ranks"):
            said(nvlink_pairs=wrong)
    with pytest.raises(HFReduceError, match="a value is of a wrong kind"):
        said(nvlink_pairs=3)
    monkeypatch.setenv("HFREDUCE_NVLINK_PAIRS", "0,1")
    with pytest.raises(HFReduceError, match=r"write \[\[0, 1\], \[2, 3\]\]"):
        said()
