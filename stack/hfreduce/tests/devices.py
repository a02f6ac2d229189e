"""A GPU's memory through the driver alone, a real one's or the pretended one's of fake_cuda/."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

_HERE = Path(__file__).resolve().parent
_CXX = os.environ.get("CXX", "g++")
_PARTS = {
    "fake_libcuda.so": (
        "fake_libcuda.cpp",
        "fake_launch.cpp",
        "fake_memory.cpp",
        "fake_stream.cpp",
        "fake_ptx.cpp",
    ),
    "fake_gdrapi.so": ("fake_gdrapi.cpp", "fake_memory.cpp"),
}


def build_fakes(folder: Path) -> dict[str, str]:
    """Build the pretended driver and GDRCopy; return the environment in which they are used."""
    for library, parts in _PARTS.items():
        subprocess.run(
            [_CXX, "-std=c++17", "-O1", "-shared", "-fPIC", "-pthread"]
            + [str(_HERE / "fake_cuda" / part) for part in parts]
            + ["-o", str(folder / library), "-ldl"],
            check=True,
            env={key: value for key, value in os.environ.items() if key != "LD_PRELOAD"},
        )
    return {
        "HFREDUCE_LIBCUDA": str(folder / "fake_libcuda.so"),
        "HFREDUCE_LIBGDRAPI": "there is none",
    }


def has_compiler() -> bool:
    """Whether the fakes can be built."""
    return shutil.which(_CXX) is not None


def why_no_gpu() -> str:
    """Say what a test on a real GPU lacks here, "" for nothing."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return f"no GPU: {error}"
    code, count = driver.cuInit(0), ctypes.c_int()
    code = code or driver.cuDeviceGetCount(ctypes.byref(count))
    return f"no GPU: the driver's error {code}" if code else "" if count.value else "no GPU"


class Device:
    """One GPU, its primary context this thread's."""

    def __init__(self, ordinal: int | None = None, *, pooled: bool = False) -> None:
        """Take this rank's, in turn.

        `pooled` has arrays in memory of a pool, of no context: torch's allocator
        `cudaMallocAsync`, and with regard to its attributes `expandable_segments`, too.
        """
        self.pooled = pooled
        self.driver = ctypes.CDLL(os.environ.get("HFREDUCE_LIBCUDA") or "libcuda.so.1")
        self.call("cuInit", 0)
        count = ctypes.c_int()
        self.call("cuDeviceGetCount", ctypes.byref(count))
        local_rank = int(os.environ["LOCAL_RANK"])
        self.ordinal = local_rank % count.value if ordinal is None else ordinal
        self._context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), self.ordinal)
        self.take()

    @property
    def context(self) -> int:
        """Its address."""
        return self._context.value or 0

    def take(self) -> None:
        """Make its context the calling thread's."""
        self.call("cuCtxSetCurrent", self._context)

    def call(self, name: str, *arguments: Any) -> None:
        """Call the driver."""
        code = getattr(self.driver, name)(*arguments)
        assert code == 0, (name, code)

    def stream(self) -> int:
        """Make a stream that the legacy one does not wait for."""
        made = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(made), 1)
        return made.value or 0

    def delay(self, stream: int, seconds: float) -> None:
        """Have a stream do nothing for a while; the pretended driver's only."""
        self.call("fake_delay", ctypes.c_void_p(stream), int(seconds * 1e6))

    def array(self, values: Any, dtype: str | None = None) -> DeviceArray:
        """Copy an array to the GPU."""
        return DeviceArray(self, np.ascontiguousarray(values), dtype)


class DeviceArray:
    """What torch.Tensor shows of itself."""

    def __init__(self, device: Device, values: np.ndarray[Any, Any], dtype: str | None) -> None:
        """Allocate, and copy."""
        self._on = device
        self._shape, self._kind = values.shape, values.dtype
        self.dtype = dtype or values.dtype.name
        self.device = f"cuda:{device.ordinal}"
        self._pointer = ctypes.c_uint64()
        if values.nbytes:
            made = ctypes.byref(self._pointer), ctypes.c_size_t(values.nbytes)
            if device.pooled:
                device.call("cuMemAllocAsync", *made, None)
            else:
                device.call("cuMemAlloc_v2", *made)
            self.write(values)

    def data_ptr(self) -> int:
        return self._pointer.value

    def numel(self) -> int:
        return int(np.prod(self._shape))

    def is_contiguous(self) -> bool:
        return True

    def write(self, values: np.ndarray[Any, Any]) -> None:
        """Copy from the host, when the legacy stream is done."""
        size = ctypes.c_size_t(values.nbytes)
        self._on.call("cuMemcpyHtoD_v2", self._pointer, ctypes.c_void_p(values.ctypes.data), size)

    def numpy(self) -> np.ndarray[Any, Any]:
        """Copy to the host, when the legacy stream is done."""
        values = np.empty(self._shape, self._kind)
        if values.nbytes:
            size = ctypes.c_size_t(values.nbytes)
            at = ctypes.c_void_p(values.ctypes.data)
            self._on.call("cuMemcpyDtoH_v2", at, self._pointer, size)
        return values

    def free(self) -> None:
        """Give the memory back."""
        self._on.call("cuMemFree_v2", self._pointer)


class InterfaceArray:
    """What CuPy's and Numba's arrays show of themselves."""

    def __init__(self, array: DeviceArray, **shown: Any) -> None:
        """Show an array."""
        self.array = array
        kind = array._kind
        self.__cuda_array_interface__ = {
            "shape": array._shape,
            "typestr": kind.str,
            "data": (array.data_ptr(), False),
            "version": 3,
            **shown,
        }
