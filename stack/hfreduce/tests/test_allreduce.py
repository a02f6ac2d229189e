"""Results against numpy in float64, over types, sizes and shapes of job."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from jobs import run

SHAPES = ((1, 1), (2, 2), (8, 8), (3, 1), (4, 2), (7, 3), (8, 1))
"""Ranks, and ranks of a node; 7 by 3 has a node of one rank."""
SIZES = (0, 1, 3, 1000, 70_001, 1_500_000)
LARGE = 256 << 20
_EPSILON = {"float32": 2.0**-23, "float64": 2.0**-52, "float16": 2.0**-10}


def _given(rank: int, size: int, dtype: str) -> Any:
    random = np.random.default_rng(1000 * rank + size)
    if dtype in ("int32", "int64", "uint8"):
        return random.integers(0, 30, size).astype(dtype)
    return random.standard_normal(size).astype(dtype)


def _all_sizes(_pipe: Any, dtype: str) -> list[str]:
    import hfreduce

    digests = []
    with hfreduce.Communicator() as job:
        ranks = job.world_size
        for size in SIZES:
            all_given = [_given(rank, size, dtype) for rank in range(ranks)]
            exact = np.array(all_given, dtype=np.float64)
            scale = np.abs(exact).sum(axis=0) if size else np.zeros(0)
            for op, wanted in (
                ("sum", exact.sum(axis=0)),
                ("max", exact.max(axis=0)),
                ("min", exact.min(axis=0)),
                ("avg", exact.mean(axis=0)),
            ):
                if op == "avg" and dtype in ("int32", "int64", "uint8"):
                    continue
                array = all_given[job.rank].copy()
                job.allreduce(array, op)
                got = array.astype(np.float64)
                if op in ("min", "max") or dtype not in _EPSILON:
                    assert np.array_equal(got, wanted), (op, size)
                else:
                    share = scale / (ranks if op == "avg" else 1)
                    room = share * _EPSILON[dtype] * ranks + 2.0**-24
                    assert (np.abs(got - wanted) <= room).all(), (
                        op,
                        size,
                        np.abs(got - wanted).max(),
                    )
                again = np.empty_like(array)
                job.allreduce(all_given[job.rank], op, out=again)
                assert again.tobytes() == array.tobytes()
                digests.append(hashlib.sha256(array.tobytes()).hexdigest())
    return digests


@pytest.mark.parametrize(("ranks", "local"), SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_sums_are_right_and_the_same_bits_everywhere(ranks: int, local: int, dtype: str) -> None:
    digests = run(_all_sizes, ranks, local, dtype)
    assert all(each == digests[0] for each in digests)


@pytest.mark.parametrize("dtype", ["float64", "int32", "int64", "uint8"])
def test_other_types(dtype: str) -> None:
    run(_all_sizes, 4, 2, dtype)


def _small_types(_pipe: Any) -> list[bytes]:
    import hfreduce
    import torch

    results = []
    with hfreduce.Communicator() as job:
        for dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2):
            given = [
                torch.randn(70_001, generator=torch.Generator().manual_seed(rank)).to(dtype)
                for rank in range(job.world_size)
            ]
            exact = torch.stack([each.double() for each in given])
            mine = given[job.rank].clone()
            job.allreduce(mine)
            step = {torch.bfloat16: 2.0**-7, torch.float8_e4m3fn: 2.0**-2}.get(dtype, 2.0**-1)
            room = exact.abs().sum(0) * step + 2.0**-7
            assert ((mine.double() - exact.sum(0)).abs() <= room).all()
            results.append(mine.view(torch.uint8).numpy().tobytes())
    return results


@pytest.mark.parametrize(("ranks", "local"), [(4, 4), (4, 2)])
def test_bfloat16_and_float8(ranks: int, local: int) -> None:
    pytest.importorskip("torch")
    results = run(_small_types, ranks, local)
    assert all(each == results[0] for each in results)


def _ragged(_pipe: Any) -> None:
    import hfreduce

    with hfreduce.Communicator() as job:
        whole = np.arange(60_000, dtype=np.float32).reshape(200, 300) + job.rank
        wanted = np.arange(60_000, dtype=np.float64).reshape(200, 300) * 3 + 3
        for view in (np.s_[:, ::3], np.s_[5:100, 7:11], np.s_[::-1], np.s_[:, :0]):
            copy = whole.copy()
            job.allreduce(copy[view])
            assert np.array_equal(copy[view], wanted[view].astype(np.float32))
            untouched = np.ones(whole.shape, bool)
            untouched[view] = False
            assert np.array_equal(copy[untouched], whole[untouched])
        transposed = whole.copy().T
        job.allreduce(transposed)
        assert np.array_equal(transposed, wanted.T.astype(np.float32))


def test_arrays_that_are_not_in_one_piece() -> None:
    run(_ragged, 3, 3)


def _concurrent(_pipe: Any) -> None:
    import hfreduce

    with hfreduce.Communicator() as job:
        arrays = [
            np.full(size, float(job.rank + i)) for i, size in enumerate((10, 300_000, 7) * 20)
        ]
        works = [
            job.allreduce(array, wait=False, name=f"layer {i}") for i, array in enumerate(arrays)
        ]
        for work in reversed(works):
            work.wait()
            assert work.done()
        for i, array in enumerate(arrays):
            assert (array == 6.0 + 4 * i).all(), i


@pytest.mark.parametrize("local", [4, 1])
def test_many_operations_at_a_time(local: int) -> None:
    run(_concurrent, 4, local)


def _waiters(_pipe: Any) -> None:
    import hfreduce

    with hfreduce.Communicator() as job, ThreadPoolExecutor(3) as pool:
        for turn in range(10):
            arrays = [np.full(size, float(job.rank + turn)) for size in (10, 90_000, 3, 20_000)]
            works = [job.allreduce(array, wait=False) for array in arrays]
            list(pool.map(hfreduce.Work.wait, reversed(works)))
            assert all((array == 6.0 + 4 * turn).all() for array in arrays)


@pytest.mark.parametrize("local", [4, 2])
def test_several_threads_wait(local: int) -> None:
    run(_waiters, 4, local)


def _others(_pipe: Any) -> None:
    import hfreduce

    with hfreduce.Communicator() as job:
        for root in range(job.world_size):
            for size in (0, 5, 400_000):
                array = np.full(size, job.rank, np.int64)
                job.broadcast(array, root)
                assert (array == root).all()
                array = np.full(size, job.rank + 1, np.int64)
                job.reduce(array, root)
                mine = (
                    job.world_size * (job.world_size + 1) // 2 if job.rank == root else job.rank + 1
                )
                assert (array == mine).all()
                array = np.full(size, 2.0**job.rank)
                job.reduce(array, root, "max")
            job.barrier()


@pytest.mark.parametrize(("ranks", "local"), [(4, 4), (5, 1), (7, 3)])
def test_reduce_broadcast_and_barrier(ranks: int, local: int) -> None:
    run(_others, ranks, local)


def _bit_patterns(_pipe: Any) -> None:
    import hfreduce

    with hfreduce.Communicator() as job:
        for dtype, bits in (
            ("float8_e4m3fn", np.uint8),
            ("float16", np.uint16),
            ("bfloat16", np.uint16),
            ("float32", np.uint32),
            ("float64", np.uint64),
        ):
            width = np.dtype(bits).itemsize * 8
            # Every sign and exponent, and NaNs of all kinds.
            patterns = np.arange(1 << min(width, 16), dtype=bits) << max(0, width - 16)
            for root in range(job.world_size):
                array = patterns.copy() if job.rank == root else np.zeros_like(patterns)
                job.broadcast(array, root, dtype=dtype)
                assert (array == patterns).all(), (dtype, root)


@pytest.mark.parametrize(("ranks", "local"), [(2, 2), (5, 1), (7, 3)])
def test_broadcast_keeps_the_bits_of_nan(ranks: int, local: int) -> None:
    run(_bit_patterns, ranks, local)


def _threads(_pipe: Any) -> None:
    import hfreduce

    with hfreduce.Communicator() as job:
        for size in (1, 5000, 900_000):
            array = np.full(size, job.rank, np.float32)
            job.allreduce(array)
            assert (array == 6).all()


@pytest.mark.parametrize("local", [4, 2])
def test_several_threads_add(local: int) -> None:
    run(_threads, 4, local, environment={"HFREDUCE_THREADS": "3"})


def _large(_pipe: Any) -> None:
    import hfreduce

    with hfreduce.Communicator() as job:
        array = np.full(LARGE // 4, job.rank + 1, np.float32)
        job.allreduce(array)
        assert (array == 10).all()


@pytest.mark.parametrize("local", [4, 1])
def test_256_mebibytes(local: int) -> None:
    run(_large, 4, local)
