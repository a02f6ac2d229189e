"""What programs do with a GPU beside: graphs that they capture, memory that has no context."""

from __future__ import annotations

import contextlib
import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from devices import Device
from jobs import SPAWN, run
from test_gpu import _given, _steps


def _pooled(_pipe: Any) -> tuple[int, int]:
    import hfreduce

    device = Device(pooled=True)
    held = []
    with hfreduce.Communicator() as job:
        for size in (1, 1000, 300_001, 1_500_017):
            given = [_given(rank, size, "float32") for rank in range(job.world_size)]
            array = device.array(given[job.rank])
            for _ in range(3):
                array.write(given[job.rank])
                work = job.allreduce(array, wait=False)
                work.wait_stream()
                assert np.array_equal(array.numpy(), np.sum(given, axis=0))
                work.wait()
            held.append(device.driver.fake_retained(device.ordinal))
    return held[0], held[-1]


def test_memory_of_a_pool(fakes: dict[str, str], tmp_path: Path) -> None:
    """It cannot be shown in a window, and its device's context is taken once, not every time."""
    trace = {"FAKE_CUDA_TRACE": str(tmp_path / "trace")}
    library = str(Path(fakes["HFREDUCE_LIBCUDA"]).parent / "fake_gdrapi.so")
    environment = fakes | trace | {"HFREDUCE_LIBGDRAPI": library, "FAKE_CUDA_DEVICES": "1"}
    for first, last in run(_pooled, 2, 2, environment=environment):
        assert first == last == 2  # the program's own, and HFReduce's
    assert not any("window" in step["step"] for step in _steps(tmp_path / "trace"))


def _one_sum(_pipe: Any) -> None:
    import hfreduce

    device = Device()
    with hfreduce.Communicator() as job:
        array = device.array(np.full(300_000, job.rank + 1, np.float32))
        job.allreduce(array)
        assert (array.numpy() == 3).all()


def test_host_memory_that_cannot_be_registered(
    fakes: dict[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    refused = {
        "FAKE_CUDA_FAIL": "1:cuMemHostRegister_v2:1:801",
        "FAKE_CUDA_TRACE": str(tmp_path / "trace"),
    }
    run(_one_sum, 2, 2, environment=fakes | refused, context=SPAWN)
    copies = [step for step in _steps(tmp_path / "trace") if step["step"] in ("DtoH", "HtoD")]
    assert {(step["rank"], step["pinned"]) for step in copies} == {(0, True), (1, False)}
    said = capfd.readouterr().err
    assert "rank 1: cuMemHostRegister: CUDA_ERROR_NOT_SUPPORTED" in said
    assert "copies of GPUs' tensors take longer" in said


@contextlib.contextmanager
def capturing(device: Device, stream: int) -> Any:
    """Capture what is asked of a stream; fails if anything spoils it."""
    device.call("cuStreamBeginCapture_v2", ctypes.c_void_p(stream), 0)
    yield
    device.call("cuStreamEndCapture", ctypes.c_void_p(stream), ctypes.byref(ctypes.c_void_p()))


def _captured(_pipe: Any) -> None:
    import hfreduce

    device = Device()
    stream = device.stream()
    with hfreduce.Communicator() as job:
        array = device.array(np.full(30_000, job.rank + 1, np.float32))
        with (
            capturing(device, stream),
            pytest.raises(hfreduce.HFReduceError, match="is capturing a CUDA graph"),
        ):
            job.allreduce(array, stream=stream)
        job.allreduce(array, stream=stream)
        assert (array.numpy() == 3).all()
        work = job.allreduce(array, wait=False)
        with (
            capturing(device, stream),
            pytest.raises(hfreduce.HFReduceError, match="is capturing a CUDA graph"),
        ):
            work.wait_stream(stream)
        work.wait()
        assert (array.numpy() == 6).all()


def test_an_operation_in_a_capture_is_refused(fakes: dict[str, str]) -> None:
    run(_captured, 2, 2, environment=fakes | {"FAKE_CUDA_COPY_US": "300000"})


def _beside(_pipe: Any) -> None:
    import hfreduce

    device = Device()
    stream, other = device.stream(), device.stream()
    with hfreduce.Communicator() as job:
        array = device.array(np.full(300_000, job.rank + 1, np.float32))
        work = job.allreduce(array, wait=False, stream=other)
        with capturing(device, stream):
            work.wait()
            job.allreduce(array, stream=other)
        assert (array.numpy() == 6).all()


def test_operations_beside_a_capture_do_not_spoil_it(fakes: dict[str, str]) -> None:
    """The program may capture while another operation goes on, in any mode of capture."""
    run(_beside, 2, 2, environment=fakes | {"FAKE_CUDA_COPY_US": "20000"})
