"""A job's ranks, and what they do together."""

from __future__ import annotations

import atexit
import hashlib
import os
import socket
import weakref
from types import TracebackType
from typing import Any, Literal, TypeAlias

import numpy as np

from hfreduce import _core, addresses, channels, local, rendezvous, tree
from hfreduce.buffers import Buffer, buffer, current_stream
from hfreduce.errors import HFReduceError
from hfreduce.rendezvous import NodeInfo, Table
from hfreduce.settings import JobSettings, NodeSettings, job_settings, node_settings, tell_ucx

ReduceOp: TypeAlias = Literal["sum", "avg", "min", "max"]
_OPS = {"sum": _core.Op.sum, "avg": _core.Op.sum, "min": _core.Op.min, "max": _core.Op.max}
_INTEGERS = frozenset({_core.Dtype.int32, _core.Dtype.int64, _core.Dtype.uint8})
_SPINS = 2000
"""Looks before a wait sleeps, where every rank has a processor to itself."""
_OPEN: weakref.WeakSet[Communicator] = weakref.WeakSet()


class Work:
    """An operation under way. Its tensors are not to be touched until wait() returned."""

    __slots__ = ("_buffers", "_core", "_number")

    def __init__(self, core: _core.Core, number: int, *buffers: Buffer) -> None:
        """Keep what the operation works on."""
        self._core = core
        self._number = number
        self._buffers = buffers

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait for the end.

        Args:
            timeout_s: after which the job is ended on every rank; the node's setting by default.

        Raises:
            HFReduceError: the job cannot go on; the text names the rank that it failed at.
        """
        self._core.wait(self._number, timeout_s or 0.0)
        for each in self._buffers:
            if each.back:
                whole, array = each.back
                np.copyto(array, whole.reshape(array.shape))
        self._buffers = ()

    def wait_stream(self, stream: int | None = None, timeout_s: float | None = None) -> None:
        """Have a stream of the GPU wait for the end, in place of this thread.

        The result is made by processors, so this returns when the last copy to the GPU is under
        way, and that one only is left to the stream. Tensors of the processor's: as wait().

        Args:
            stream: its handle; the current one of torch's for a tensor of torch's, else the
                legacy stream, 0, by default.
            timeout_s: as wait().

        Raises:
            HFReduceError: as wait().
        """
        taken = self._buffers[-1] if self._buffers else None
        if taken is None or not taken.gpu:
            self.wait(timeout_s)
            return
        stream = current_stream(taken.owner) if stream is None else stream
        self._core.wait_stream(self._number, taken.pointer, stream, timeout_s or 0.0)

    def done(self) -> bool:
        """Whether it has ended; wait() then returns at once.

        Raises:
            HFReduceError: as wait().
        """
        return self._core.done(self._number)


class Communicator:
    """The ranks of a job. Every rank calls the same operations in the same order.

    Not for use by several threads at once, but for waiting.
    """

    def __init__(self, job: JobSettings | None = None, node: NodeSettings | None = None) -> None:
        """Find the other ranks.

        Args:
            job: who this rank is; the environment says so by default (see settings).
            node: what holds for the node; /etc/hfreduce/node.json by default.

        Raises:
            HFReduceError: a rank did not come in time, or ranks contradict each other.
        """
        self.job = (job or job_settings()).checked()
        self.node = node or node_settings()
        self._core = _join(self.job, self.node)
        self._closed = ""
        """Why nothing can be asked for any more."""
        _OPEN.add(self)

    @property
    def rank(self) -> int:
        """This rank."""
        return self.job.rank

    @property
    def world_size(self) -> int:
        """Ranks of the job."""
        return self.job.world_size

    def allreduce(
        self,
        array: Any,
        op: ReduceOp = "sum",
        *,
        out: Any = None,
        dtype: str | None = None,
        name: str = "",
        wait: bool = True,
        stream: int | None = None,
    ) -> Work:
        """Combine the ranks' arrays; every rank gets the same bits.

        Args:
            array: what this rank gives; the result goes there too, unless `out` is given.
            op: `avg` gives each node's sum over the number of ranks before it is rounded, so
                that 16-bit sums do not overflow.
            out: where the result goes.
            dtype: see buffers.buffer().
            name: what all ranks must call it alike, to find out when they are out of step.
            wait: whether to return when it has ended; else wait for what is returned.
            stream: handle of the GPU's stream that makes the array; the current one of torch's
                for a tensor of torch's, else the legacy stream, 0, by default.

        Raises:
            HFReduceError: what is given cannot be reduced, or the job cannot go on.
        """
        return self._run(_core.Kind.allreduce, array, out, op, 0, dtype, name, wait, stream)

    def reduce(
        self,
        array: Any,
        root: int = 0,
        op: ReduceOp = "sum",
        *,
        out: Any = None,
        dtype: str | None = None,
        name: str = "",
        wait: bool = True,
        stream: int | None = None,
    ) -> Work:
        """Combine the ranks' arrays at one rank; see allreduce()."""
        return self._run(_core.Kind.reduce, array, out, op, root, dtype, name, wait, stream)

    def broadcast(
        self,
        array: Any,
        root: int = 0,
        *,
        dtype: str | None = None,
        name: str = "",
        wait: bool = True,
        stream: int | None = None,
    ) -> Work:
        """Give every rank one rank's array; see allreduce()."""
        return self._run(_core.Kind.broadcast, array, None, "sum", root, dtype, name, wait, stream)

    def barrier(self, *, name: str = "", wait: bool = True) -> Work:
        """Wait until every rank has come here; see allreduce()."""
        empty = np.empty(0, np.uint8)
        return self._run(_core.Kind.barrier, empty, None, "sum", 0, None, name, wait, None)

    def _run(
        self,
        kind: _core.Kind,
        array: Any,
        out: Any,
        op: ReduceOp,
        root: int,
        dtype: str | None,
        name: str,
        wait: bool,
        stream: int | None,
    ) -> Work:
        if op not in _OPS:
            raise HFReduceError(f"{op} is no operation; there are {', '.join(_OPS)}")
        if not 0 <= root < self.world_size:
            raise HFReduceError(f"root is {root}; ranks are 0 to {self.world_size - 1}")
        takes = kind is not _core.Kind.reduce or self.rank == root
        given = buffer(array, dtype, written=out is None and takes)
        taken = given if out is None else buffer(out, dtype, written=True)
        if (taken.elements, taken.dtype) != (given.elements, given.dtype):
            raise HFReduceError(
                f"out has {taken.elements} elements of {taken.dtype.name}, the array"
                f" {given.elements} of {given.dtype.name}"
            )
        if taken.gpu != given.gpu:
            raise HFReduceError("of the array and out, one lies on a GPU and the other does not")
        if op == "avg" and given.dtype in _INTEGERS:
            raise HFReduceError(f"{given.dtype.name} has no average; take the sum")
        if given.gpu and stream is None:
            stream = current_stream(given.owner)
        work = self.submit(kind, given, taken, op, root, name=name, wait=wait, stream=stream or 0)
        if wait:
            work.wait()
        return work

    def submit(
        self,
        kind: _core.Kind,
        given: Buffer,
        taken: Buffer,
        op: ReduceOp,
        root: int,
        *,
        name: str = "",
        wait: bool = False,
        stream: int = 0,
    ) -> Work:
        """Start an operation on memory that was checked already; does not wait.

        Args:
            kind: which operation.
            given: what this rank gives.
            taken: where the result goes: of the same type, length and side as `given`.
            op: see allreduce().
            root: the rank that gives or takes; it is one.
            name: see allreduce().
            wait: whether the caller is about to wait, so that no other thread needs to drive it.
            stream: see allreduce().

        Raises:
            HFReduceError: the communicator is closed, or the job cannot go on.
        """
        if self._closed:
            raise HFReduceError(self._closed)
        number = self._core.submit(
            kind=kind,
            op=_OPS[op],
            average=op == "avg",
            dtype=given.dtype,
            count=given.elements,
            root=root,
            name=int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]) if name else 0,
            source=given.pointer,
            target=taken.pointer,
            waits=wait,
            gpu=given.gpu,
            stream=stream,
        )
        return Work(self._core, number, given, taken)

    def abort(self, why: str) -> None:
        """End the job on every rank."""
        self._core.abort(f"rank {self.rank} ended the job: {why}")

    def sent_bytes(self) -> int:
        """Return the bytes that this node sent to others; 0 but at its first rank."""
        return self._core.sent_bytes()

    def close(self) -> None:
        """End what is under way, and leave. The other ranks may leave earlier or later."""
        if not self._closed:
            self._closed = "the communicator is closed"
            _OPEN.discard(self)
            self._core.close()

    def forget(self) -> None:
        """Let go of the job, in a forked child: it has the memory, but none of the threads."""
        self._closed = (
            "this process was forked from a rank and is none itself; make the communicator after"
            " the fork, or start ranks with the method 'spawn'"
        )
        self._core.forget()

    def __enter__(self) -> Communicator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None and not isinstance(error, HFReduceError):
            self.abort(f"{type(error).__name__}: {error}")
        self.close()


@atexit.register
def _close_all() -> None:
    for each in list(_OPEN):
        each.close()


def _forget_all() -> None:
    for each in list(_OPEN):
        each.forget()
    _OPEN.clear()


os.register_at_fork(after_in_child=_forget_all)


def _shape(job: JobSettings, said: dict[str, Any]) -> _core.Shape:
    return _core.Shape(
        local_size=job.local_size,
        threads=said["threads"],
        depth=said["depth"],
        chunk_bytes=said["chunk_bytes"],
        networked=job.networked,
        channels=said["channels"],
        partners=said["partners"],
    )


def _core_of(
    job: JobSettings, node: NodeSettings, said: dict[str, Any], descriptors: tuple[int, ...]
) -> _core.Core:
    segment, *events = descriptors
    busy = job.local_size * said["threads"] + 2 * said["channels"] * job.networked
    alone = busy <= len(os.sched_getaffinity(0))
    try:
        return _core.Core(
            rank=job.rank,
            world_size=job.world_size,
            first_rank=job.first_rank,
            shape=_shape(job, said),
            segment=segment,
            events=events,
            devices=channels.devices(node.net_devices, said["channels"], os.environ),
            domains=channels.domains(
                node.net_devices, node.adapter_domains, node.numa_node, said["channels"]
            ),
            timeout_s=node.timeout_s,
            spins=_SPINS if alone else 0,
            gdrcopy=node.gdrcopy,
        )
    finally:
        os.close(segment)  # it is mapped; the events are the core's


def _join(job: JobSettings, node: NodeSettings) -> _core.Core:
    if job.local_rank:
        shared = local.enter(job, node.timeout_s)
        core = _core_of(job, node, shared.said, shared.descriptors)
        above = (shared.connection.detach(), job.first_rank, 1, True)
        core.watch(silence_s=node.silence_s, links=[above])
        return core
    door = local.Door(job)
    try:
        door.gather(node.timeout_s)
        return _lead(job, node, door)
    except HFReduceError as error:
        door.refuse(str(error))
        raise


def _lead(job: JobSettings, node: NodeSettings, door: local.Door) -> _core.Core:
    """Be the first rank of a node."""
    said = {
        "threads": node.threads,
        "depth": node.depth,
        "chunk_bytes": node.chunk_bytes,
        "channels": node.network_threads if job.networked else 1,
        "partners": node.partners(job.local_size),
    }
    tell_ucx(node, os.environ)
    segment = _core.create_segment(_shape(job, said))
    wanted = 2 * node.network_threads if job.networked else 0
    events = tuple(os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK) for _ in range(wanted))
    theirs = tuple(os.dup(each) for each in (segment, *events))
    try:
        core = _core_of(job, node, said, (segment, *events))
        links: list[tuple[int, int, int, bool]] = []
        if job.networked:
            links += _meet_nodes(job, node, core)
        for local_rank, connection in door.admit(said, theirs).items():
            links.append((connection.detach(), job.first_rank + local_rank, 1, False))
    finally:
        for each in theirs:
            os.close(each)
    core.watch(silence_s=node.silence_s, links=links)
    return core


def _meet_nodes(
    job: JobSettings, node: NodeSettings, core: _core.Core
) -> list[tuple[int, int, int, bool]]:
    by_ucx = core.addresses()
    assert by_ucx is not None
    own = NodeInfo(
        first_rank=job.first_rank,
        ranks=job.local_size,
        world_size=job.world_size,
        zone=node.zone,
        position=node.position,
        chunk_bytes=node.chunk_bytes,
        depth=node.depth,
        network_threads=node.network_threads,
        host=socket.gethostname(),
        up=tuple(by_ucx[0]),
        down=tuple(by_ucx[1]),
    )
    links: list[tuple[int, int, int, bool]] = []
    if job.rank == 0:
        listening = addresses.listening_address(job.host, node.interface)
        table, met = rendezvous.gather(own, job.secret, listening, job.port, node.timeout_s)
        for other, connection in met:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            links.append((connection.detach(), other.first_rank, other.ranks, False))
    else:
        table, connection = rendezvous.join(own, job.secret, job.host, job.port, node.timeout_s)
        links.append((connection.detach(), 0, table.nodes[0].ranks, True))
    _connect(job, table, core, node.silence_s)
    return links


def _connect(job: JobSettings, table: Table, core: _core.Core, silence_s: float) -> None:
    firsts = [node.first_rank for node in table.nodes]
    number = firsts.index(job.first_rank)
    order = sorted(
        range(len(firsts)), key=lambda n: (table.nodes[n].zone, table.nodes[n].position, n)
    )
    over = tree.trees_over([table.nodes[n].zone for n in order])
    places = [tree.place(tree.renumbered(each, order), number) for each in over]
    core.connect(
        node=number,
        first_ranks=[*firsts, job.world_size],
        job=table.job,
        silence_s=silence_s,
        trees=[(place.parent, list(place.children), list(place.path_to)) for place in places],
        up=list(zip(*(node.up for node in table.nodes), strict=True)),
        down=list(zip(*(node.down for node in table.nodes), strict=True)),
    )
