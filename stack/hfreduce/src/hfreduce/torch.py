"""torch's `hfreduce` backend and a hook for DistributedDataParallel.

    import hfreduce.torch
    dist.init_process_group("hfreduce")
    model.register_comm_hook(None, hfreduce.torch.allreduce_hook)      # None: the default group

all_reduce, reduce, broadcast and barrier are HFReduce's; what it does not have (gathers, sends, a
product, a type that it does not know) goes to Gloo, over the same ranks. Work on a GPU's tensors
follows torch's current stream, and wait() has the then current stream wait for the result. Where
the CUDA driver cannot be loaded they are copied by the host, without overlap.

Annotations are real ones here: torch reads those of a hook.
"""

import contextlib
import json
import os
import secrets
import socket
import warnings
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, Optional

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import GradBucket, PrefixStore, Store
from torch._C._distributed_c10d import Work as TorchWork
from torch.distributed.distributed_c10d import GroupName

from hfreduce import _core
from hfreduce.buffers import DTYPES
from hfreduce.communicator import Communicator, ReduceOp
from hfreduce.communicator import Work as Pending
from hfreduce.errors import HFReduceError
from hfreduce.settings import JobSettings, node_settings

_OPS: dict[Any, ReduceOp] = {
    dist.ReduceOp.SUM: "sum",
    dist.ReduceOp.AVG: "avg",
    dist.ReduceOp.MIN: "min",
    dist.ReduceOp.MAX: "max",
}
_LOG_LEVELS = ("trace", "debug", "info", "warn", "error", "fatal")
_REST = (
    "allgather", "_allgather_base", "allgather_coalesced", "allgather_into_tensor_coalesced",
    "allreduce_coalesced", "alltoall", "alltoall_base", "gather", "scatter", "reduce_scatter",
    "_reduce_scatter_base", "reduce_scatter_tensor_coalesced", "send", "recv", "recv_anysource",
)  # fmt: skip


class HFReduceWork(TorchWork):
    """An operation of a group."""

    def __init__(self, future: torch.futures.Future[Any], failure: list[RuntimeError]) -> None:
        """Keep what wait() waits for."""
        super().__init__()
        self._future = future
        self._failure = failure

    def wait(self, timeout: Optional[timedelta] = None) -> bool:  # noqa: UP045 - as torch's
        """Wait for the end; raises HFReduceError if the job cannot go on."""
        self._future.wait()
        if self._failure:
            raise self._failure[0]
        return True

    def is_completed(self) -> bool:
        """Whether it has ended."""
        return bool(self._future.done())

    def get_future(self) -> torch.futures.Future[Any]:
        """Return a future of the tensors."""
        return self._future


class HFReduceGroup(dist.ProcessGroup):
    """A process group whose sums are HFReduce's."""

    def __init__(self, store: Store, rank: int, size: int, timeout: timedelta) -> None:
        """Find the other ranks by the store."""
        super().__init__(rank, size)  # type: ignore[call-arg] # without a store
        self.communicator = Communicator(_job(store, rank, size, timeout))
        self._waiter = ThreadPoolExecutor(1, thread_name_prefix="hfreduce")
        self._rest: Any = dist.ProcessGroupGloo(PrefixStore("rest", store), rank, size, timeout)

    @property
    def group_name(self) -> GroupName:
        """Return the name that torch gave the group."""
        return dist.distributed_c10d._world.pg_names[self]

    @property
    def pg_name(self) -> str:
        """Return the same."""
        return self.group_name

    def getBackendName(self) -> str:  # noqa: N802 - torch's name
        """Return torch's name of the backend."""
        return "hfreduce"

    def allreduce(self, tensors: list[torch.Tensor], opts: Any = None) -> Any:  # type: ignore[override]
        """Combine the ranks' tensors."""
        operation = opts.reduceOp if opts else dist.ReduceOp.SUM
        op = next((name for known, name in _OPS.items() if operation == known), None)
        if op is None or not all(_known(tensor, op) for tensor in tensors):
            return self._rest.allreduce(tensors, opts)
        return self._start(tensors, lambda each: self.communicator.allreduce(each, op, wait=False))

    def reduce(self, tensors: list[torch.Tensor], opts: Any) -> Any:  # type: ignore[override]
        """Combine the ranks' tensors at one."""
        op = next((name for known, name in _OPS.items() if opts.reduceOp == known), None)
        if op is None or not all(_known(tensor, op) for tensor in tensors):
            return self._rest.reduce(tensors, opts)
        root = opts.rootRank
        return self._start(
            tensors, lambda each: self.communicator.reduce(each, root, op, wait=False)
        )

    def broadcast(self, tensors: list[torch.Tensor], opts: Any) -> Any:  # type: ignore[override]
        """Give every rank one's tensors, byte by byte: of any type."""
        root = opts.rootRank
        return self._start(
            tensors,
            lambda each: self.communicator.broadcast(
                each.reshape(-1).view(torch.uint8), root, wait=False
            ),
        )

    def barrier(self, opts: Any = None) -> Any:
        """Wait for all ranks."""
        return self._start([torch.empty(0)], lambda _: self.communicator.barrier(wait=False))

    def shutdown(self) -> None:
        """Leave."""
        self._waiter.shutdown()
        self.communicator.close()

    def abort(self) -> None:
        """End the job on every rank."""
        self.communicator.abort("its process group was aborted")

    def _start(self, tensors: list[torch.Tensor], operation: Any) -> HFReduceWork:
        staged = [_staged(tensor) for tensor in tensors]
        pending: list[Pending] = [operation(each) for each in staged]
        devices = sorted({each.device.index for each in tensors if each.is_cuda})
        future: torch.futures.Future[Any] = torch.futures.Future(
            devices=[torch.device("cuda", each) for each in devices]
        )
        failure: list[RuntimeError] = []

        def finish() -> None:
            try:
                with contextlib.ExitStack() as streams:  # the future waits for these in the end
                    for device in devices:
                        streams.enter_context(torch.cuda.stream(_side_stream(device)))
                    for work, tensor, each in zip(pending, tensors, staged, strict=True):
                        _end(work, tensor, each)
                    future.set_result(tensors)
            except RuntimeError as error:  # HFReduceError is one, and torch raises it
                failure.append(error)
                future.set_exception(error)

        self._waiter.submit(finish)
        return HFReduceWork(future, failure)


def _by_gloo(name: str) -> Any:
    """Return a method that Gloo serves; only a function of Python's overrides torch's own."""

    def method(self: HFReduceGroup, *arguments: Any, **named: Any) -> Any:
        return getattr(self._rest, name)(*arguments, **named)

    return method


for _name in _REST:
    setattr(HFReduceGroup, _name, _by_gloo(_name))


def allreduce_hook(
    group: dist.ProcessGroup, bucket: GradBucket
) -> torch.futures.Future[torch.Tensor]:
    """Average a bucket of gradients over the ranks, while the backward goes on.

    Args:
        group: of the backend `hfreduce`; None is the default group.
        bucket: DistributedDataParallel's.

    Raises:
        HFReduceError: the group is another backend's.
    """
    group = group if group is not None else dist.group.WORLD
    if not isinstance(group, HFReduceGroup):
        raise HFReduceError(
            f"the hook needs a group of backend hfreduce, not {type(group).__name__}"
        )
    options = dist.AllreduceOptions()
    options.reduceOp = dist.ReduceOp(dist.ReduceOp.AVG)
    reduced: torch.futures.Future[Any] = group.allreduce([bucket.buffer()], options).get_future()
    return reduced.then(lambda done: done.value()[0])


def set_log_level(level: int) -> None:
    """Say how much UCX prints; the package itself raises what it has to say.

    Args:
        level: 0 all, 1 debug, 2 information, 3 warnings, 4 errors, as published users number
            them; 5 nothing but what ends the process.

    Raises:
        HFReduceError: there is no such level.
    """
    if level not in range(len(_LOG_LEVELS)):
        raise HFReduceError(f"the log level is {level}; it is 0 to {len(_LOG_LEVELS) - 1}")
    _core.set_log_level(_LOG_LEVELS[level])


def _known(tensor: torch.Tensor, op: str) -> bool:
    name = str(tensor.dtype).rpartition(".")[2]
    return name in DTYPES and not (op == "avg" and not tensor.dtype.is_floating_point)


def _staged(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor, or a copy where it is not in one piece or not to be reached."""
    if tensor.is_cuda and _moves_gpus():
        return tensor.detach().contiguous()
    return tensor.detach().to("cpu").contiguous() if _needs_copy(tensor) else tensor


def _needs_copy(tensor: torch.Tensor) -> bool:
    return tensor.device.type != "cpu" or not tensor.is_contiguous()


def _end(work: Pending, tensor: torch.Tensor, staged: torch.Tensor) -> None:
    """Have this thread, or for a GPU its current stream, wait for the result."""
    if not staged.is_cuda:
        work.wait()
    else:
        stream = torch.cuda.current_stream(staged.device)
        work.wait_stream(stream.cuda_stream)
        staged.record_stream(stream)
    if staged.data_ptr() != tensor.data_ptr():
        tensor.copy_(staged)


@cache
def _side_stream(device: int) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)


@cache
def _moves_gpus() -> bool:
    if problem := _core.gpu_problem():
        warnings.warn(f"GPU tensors are copied by the host: {problem}", stacklevel=4)
    return not problem


def _job(store: Store, rank: int, size: int, timeout: timedelta) -> JobSettings:
    """Agree by torch's store on who is where, and on a secret."""
    store.set_timeout(timeout)
    node = f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()} {_network()}"
    store.set(f"hfreduce/{rank}", node)
    if rank == 0:
        host = _own_address()
        with socket.create_server((host, 0)) as server:
            port = server.getsockname()[1]
        meeting = {"host": host, "port": port, "secret": secrets.token_hex(32)}
        store.set("hfreduce/meeting", json.dumps(meeting))
    nodes = [store.get(f"hfreduce/{each}").decode() for each in range(size)]
    own = [each for each in range(size) if nodes[each] == node]
    if own != list(range(own[0], own[-1] + 1)):
        raise HFReduceError(
            f"the group's ranks {', '.join(map(str, own))} share a node and do not follow on each"
            " other; give new_group() its ranks node by node"
        )
    meeting = json.loads(store.get("hfreduce/meeting"))
    return JobSettings(
        rank=rank,
        world_size=size,
        local_rank=rank - own[0],
        local_size=len(own),
        host=meeting["host"],
        port=meeting["port"],
        secret=meeting["secret"].encode(),
    )


def _network() -> str:
    """Return what tells this network namespace from others: a node's ranks share one."""
    return str(Path("/proc/self/ns/net").readlink())


def _own_address() -> str:
    """Return the address by which the other ranks can reach this one."""
    target = (os.environ.get("MASTER_ADDR", "127.0.0.1"), 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(target)
        return str(probe.getsockname()[0])


def _create(store: Store, rank: int, size: int, timeout: timedelta) -> dist.ProcessGroup:
    return HFReduceGroup(store, rank, size, timeout)


node_settings()  # a file that is wrong is said now, not in the first step
dist.Backend.register_backend("hfreduce", _create, devices=["cpu", "cuda"])
