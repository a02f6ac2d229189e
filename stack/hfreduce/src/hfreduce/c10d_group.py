"""A torch process group whose sums are HFReduce's, beside what other backends do for it.

Annotations are real ones here: torch reads those of a hook.
"""

import os
import warnings
from collections import deque
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import Any

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import PrefixStore, Store
from torch.distributed.constants import default_pg_timeout
from torch.distributed.distributed_c10d import BackendConfig

from hfreduce import _core
from hfreduce.buffers import Buffer, current_stream
from hfreduce.c10d_meeting import meet
from hfreduce.c10d_work import Callbacks, HFReduceWork, callback_origin
from hfreduce.communicator import Communicator, ReduceOp
from hfreduce.errors import HFReduceError
from hfreduce.settings import node_settings

_OPS: dict[int, ReduceOp] = {
    hash(dist.ReduceOp(dist.ReduceOp.SUM)): "sum",
    hash(dist.ReduceOp(dist.ReduceOp.AVG)): "avg",
    hash(dist.ReduceOp(dist.ReduceOp.MIN)): "min",
    hash(dist.ReduceOp(dist.ReduceOp.MAX)): "max",
}
"""By torch's hash, its number: to ask for the name of one takes longer than a small sum."""
_DTYPES = {getattr(torch, name): kind for name, kind in _core.Dtype.__members__.items()}
_IN_PLACE_OF_OPTIONS = (dist.ReduceOp, dist.ReduceOp.RedOpType, timedelta)
_BYTE = _core.Dtype.uint8
_STRIDED = torch.strided
_BROADCAST = _core.Kind.broadcast
_COALESCED = torch._C._distributed_c10d.AllreduceCoalescedOptions
_REST = (
    "allgather", "_allgather_base", "all_gather_single", "all_gather_single_coalesced",
    "allgather_coalesced", "allgather_into_tensor_coalesced", "alltoall", "alltoall_base",
    "all_to_all_single", "gather", "scatter", "reduce_scatter", "_reduce_scatter_base",
    "reduce_scatter_single", "reduce_scatter_single_coalesced", "reduce_scatter_tensor_coalesced",
    "send", "recv", "recv_anysource", "monitored_barrier",
)  # fmt: skip
"""What HFReduce does not have, by torch's names, old and new."""


class HFReduceGroup(dist.ProcessGroup):
    """A process group whose sums are HFReduce's, on the devices that its backend was named for.

    Every rank must call the same operations in the same order. A callback of a future runs in a
    thread, beside the program, so it has an order of its own: collectives that it calls go to a
    second group over the same ranks, which is made when the first callback calls one.
    """

    def __init__(
        self, store: Store, rank: int, size: int, timeout: timedelta, origin: str = ""
    ) -> None:
        """Find the other ranks by the store."""
        super().__init__(rank, size)  # type: ignore[call-arg] # torch has no store for subclasses
        node = node_settings()
        self._timeout = timeout
        self._timeout_s = node.timeout_s  # in place of torch's default
        if timeout != default_pg_timeout:
            self._timeout_s = timeout.total_seconds()
        node = replace(node, timeout_s=self._timeout_s)
        meeting = meet(store, rank, size, timeout, node)
        self.communicator = Communicator(meeting.job, node)
        self._store = store
        self._origin = origin
        self._callbacks = Callbacks(f"{origin}>")
        self._of_callbacks: dict[str, HFReduceGroup] = {}
        self._unended: deque[HFReduceWork] = deque()
        self._ours: frozenset[str] | None = None
        self._gloo: Any = _gloo(PrefixStore("rest", store), rank, size, timeout, meeting.address)
        self._rest = dist.ProcessGroup(PrefixStore("rest", store), rank, size)
        for group, kind in ((self, "CUSTOM"), (self._rest, "GLOO")):
            backend = getattr(dist.ProcessGroup.BackendType, kind)
            for device in ("cpu", "cuda"):
                # What C++ asks of the group beside the methods below is Gloo's, too.
                dist.ProcessGroup._register_backend(
                    group, torch.device(device), backend, self._gloo
                )
            dist.ProcessGroup._set_default_backend(group, backend)

    def get_group_store(self) -> Store:
        """Return the store by which its ranks meet."""
        return self._store

    def getBackendName(self) -> str:  # noqa: N802 - torch's name
        """Return torch's name of the backend."""
        return "hfreduce"

    def allreduce(self, tensors: Any, opts: Any = None, timeout: Any = None) -> Any:
        """Combine the ranks' tensors; those that HFReduce cannot add go to Gloo."""
        opts = _options(dist.AllreduceOptions, opts, timeout)
        tensors = tensors if isinstance(tensors, list) else [tensors]
        return self._allreduce("allreduce", tensors, opts)

    def allreduce_coalesced(self, tensors: Any, opts: Any = None) -> Any:
        """Combine the ranks' tensors, any number at once."""
        return self._allreduce("allreduce_coalesced", tensors, opts or _COALESCED())

    def _allreduce(self, name: str, tensors: list[torch.Tensor], opts: Any) -> Any:
        group = self._in_order()
        op = _OPS.get(hash(opts.reduceOp))
        if op is None or not group._takes(tensors, op):
            return getattr(group._rest, name)(tensors, opts)
        return group._start(_core.Kind.allreduce, tensors, op, 0, opts)

    def reduce(
        self, tensors: Any, opts: Any = 0, op: Any = dist.ReduceOp.SUM, timeout: Any = None
    ) -> Any:
        """Combine the ranks' tensors at one."""
        if isinstance(tensors, torch.Tensor):
            root, opts, tensors = opts, dist.ReduceOptions(), [tensors]
            opts.rootRank, opts.reduceOp = root, dist.ReduceOp(op)
            opts = _options(dist.ReduceOptions, opts, timeout)
        group = self._in_order()
        known = _OPS.get(hash(opts.reduceOp))
        if known is None or not group._takes(tensors, known):
            return group._rest.reduce(tensors, opts)
        return group._start(_core.Kind.reduce, tensors, known, opts.rootRank, opts)

    def broadcast(self, tensors: Any, opts: Any = 0, timeout: Any = None) -> Any:
        """Give every rank one's tensors, byte by byte: of any type."""
        if isinstance(tensors, torch.Tensor):
            root, opts, tensors = opts, dist.BroadcastOptions(), [tensors]
            opts.rootRank = root
            opts = _options(dist.BroadcastOptions, opts, timeout)
        group = self._in_order()
        if not group._hold(tensors):
            return group._rest.broadcast(tensors, opts)
        return group._start(_core.Kind.broadcast, tensors, "sum", opts.rootRank, opts)

    def barrier(self, opts: Any = None, timeout: Any = None) -> Any:  # type: ignore[override]
        """Wait for all ranks."""
        opts = _options(dist.BarrierOptions, opts, timeout)
        group = self._in_order()
        return group._start(_core.Kind.barrier, [torch.empty(0)], "sum", 0, opts)

    def set_timeout(self, timeout: timedelta) -> None:
        """Set what an operation may take that names no timeout itself."""
        self._timeout = timeout
        self._timeout_s = timeout.total_seconds()
        self._gloo.set_timeout(timeout)
        for group in self._of_callbacks.values():
            group.set_timeout(timeout)

    def shutdown(self) -> None:
        """Leave."""
        self._callbacks.close()
        for group in self._of_callbacks.values():
            group.shutdown()
        self.communicator.close()
        self._unended.clear()

    def abort(self) -> None:
        """End the job on every rank."""
        self.communicator.abort("its process group was aborted")

    def __deepcopy__(self, _memo: Any) -> "HFReduceGroup":
        """Return the group itself, as a copied model goes on with the same ranks."""
        return self

    def __reduce__(self) -> Any:
        """Name the group: where it is unpickled, a group of this name must have been made."""
        return _group_named, (self.group_name,)

    def _in_order(self) -> "HFReduceGroup":
        """Return the group for this thread: itself, or the one for a callback's operations."""
        origin = callback_origin()
        if not origin or self._origin:
            return self
        if origin not in self._of_callbacks:
            store = PrefixStore(f"callbacks/{origin}", self._store)
            self._of_callbacks[origin] = HFReduceGroup(
                store, self.rank(), self.size(), self._timeout, origin
            )
        return self._of_callbacks[origin]

    def _devices(self) -> frozenset[str]:
        """Return the devices whose tensors are HFReduce's, and add the other ones' backends."""
        configuration = dist.distributed_c10d._world.pg_backend_config.get(self)
        if configuration is None:  # torch has not finished with the group
            return frozenset(("cpu", "cuda"))
        asked = BackendConfig(dist.Backend(configuration)).get_device_backend_map()
        for device, name in asked.items():
            if name == "nccl" and dist.is_nccl_available():
                options = dist.ProcessGroupNCCL.Options()
                options._timeout = self._timeout
                nccl = dist.ProcessGroupNCCL(
                    PrefixStore(f"nccl/{device}", self._store), self.rank(), self.size(), options
                )
                kind = dist.ProcessGroup.BackendType.NCCL
                for group in (self, self._rest):
                    dist.ProcessGroup._register_backend(group, torch.device(device), kind, nccl)
            elif name not in ("hfreduce", "gloo"):
                raise HFReduceError(
                    f"a group of hfreduce and {name} ({configuration}) is not to be had; name gloo"
                    f" or nccl for {device}, or make a second group"
                )
        self._ours = frozenset(device for device, name in asked.items() if name == "hfreduce")
        return self._ours

    def _hold(self, tensors: list[torch.Tensor]) -> bool:
        ours = self._ours if self._ours is not None else self._devices()
        for tensor in tensors:
            device = "cpu" if tensor.is_cpu else tensor.device.type
            if device not in ours or tensor.layout is not _STRIDED:
                return False
        return True

    def _takes(self, tensors: list[torch.Tensor], op: ReduceOp) -> bool:
        for tensor in tensors:
            dtype = tensor.dtype
            if dtype not in _DTYPES or (op == "avg" and not dtype.is_floating_point):
                return False
        return self._hold(tensors)

    def _start(
        self, kind: _core.Kind, tensors: list[torch.Tensor], op: ReduceOp, root: int, opts: Any
    ) -> HFReduceWork:
        runs_on: bool = opts.asyncOp
        staged, pending, copied = [], [], False
        as_bytes = kind is _BROADCAST
        for tensor in tensors:
            each = _staged(tensor)
            copied = copied or each is not tensor
            memory = _memory(each, as_bytes)
            stream = current_stream(each) if memory.gpu else 0
            staged.append(each)
            pending.append(
                self.communicator.submit(
                    kind, memory, memory, op, root, wait=not runs_on, stream=stream
                )
            )
        timeout = opts.timeout  # less than nothing where none was given
        timeout_s = timeout.total_seconds() if timeout.days >= 0 else 0.0
        work = HFReduceWork(
            self._callbacks, timeout_s or self._timeout_s, tensors, staged, pending, copied
        )
        if runs_on:  # its memory must last, whatever the caller does with the work
            while self._unended and self._unended[0].is_completed():
                self._unended.popleft()
            self._unended.append(work)
        return work


def _by_rest(name: str) -> Any:
    """Return a method that Gloo serves; only a function of Python's overrides torch's own."""

    def method(self: HFReduceGroup, *arguments: Any, **named: Any) -> Any:
        return getattr(self._in_order()._rest, name)(*arguments, **named)

    return method


for _name in _REST:
    if hasattr(dist.ProcessGroup, _name):
        setattr(HFReduceGroup, _name, _by_rest(_name))


def _group_named(name: str) -> dist.ProcessGroup:
    group: dist.ProcessGroup = torch._C._distributed_c10d._resolve_process_group(name)  # type: ignore[arg-type]
    return group


def _options(kind: type[Any], given: Any, timeout: Any) -> Any:
    """Return torch's options, also where it was given an operation or a timeout in their place."""
    opts = given
    if not isinstance(given, kind) and (given is None or isinstance(given, _IN_PLACE_OF_OPTIONS)):
        opts = kind()
        if isinstance(given, timedelta):
            timeout = given
        elif given is not None:
            opts.reduceOp = given
    if timeout is not None:
        opts.timeout = timeout
    return opts


def _gloo(store: Store, rank: int, size: int, timeout: timedelta, address: str) -> Any:
    """Return Gloo at the address that other nodes reach, unless the environment says otherwise."""
    if not address or os.environ.get("GLOO_SOCKET_IFNAME"):
        return dist.ProcessGroupGloo(store, rank, size, timeout)
    options: Any = dist.ProcessGroupGloo._Options()  # type: ignore[attr-defined]
    options._devices = [dist.ProcessGroupGloo.create_device(hostname=address)]
    options._timeout = timeout
    return dist.ProcessGroupGloo(store, rank, size, options)


def _staged(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor, or a copy where it is not in one piece or not to be reached."""
    if not tensor.is_cuda:
        return tensor if tensor.is_contiguous() else tensor.detach().contiguous()
    if _moves_gpus():
        return tensor if tensor.is_contiguous() else tensor.detach().contiguous()
    return tensor.detach().to("cpu").contiguous()


def _memory(tensor: torch.Tensor, as_bytes: bool) -> Buffer:
    if as_bytes:
        return Buffer(tensor.data_ptr(), tensor.nbytes, _BYTE, tensor, None, tensor.is_cuda)
    dtype = _DTYPES.get(tensor.dtype, _BYTE)  # a barrier's has no elements
    return Buffer(tensor.data_ptr(), tensor.numel(), dtype, tensor, None, tensor.is_cuda)


@cache
def _moves_gpus() -> bool:
    if problem := _core.gpu_problem():
        warnings.warn(f"GPU tensors are copied by the host: {problem}", stacklevel=4)
    return not problem
