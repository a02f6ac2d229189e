"""What may be reduced: numpy arrays, and what shows its memory as torch's tensors or CuPy's do."""

from __future__ import annotations

import math
import sys
from functools import cache
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

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
_NATIVE = {np.dtype(name): kind for name, kind in _OF_NUMPY.items()}
"""Of this machine's byte order."""


@runtime_checkable
class Tensor(Protocol):
    """The part of torch.Tensor that is used here; the core needs no torch."""

    dtype: Any

    def data_ptr(self) -> int: ...
    def numel(self) -> int: ...
    def is_contiguous(self) -> bool: ...


class Buffer(NamedTuple):
    """Memory of one tensor, in one piece."""

    pointer: int
    elements: int
    dtype: _core.Dtype
    owner: object
    """Keeps the memory alive."""
    back: tuple[Array, Array] | None = None
    """Where to copy from and to in the end, as the tensor is not in one piece."""
    gpu: bool = False


def buffer(array: Any, dtype: str | None = None, *, written: bool) -> Buffer:
    """Return the memory of an array.

    Args:
        array: a numpy array, of any strides, a contiguous tensor of the processor's or a GPU's,
            or a contiguous array with `__cuda_array_interface__`.
        dtype: the type, where numpy has none for it: `bfloat16` in uint16, `float8_e4m3fn` and
            `float8_e5m2` in uint8.
        written: whether a result goes there.

    Raises:
        HFReduceError: the type, the device or the layout cannot be reduced.
    """
    if isinstance(array, np.ndarray):
        return _of_numpy(array, dtype, written)
    if _is_tensor(array.__class__) or isinstance(array, Tensor):
        return _of_tensor(array)
    if (shown := getattr(array, "__cuda_array_interface__", None)) is not None:
        return _of_interface(array, shown, dtype, written)
    raise HFReduceError(f"{type(array).__name__} is neither a numpy array nor a tensor")


def _known(said: str | None, dtype: np.dtype[Any]) -> _core.Dtype:
    name = said or dtype.name
    kind = _core.Dtype.__members__.get(name)
    if kind is None or (said is None and name not in _OF_NUMPY):
        raise HFReduceError(f"{name} cannot be reduced; there are {', '.join(DTYPES)}")
    if _core.size_of(kind) != dtype.itemsize:
        raise HFReduceError(
            f"{name} has {_core.size_of(kind)} bytes, the array's {dtype} {dtype.itemsize}"
        )
    return kind


def _of_numpy(array: Array, dtype: str | None, written: bool) -> Buffer:
    # What is small is over in microseconds, and most arrays are as plain as this.
    if dtype is None and array.flags.carray and (plain := _NATIVE.get(array.dtype)) is not None:
        return Buffer(_core.address(array), array.size, plain, array)
    kind = _known(dtype, array.dtype)
    if written and not array.flags.writeable:
        raise HFReduceError("the array is read-only")
    if array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative:
        return Buffer(_core.address(array), array.size, kind, array)
    if not array.dtype.isnative:
        raise HFReduceError(f"{array.dtype} has another byte order than this machine")
    whole = np.ascontiguousarray(array)
    back = (whole, array) if written else None
    return Buffer(_core.address(whole), whole.size, kind, whole, back)


@cache
def _is_tensor(kind: type) -> bool:
    """Whether the objects of a class are tensors: to look at each takes longer than a small sum."""
    return all(hasattr(kind, name) for name in ("dtype", "data_ptr", "numel", "is_contiguous"))


@cache
def _kind_of(dtype: object) -> _core.Dtype:
    name = str(dtype).rpartition(".")[2]
    kind = _core.Dtype.__members__.get(name)
    if kind is None:
        raise HFReduceError(f"{name} cannot be reduced; there are {', '.join(DTYPES)}")
    return kind


def _of_tensor(tensor: Tensor) -> Buffer:
    kind = _kind_of(tensor.dtype)
    device = str(getattr(tensor, "device", "cpu"))
    gpu = device.partition(":")[0] == "cuda"
    if not gpu and device != "cpu":
        raise HFReduceError(f"the tensor lies on {device}; it may on the processor's side or cuda")
    if not tensor.is_contiguous():
        raise HFReduceError("the tensor is not contiguous; call contiguous() first")
    return Buffer(tensor.data_ptr(), tensor.numel(), kind, tensor, gpu=gpu)


def _of_interface(array: Any, shown: dict[str, Any], dtype: str | None, written: bool) -> Buffer:
    kind = np.dtype(shown["typestr"])
    pointer, read_only = shown["data"]
    shape = tuple(shown["shape"])
    strides = shown.get("strides")
    if strides is not None and 0 not in shape:
        steps = [kind.itemsize * math.prod(shape[at + 1 :]) for at in range(len(shape))]
        if any(n > 1 and s != step for n, s, step in zip(shape, strides, steps, strict=True)):
            raise HFReduceError("the array is not contiguous")
    if written and read_only:
        raise HFReduceError("the array is read-only")
    return Buffer(int(pointer), math.prod(shape), _known(dtype, kind), array, gpu=True)


def current_stream(array: Any) -> int:
    """Return the stream that a GPU's tensor is worked on now, 0 the legacy one.

    It is torch's current one for a tensor of torch's, or what the array itself names.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return int(torch.cuda.current_stream(array.device).cuda_stream)
    return int(getattr(array, "__cuda_array_interface__", {}).get("stream") or 0)
