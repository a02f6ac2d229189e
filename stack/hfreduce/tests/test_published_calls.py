"""The published low-level calls, as the published benchmark makes them, over real ranks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jobs import SECRET, SPAWN, free_port, run

EXAMPLE = Path(__file__).parents[1] / "examples" / "bench_allreduce.py"
SIZES = {"first": 1000, "second": 7, "third": 300_000}


def _reducer(tensors: int = len(SIZES), device: int | str = -1) -> Any:
    """Return this rank's, with the numbers that the published benchmark passes by hand."""
    from hfreduce._hfreduce_impl import AsyncReduceFloat

    said = {key: int(os.environ[key]) for key in ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")}
    node, process = divmod(said["RANK"], said["LOCAL_WORLD_SIZE"])
    return AsyncReduceFloat(
        os.environ["MASTER_ADDR"],
        int(os.environ["MASTER_PORT"]) + 5,
        device,
        process,
        said["LOCAL_WORLD_SIZE"],
        node,
        said["WORLD_SIZE"] // said["LOCAL_WORLD_SIZE"],
        tensors,
        f"of rank {said['RANK']}",  # a name of its own, as the benchmark's ranks draw
    )


def _given(rank: int) -> dict[str, Any]:
    return {
        name: np.arange(size, dtype=np.float32) % 100 + rank + place
        for place, (name, size) in enumerate(SIZES.items())
    }


def _sums(ranks: int) -> dict[str, Any]:
    return {name: sum(_given(rank)[name] for rank in range(ranks)) for name in SIZES}


def _fused(_pipe: Any) -> None:
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    reducer, wanted = _reducer(), _sums(ranks)
    for name, size in SIZES.items():
        reducer.register_float_tensor(name, size)
    assert reducer.total_tensor_floats() == sum(SIZES.values())
    fused = np.empty(reducer.total_tensor_floats(), np.float32)
    reducer.set_fused_dest(fused.ctypes.data)
    for order in (["first", "second", "third"], ["third", "first", "second"], ["second"]):
        given = _given(rank)
        fused.fill(-1)
        for name in order:
            reducer.async_reduce(0, name, given[name].ctypes.data, given[name].size)
        assert reducer.synchronize(0) == order
        places = np.split(fused, np.cumsum(list(SIZES.values()))[:-1])
        for (name, untouched), place in zip(_given(rank).items(), places, strict=True):
            assert (place == (wanted[name] if name in order else -1)).all(), name
            assert (given[name] == untouched).all(), name
    assert reducer.synchronize(0) == []


@pytest.mark.parametrize(("ranks", "local"), [(1, 1), (3, 3), (4, 2)])
def test_sums_lie_in_one_piece_in_the_order_of_registration(ranks: int, local: int) -> None:
    run(_fused, ranks, local)


def _in_place(_pipe: Any) -> None:
    reducer = _reducer(tensors=1, device="cpu")
    reducer.register_float_tensor("all", 5)
    given = np.full(5, 1.5, np.float32)
    for factor in (2, 4):
        reducer.async_reduce(0, "all", given.ctypes.data, given.size)
        reducer.synchronize(0)
        assert (given == 1.5 * factor).all()


def test_sums_go_where_the_tensors_are_if_no_place_is_set() -> None:
    run(_in_place, 2, 2)


def _refused(_pipe: Any) -> list[str]:
    from hfreduce import HFReduceError

    said = []

    def refuse(call: Any, *arguments: Any) -> None:
        with pytest.raises(HFReduceError) as caught:
            call(*arguments)
        said.append(str(caught.value))

    reducer, given = _reducer(tensors=2), np.zeros(3, np.float32)
    pointer = given.ctypes.data
    reducer.register_float_tensor("a", 3)
    refuse(reducer.async_reduce, 0, "a", pointer, 3)
    refuse(reducer.register_float_tensor, "a", 3)
    reducer.register_float_tensor("b", 3)
    refuse(reducer.register_float_tensor, "c", 3)
    refuse(reducer.async_reduce, 0, "c", pointer, 3)
    refuse(reducer.async_reduce, 0, "b", pointer, 4)
    reducer.async_reduce(0, "a", pointer, 3)
    refuse(reducer.async_reduce, 0, "a", pointer, 3)
    assert reducer.synchronize(0) == ["a"]
    return said


def test_what_is_refused() -> None:
    assert run(_refused, 1, 1) == [
        [
            "1 tensors are registered, and num_params is 2; register all before the first is"
            " reduced",
            "a is registered already",
            "c is one more than the 2 of num_params",
            "c is not registered",
            "b has 4 elements, and 3 are registered",
            "a is under way; call synchronize() before it is given again",
        ]
    ]


def _out_of_step(_pipe: Any) -> str:
    from hfreduce import HFReduceError

    reducer, given = _reducer(tensors=2), np.zeros(3, np.float32)
    for name in ("a", "b"):
        reducer.register_float_tensor(name, 3)
    name = "ab"[int(os.environ["RANK"])]
    try:
        reducer.async_reduce(0, name, given.ctypes.data, 3)
        reducer.synchronize(0)
    except HFReduceError as error:
        return str(error)
    return "nothing"


def test_ranks_that_are_out_of_step_are_found() -> None:
    for said in run(_out_of_step, 2, 2):
        assert "rank 1 called allreduce(sum, float32, 3 elements, name #" in said


def test_the_benchmark_on_two_nodes(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    said = {"WORLD_SIZE": "2", "MASTER_PORT": str(free_port() - 5)}
    said |= {"HFREDUCE_SECRET_FILE": str(secret), "OMP_NUM_THREADS": "1"}
    sizes = ["--processes=2", "--layers=3", "--width=64", "--warm-up=2", "--iterations=3"]
    nodes = [
        subprocess.Popen(
            [sys.executable, str(EXAMPLE), *sizes],
            env=os.environ | said | {"RANK": str(node)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for node in range(2)
    ]
    try:
        printed = [node.communicate(timeout=120)[0] for node in nodes]
    finally:
        for node in nodes:
            node.kill()
    assert [node.returncode for node in nodes] == [0, 0]
    found = json.loads(printed[0])
    assert (found["ranks"], found["bytes"]) == (4, 3 * 64 * 64 * 4)
    assert found["bus_gbytes_per_s"] == pytest.approx(1.5 * found["algorithm_gbytes_per_s"])
    assert printed[1] == ""


def _log_level(pipe: Any, level: int) -> None:
    pytest.importorskip("torch")
    import hfreduce.torch

    hfreduce.torch.set_log_level(level)
    with hfreduce.Communicator() as job:
        job.allreduce(np.ones(1))


@pytest.mark.parametrize(("level", "talks"), [(2, True), (4, False)])
def test_the_log_level_is_that_of_ucx(
    level: int, talks: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    run(_log_level, 2, 1, level, context=SPAWN)
    assert ("UCX  INFO" in capfd.readouterr().out) is talks


def test_a_log_level_that_is_none_is_refused() -> None:
    pytest.importorskip("torch")
    import hfreduce.torch

    with pytest.raises(hfreduce.HFReduceError, match="the log level is 6; it is 0 to 5"):
        hfreduce.torch.set_log_level(6)
