"""Tensors on GPUs: results, the streams they are moved on, and what happens when a GPU fails."""

from __future__ import annotations

import itertools
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from devices import Device, InterfaceArray
from jobs import Job, run

SHAPES = ((1, 1), (2, 2), (4, 4), (4, 2))
SIZES = (0, 1, 1001, 200_003, 1_500_017)
"""Elements: none, one, odd, more than a chunk, many chunks."""
SMALL = {"bfloat16": np.uint16, "float8_e4m3fn": np.uint8, "float8_e5m2": np.uint8}
ONE_DEVICE = {"FAKE_CUDA_DEVICES": "1"}


def _given(rank: int, size: int, dtype: str) -> Any:
    """Return values whose sums are exact, or bits of a small type."""
    random = np.random.default_rng(1000 * rank + size)
    if kind := SMALL.get(dtype):
        low = 0x3C00 if kind is np.uint16 else 0x30
        return random.integers(low, low + 8, size).astype(kind)
    return random.integers(0, 30, size).astype(dtype)


def _sums(_pipe: Any, dtype: str) -> None:
    import hfreduce

    device = Device()
    with hfreduce.Communicator() as job:
        for size in SIZES:
            given = [_given(rank, size, dtype) for rank in range(job.world_size)]
            for op in ("sum", "max", "avg"):
                if op == "avg" and "int" in dtype:
                    continue
                wanted = given[job.rank].copy()
                job.allreduce(wanted, op, dtype=dtype)  # the processor's way is tested by itself
                array = device.array(given[job.rank], dtype)
                job.allreduce(array, op)
                assert array.numpy().tobytes() == wanted.tobytes(), (op, size)
                if op == "sum" and dtype not in SMALL:
                    assert np.array_equal(array.numpy(), np.sum(given, axis=0).astype(dtype))


@pytest.mark.parametrize(("ranks", "local"), SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_sums(gpus: dict[str, str], ranks: int, local: int, dtype: str) -> None:
    run(_sums, ranks, local, dtype, environment=gpus | ONE_DEVICE)


@pytest.mark.parametrize(
    "dtype", ["float64", "float16", "float8_e4m3fn", "float8_e5m2", "int32", "int64", "uint8"]
)
def test_other_types(gpus: dict[str, str], dtype: str) -> None:
    run(_sums, 2, 2, dtype, environment=gpus)


def _others(_pipe: Any) -> None:
    import hfreduce

    device = Device()
    with hfreduce.Communicator() as job:
        ranks = job.world_size
        for size in (5, 400_000):
            for root in range(ranks):
                array = device.array(np.full(size, job.rank, np.int64))
                job.broadcast(array, root)
                assert (array.numpy() == root).all()
                array = device.array(np.full(size, job.rank + 1, np.int64))
                job.reduce(array, root)
                mine = ranks * (ranks + 1) // 2 if job.rank == root else job.rank + 1
                assert (array.numpy() == mine).all()
            given = device.array(np.full((size // 5, 5), 2.0**job.rank))
            taken = device.array(np.zeros((size // 5, 5)))
            work = job.allreduce(InterfaceArray(given), out=InterfaceArray(taken), wait=False)
            work.wait()
            assert work.done()
            assert (taken.numpy() == 2.0**ranks - 1).all()
            assert (given.numpy() == 2.0**job.rank).all()


@pytest.mark.parametrize(("ranks", "local"), [(3, 3), (4, 2)])
def test_reduce_broadcast_and_arrays_of_others(
    gpus: dict[str, str], ranks: int, local: int
) -> None:
    run(_others, ranks, local, environment=gpus)


def _concurrent(_pipe: Any) -> None:
    import hfreduce

    device = Device()
    stream = device.stream()
    with hfreduce.Communicator() as job:
        sizes = (10, 300_000, 7) * 8
        gpu = [device.array(np.full(size, float(job.rank + i))) for i, size in enumerate(sizes)]
        host = [np.full(size, float(job.rank)) for size in sizes]
        works = []
        for on_gpu, on_host in zip(gpu, host, strict=True):
            works.append(job.allreduce(on_gpu, wait=False, stream=stream))
            works.append(job.allreduce(on_host, wait=False))
        for work in reversed(works):
            work.wait()
        for i, (on_gpu, on_host) in enumerate(zip(gpu, host, strict=True)):
            assert (on_gpu.numpy() == 6.0 + 4 * i).all()
            assert (on_host == 6.0).all()


@pytest.mark.parametrize("local", [4, 2])
def test_many_operations_of_both_kinds_at_a_time(gpus: dict[str, str], local: int) -> None:
    run(_concurrent, 4, local, environment=gpus)


def _steps(trace: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in trace.read_text().splitlines()]


def _one_sum(_pipe: Any, size: int) -> None:
    import hfreduce

    device = Device()
    with hfreduce.Communicator() as job:
        array = device.array(np.full(size, job.rank + 1, np.float32))
        job.allreduce(array)
        assert (array.numpy() == 3).all()


def test_copies_are_on_streams_of_their_own(fakes: dict[str, str], tmp_path: Path) -> None:
    trace = {"FAKE_CUDA_TRACE": str(tmp_path / "trace"), "FAKE_CUDA_COPY_US": "2000"}
    run(_one_sum, 2, 2, 1_500_000, environment=fakes | trace)
    steps = _steps(tmp_path / "trace")
    for rank in range(2):
        for kind in ("DtoH", "HtoD"):
            mine = [step for step in steps if (step["rank"], step["step"]) == (rank, kind)]
            assert sum(step["bytes"] for step in mine) == 6_000_000
            assert len({step["stream"] for step in mine}) == 1
            assert all(step["stream"].startswith("side") and step["pinned"] for step in mine)
            # The caller asked for a copy, and for the next, while the one before was under way.
            pairs = list(itertools.pairwise(mine))
            if kind == "DtoH":
                assert any(after["asked_s"] < before["ended_s"] for before, after in pairs)
        one, other = ({s["stream"] for s in steps if s["step"] == k} for k in ("DtoH", "HtoD"))
        assert not one & other


def _overlaps(_pipe: Any) -> tuple[float, float]:
    import hfreduce

    device = Device()
    stream = device.stream()
    with hfreduce.Communicator() as job:
        early, late = (device.array(np.full(400_000, v, np.float32)) for v in (1, 2))
        before = job.allreduce(early, wait=False, stream=stream)
        device.delay(stream, 3.0)  # the backward of the layers before
        after = job.allreduce(late, wait=False, stream=stream)
        started_s = time.monotonic()
        before.wait()
        early_s = time.monotonic() - started_s
        after.wait()
        late_s = time.monotonic() - started_s
        assert (early.numpy() == 2).all()
        assert (late.numpy() == 4).all()
    return early_s, late_s


def test_copies_go_on_while_the_caller_computes(fakes: dict[str, str], tmp_path: Path) -> None:
    trace = {"FAKE_CUDA_TRACE": str(tmp_path / "trace")}
    for early_s, late_s in run(_overlaps, 2, 2, environment=fakes | trace):
        assert early_s < 2.0 < late_s
    for rank in range(2):
        steps = [step for step in _steps(tmp_path / "trace") if step["rank"] == rank]
        delay = next(step for step in steps if step["step"] == "delay")
        copies = [step for step in steps if step["step"] != "delay"]
        assert sum(s["bytes"] for s in copies if s["ended_s"] < delay["ended_s"]) == 3_200_000
        assert sum(s["bytes"] for s in copies if s["began_s"] > delay["ended_s"]) == 3_200_000


def _by_stream(_pipe: Any) -> None:
    import hfreduce

    device = Device()
    ended = []
    with hfreduce.Communicator() as job:
        for round_ in range(1, 4):
            array = device.array(np.full(40_000, float(job.rank + round_)))
            work = job.allreduce(array, wait=False)
            work.wait_stream()
            ended.append(work.done())  # with slow copies, not yet
            assert (array.numpy() == 2 * round_ + 1).all()  # after the legacy stream
            host = np.full(10, 1.0)
            job.allreduce(host, wait=False).wait_stream()
            assert (host == 2).all()
    assert not all(ended)


def test_a_stream_waits_for_the_result(fakes: dict[str, str]) -> None:
    run(_by_stream, 2, 2, environment=fakes | {"FAKE_CUDA_COPY_US": "100000"})


def _hammer(_pipe: Any, devices: int) -> None:
    import hfreduce

    # In this order a new context is on the way to those before it, in a map by address, so that
    # a thread sanitizer sees who reads it too early (see sanitize.py).
    local = sorted((Device(ordinal) for ordinal in range(devices)), key=lambda each: -each.context)
    arrays = []
    for device in local:
        device.take()
        arrays.append(device.array(np.full(9000, float(int(os.environ["RANK"])))))

    def follow(device: Device, work: hfreduce.Work) -> None:
        device.take()
        while not work.done():
            work.wait_stream(0)

    with hfreduce.Communicator() as job, ThreadPoolExecutor(4) as pool:
        followed = []
        for device, array in zip(local, arrays, strict=True):
            device.take()  # each operation meets a device that was not seen before
            followed.append(pool.submit(follow, device, job.allreduce(array, wait=False)))
            time.sleep(0.005)
        for device, array, done in zip(local, arrays, followed, strict=True):
            done.result()
            device.take()
            assert (array.numpy() == 1).all()


def test_several_threads_have_streams_wait(fakes: dict[str, str]) -> None:
    slow = {"FAKE_CUDA_DEVICES": "12", "FAKE_CUDA_COPY_US": "5000"}
    slow["FAKE_CUDA_QUERY_US"] = "2000"  # a second thread comes meanwhile
    run(_hammer, 2, 2, 12, environment=fakes | slow)


def _mixed(_pipe: Any, odd: int) -> None:
    import hfreduce

    device = Device()
    with hfreduce.Communicator() as job:
        values = np.ones(1000, np.float32)
        job.allreduce(values)
        job.allreduce(values if job.rank == odd else device.array(values))


@pytest.mark.parametrize(("ranks", "local", "odd"), [(3, 3, 1), (4, 2, 3)])
def test_a_rank_without_a_gpus_tensor_is_named(
    fakes: dict[str, str], ranks: int, local: int, odd: int
) -> None:
    job = Job(_mixed, ranks, local, arguments=(odd,), environment=fakes)
    whole = "allreduce(sum, float32, 1000 elements)"
    for outcome in job.outcomes(60):
        assert f"rank {odd} called {whole} as operation 1" in outcome.error or (
            f"rank {odd} called {whole}" in outcome.error
        ), outcome.error
        assert "1000 elements, on a GPU)" in outcome.error


def _train(_pipe: Any, size: int = 500_000) -> None:
    import hfreduce

    device = Device()
    with hfreduce.Communicator() as job:
        array = device.array(np.ones(size, np.float32))
        for _ in range(10):
            job.allreduce(array)


@pytest.mark.parametrize(("ranks", "local"), [(3, 3), (4, 2)])
@pytest.mark.parametrize(
    ("fails", "text"),
    [
        ("1:cuMemcpyDtoHAsync_v2:9:2", "rank 1: cuMemcpyDtoHAsync: CUDA_ERROR_OUT_OF_MEMORY"),
        ("1:step:15:700", "CUDA_ERROR_ILLEGAL_ADDRESS, an illegal memory access"),
        ("1:cuMemHostRegister_v2:1:2", "rank 1: cuMemHostRegister: CUDA_ERROR_OUT_OF_MEMORY"),
        ("1:cuEventRecord:1:999", "rank 1: cuEventRecord: CUDA_ERROR_UNKNOWN"),
    ],
)
def test_an_error_of_one_gpu_ends_the_job(
    fakes: dict[str, str], ranks: int, local: int, fails: str, text: str
) -> None:
    job = Job(_train, ranks, local, environment=fakes | {"FAKE_CUDA_FAIL": fails})
    for outcome in job.outcomes(60):
        assert outcome.error.startswith("HFReduceError: rank 1: cu"), outcome.error
        assert text in outcome.error
        assert outcome.after_s < 15


def _without(_pipe: Any) -> None:
    import hfreduce
    from devices import DeviceArray

    class Nowhere(DeviceArray):
        def __init__(self) -> None:
            self.dtype, self.device, self._shape = "float32", "cuda:0", (4,)

        def data_ptr(self) -> int:
            return 1 << 40

    with hfreduce.Communicator() as job:
        job.allreduce(Nowhere())


def test_no_driver_is_said_clearly(fakes: dict[str, str]) -> None:
    def error(**environment: str) -> str:
        return Job(_without, 1, 1, environment=environment).outcomes()[0].error

    assert error(HFREDUCE_LIBCUDA="/no/libcuda.so").startswith(
        "HFReduceError: rank 0: a GPU's tensor needs the CUDA driver, and it cannot be loaded:"
        " /no/libcuda.so: cannot open"
    )
    assert error(**fakes, FAKE_CUDA_DEVICES="0") == (
        "HFReduceError: rank 0: cuInit: CUDA_ERROR_NO_DEVICE, no CUDA-capable device is detected"
    )
    assert error(**fakes) == (
        "HFReduceError: the tensor is said to lie on a GPU, and the driver knows no such memory"
    )


def _windows(_pipe: Any) -> None:
    import hfreduce

    device = Device()
    with hfreduce.Communicator() as job:
        for size in (1, 1000, 4000, 10_000, 100_000):
            for _ in range(3):  # memory given back, and taken again
                array = device.array(np.full(size, job.rank + 1, np.float32))
                job.allreduce(array)
                assert (array.numpy() == 3).all()
                array.free()
        stream = device.stream()
        array = device.array(np.zeros(1000, np.float32))
        device.delay(stream, 1.0)
        work = job.allreduce(array, wait=False, stream=stream)
        array.write(np.full(1000, 1, np.float32))  # a window, too, waits for the caller's stream
        work.wait_stream(stream)
        assert (array.numpy() == 2).all()


def test_small_tensors_go_by_gdrcopy(fakes: dict[str, str], tmp_path: Path) -> None:
    library = str(Path(fakes["HFREDUCE_LIBCUDA"]).parent / "fake_gdrapi.so")
    trace = {"FAKE_CUDA_TRACE": str(tmp_path / "trace")}
    run(_windows, 2, 2, environment=fakes | trace | {"HFREDUCE_LIBGDRAPI": library})
    sizes: dict[str, set[int]] = {}
    for step in _steps(tmp_path / "trace"):
        sizes.setdefault(step["step"], set()).add(step.get("bytes", 0))
    assert sizes["read window"] == {4, 4000, 16_000}
    assert sizes["write window"] == {4, 4000, 16_000, 40_000}
    assert not sizes["DtoH"] & {4, 4000, 16_000}
