"""What an operation of a torch process group returns: its work, its future, and their callbacks.

Who waits for a work drives the operation itself. Only a future needs another thread, as C++ and
callbacks want to be told: each group has one, started with the first future, that ends them in the
order in which they were asked for. A callback may itself call collectives and wait for them:
see HFReduceGroup.

Annotations are real ones here: torch reads those of a hook.
"""

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import cache
from typing import Any, Optional

import torch
from torch._C._distributed_c10d import Work as TorchWork

from hfreduce.communicator import Work as Pending
from hfreduce.errors import HFReduceError


class _Thread(threading.local):
    """What a thread is to the groups."""

    origin: str = ""
    """Names its order of operations: empty but in a callback's thread."""
    callbacks: "Callbacks | None" = None


_THREAD = _Thread()


def callback_origin() -> str:
    """Return what names this thread's order of operations: empty but in a callback's thread."""
    return _THREAD.origin


class Callbacks:
    """The thread that ends futures and runs their callbacks, in the order of `then()`.

    The order is the program's, so it is the same on every rank, and with it the order of the
    collectives that callbacks call.
    """

    def __init__(self, origin: str) -> None:
        """Name the order; the thread starts with the first task."""
        self.origin = origin
        self.lock = threading.Lock()
        self._pool = ThreadPoolExecutor(1, "hfreduce", self._begin)

    def _begin(self) -> None:
        _THREAD.origin, _THREAD.callbacks = self.origin, self

    def submit(self, task: Callable[[], None]) -> None:
        """Run a task after those before it."""
        self._pool.submit(task)

    def runs_here(self) -> bool:
        """Whether this thread is the one."""
        return _THREAD.callbacks is self

    def close(self) -> None:
        """Let the tasks end."""
        self._pool.shutdown(wait=not self.runs_here())


class HFReduceFuture(torch.futures.Future[Any]):
    """The future of an operation, or of a callback to one."""

    def __init__(
        self,
        callbacks: Callbacks,
        devices: list[torch.device],
        work: "HFReduceWork | None" = None,
    ) -> None:
        """Make one that is not complete."""
        super().__init__(devices=list(devices))
        self._callbacks = callbacks
        self._devices = devices
        self._work = work

    def wait(self) -> Any:
        """Wait for the value.

        Raises:
            HFReduceError: the job cannot go on, or a callback waits for one that comes after it.
        """
        if self._work is not None and not self._devices:
            self._work.wait()
            return self._work.tensors
        if not super().done() and self._callbacks.runs_here():
            raise HFReduceError(
                "a callback waits for another one of its group that runs after it, and would wait"
                " for ever; wait for the operation (work.wait()), or chain with then()"
            )
        return super().wait()

    def done(self) -> bool:
        """Whether the value is there."""
        if self._work is not None and not self._devices:
            return self._work.is_completed()
        return super().done()

    def value(self) -> Any:
        """Return the value, which is there."""
        return self.wait() if self.done() else super().value()

    def then(self, callback: Callable[[Any], Any]) -> Any:
        """Run a callback with this future once it is complete; returns the future of its value."""
        following = HFReduceFuture(self._callbacks, self._devices)

        def run(_: Any) -> None:
            try:
                following.set_result(callback(self))
            except Exception as error:
                following.set_exception(error)

        def run_in_turn() -> None:
            if self._devices:  # torch sets the streams that follow on the result's
                super(HFReduceFuture, self).add_done_callback(run)
                return
            if self._work is not None:
                with contextlib.suppress(RuntimeError):  # the callback's own wait() raises it
                    self._work.wait()
            run(self)

        self._callbacks.submit(run_in_turn)
        return following

    def add_done_callback(self, callback: Callable[[Any], None]) -> None:
        """Run a callback with this future once it is complete."""
        self.then(callback)


class HFReduceWork(TorchWork):
    """An operation of a group."""

    _ended = False
    _failure: Optional[RuntimeError] = None  # noqa: UP045 - as torch's
    _future: Optional[HFReduceFuture] = None  # noqa: UP045

    def __init__(
        self,
        callbacks: Callbacks,
        timeout_s: float,
        tensors: list[torch.Tensor],
        staged: list[torch.Tensor],
        pending: list[Pending],
        copied: bool,
    ) -> None:
        """Keep what wait() waits for, and the memory that it works on.

        Args:
            callbacks: of the group.
            timeout_s: of an operation that names none.
            tensors: the caller's.
            staged: what is worked on in their place, each one itself or a copy.
            pending: the operations.
            copied: whether one of them works on a copy.
        """
        TorchWork.__init__(self)
        self.tensors = tensors
        self._callbacks = callbacks
        self._timeout_s = timeout_s
        self._staged = staged
        self._pending = pending
        self._copied = copied
        self._devices: list[torch.device] = []
        for each in tensors:
            if each.is_cuda:
                self._devices.append(each.device)
        if self._devices:
            self.get_future()

    def wait(self, timeout: Optional[timedelta] = None) -> bool:  # noqa: UP045 - as torch's
        """Wait for the end.

        Args:
            timeout: after which the job is ended on every rank; the group's by default.

        Raises:
            HFReduceError: the job cannot go on.
        """
        if self._future is not None and self._devices:
            torch.futures.Future.wait(self._future)
        elif not self._ended:
            self._end(timeout.total_seconds() if timeout else 0.0)
        if self._failure is not None:
            raise self._failure
        return True

    def _end(self, timeout_s: float) -> None:
        try:
            for each in self._pending:  # any number of threads may wait for one
                each.wait(timeout_s or self._timeout_s)
        except RuntimeError as error:  # HFReduceError is one
            self._failure = error
        if self._copied:
            with self._callbacks.lock:
                if not self._ended and self._failure is None:
                    for tensor, staged in zip(self.tensors, self._staged, strict=True):
                        if staged is not tensor:
                            tensor.detach().copy_(staged)
                self._ended = True
        self._ended = True

    def is_completed(self) -> bool:
        """Whether it has ended, well or not."""
        if self._devices and self._future is not None:
            return bool(torch.futures.Future.done(self._future))
        if not self._ended:
            try:
                if not all(each.done() for each in self._pending):
                    return False
            except RuntimeError as error:
                self._failure = error
            self._end(0.0)
        return True

    def is_success(self) -> bool:
        """Whether it has ended well."""
        return self.is_completed() and self._failure is None

    def exception(self) -> Optional[RuntimeError]:  # noqa: UP045
        """Return why it failed, None if it did not."""
        return self._failure

    def result(self) -> list[torch.Tensor]:
        """Return the tensors, once it has ended."""
        self.wait()
        return self.tensors

    def synchronize(self) -> None:
        """As wait()."""
        self.wait()

    def get_future(self) -> torch.futures.Future[Any]:
        """Return a future of the tensors."""
        with self._callbacks.lock:
            if self._future is None:
                devices = sorted(set(self._devices), key=str)
                self._future = HFReduceFuture(self._callbacks, devices, self)
                self._callbacks.submit(self._complete)
        return self._future

    def _complete(self) -> None:
        future = self._future
        assert future is not None
        if not self._devices:
            with contextlib.suppress(RuntimeError):
                self.wait()
        else:
            self._end_on_streams()
        if self._failure is None and not self._devices:
            torch.futures.Future.set_result(future, self.tensors)
        elif self._failure is not None:
            future.set_exception(self._failure)

    def _end_on_streams(self) -> None:
        """Have side streams wait for the result; the future waits for these in the end."""
        assert self._future is not None
        try:
            with contextlib.ExitStack() as streams:
                for device in {each.index for each in self._devices}:
                    streams.enter_context(torch.cuda.stream(_side_stream(device)))
                for work, tensor, each in zip(
                    self._pending, self.tensors, self._staged, strict=True
                ):
                    _end_on_stream(work, tensor, each, self._timeout_s)
                self._future.set_result(self.tensors)
        except RuntimeError as error:
            self._failure = error
        self._ended = True


def _end_on_stream(
    work: Pending, tensor: torch.Tensor, staged: torch.Tensor, timeout_s: float
) -> None:
    """Have this thread, or for a GPU its current stream, wait for the result."""
    if not staged.is_cuda:
        work.wait(timeout_s)
    else:
        stream = torch.cuda.current_stream(staged.device)
        work.wait_stream(stream.cuda_stream, timeout_s)
        staged.record_stream(stream)
    if staged.data_ptr() != tensor.data_ptr():
        tensor.detach().copy_(staged)


@cache
def _side_stream(device: int) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)
