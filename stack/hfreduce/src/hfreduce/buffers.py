"""What may be reduced: numpy arrays, and anything that shows its memory as torch's tensors do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hfreduce import _core
from hfreduce.errors import HFReduceError

Array: TypeAlias = NDArray[Any]

DTYPES = tuple(_core.Dtype.__members__)
_OF_NUMPY = {
    name: getattr(_core.Dtype, name)
    for name in ("float32", "float64", "float16", "int32", "int64", "uint8")
}


@runtime_checkable
class Tensor(Protocol):
    """The part of torch.Tensor that is used here; the core needs no torch."""

    dtype: Any

    def data_ptr(self) -> int: ...
    def numel(self) -> int: ...
    def is_contiguous(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory of one tensor, in one piece."""

    pointer: int
    count: int
    dtype: _core.Dtype
    owner: object
    """Keeps the memory alive."""
    back: tuple[Array, Array] | None = None
    """Where to copy from and to in the end, as the tensor is not in one piece."""


def buffer(array: Any, dtype: str | None = None, *, written: bool) -> Buffer:
    """Return the memory of an array.

    Args:
        array: a numpy array, of any strides, or a contiguous tensor of the processor's.
        dtype: the type, where numpy has none for it: `bfloat16` in uint16, `float8_e4m3fn` and
            `float8_e5m2` in uint8.
        written: whether a result goes there.

    Raises:
        HFReduceError: the type, the device or the layout cannot be reduced.
    """
    if isinstance(array, np.ndarray):
        return _of_numpy(array, dtype, written)
    if isinstance(array, Tensor):
        return _of_tensor(array)
    raise HFReduceError(f"{type(array).__name__} is neither a numpy array nor a tensor")


def _of_numpy(array: Array, dtype: str | None, written: bool) -> Buffer:
    name = dtype or array.dtype.name
    kind = _core.Dtype.__members__.get(name)
    if kind is None or (dtype is None and name not in _OF_NUMPY):
        raise HFReduceError(f"{name} cannot be reduced; there are {', '.join(DTYPES)}")
    if _core.size_of(kind) != array.dtype.itemsize:
        raise HFReduceError(
            f"{name} has {_core.size_of(kind)} bytes, the array's {array.dtype}"
            f" {array.dtype.itemsize}"
        )
    if written and not array.flags.writeable:
        raise HFReduceError("the array is read-only")
    if array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative:
        return Buffer(array.ctypes.data, array.size, kind, array)
    if not array.dtype.isnative:
        raise HFReduceError(f"{array.dtype} has another byte order than this machine")
    whole = np.ascontiguousarray(array)
    return Buffer(whole.ctypes.data, whole.size, kind, whole, (whole, array) if written else None)


def _of_tensor(tensor: Tensor) -> Buffer:
    name = str(tensor.dtype).rpartition(".")[2]
    kind = _core.Dtype.__members__.get(name)
    if kind is None:
        raise HFReduceError(f"{name} cannot be reduced; there are {', '.join(DTYPES)}")
    device = str(getattr(tensor, "device", "cpu"))
    if device != "cpu":
        raise HFReduceError(f"the tensor lies on {device}; this build moves the processor's only")
    if not tensor.is_contiguous():
        raise HFReduceError("the tensor is not contiguous; call contiguous() first")
    return Buffer(tensor.data_ptr(), tensor.numel(), kind, tensor)
