"""The libraries that are compared, behind one face: a rank's part of each."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

NAMES = ("hfreduce", "gloo", "mpi")


class Library(Protocol):
    """What the comparison needs of a library; arrays are numpy's, results go in place."""

    rank: int

    def allreduce(self, array: Any) -> None:
        """Add up the ranks' arrays."""

    def start(self, array: Any) -> Callable[[], None]:
        """Begin to; what is returned waits for the end."""

    def barrier(self) -> None:
        """Wait for all ranks."""

    def close(self) -> None:
        """Leave."""


def slowest(library: Library, seconds: float) -> float:
    """Return the longest of the ranks' times."""
    times = np.zeros(256)
    times[library.rank] = seconds
    library.allreduce(times)
    return float(times.max())


def missing(name: str) -> str:
    """Return what a library lacks here to be measured; nothing if it is there."""
    if name == "gloo" and importlib.util.find_spec("torch") is None:
        return "torch is not installed"
    if name == "mpi" and shutil.which("mpirun") is None:
        return "there is no mpirun; install openmpi-bin"
    if name == "mpi" and importlib.util.find_spec("mpi4py") is None:
        return "mpi4py is not installed"
    return ""


def library(name: str) -> Library:
    """Join the job as a rank of it; the environment says which."""
    known: dict[str, Callable[[], Library]] = {"hfreduce": _HFReduce, "gloo": _Gloo, "mpi": _Mpi}
    return known[name]()


class _HFReduce:
    def __init__(self) -> None:
        from hfreduce.communicator import Communicator

        self._job = Communicator()
        self.rank = self._job.rank

    def allreduce(self, array: Any) -> None:
        self._job.allreduce(array)

    def start(self, array: Any) -> Callable[[], None]:
        return self._job.allreduce(array, wait=False).wait

    def barrier(self) -> None:
        self._job.barrier()

    def close(self) -> None:
        self._job.close()


class _Gloo:
    def __init__(self) -> None:
        import torch
        import torch.distributed as dist

        torch.set_num_threads(1)
        dist.init_process_group("gloo")
        self._torch, self._dist = torch, dist
        self.rank = dist.get_rank()

    def allreduce(self, array: Any) -> None:
        self._dist.all_reduce(self._torch.from_numpy(array))

    def start(self, array: Any) -> Callable[[], None]:
        wait: Callable[[], None] = self._dist.all_reduce(
            self._torch.from_numpy(array), async_op=True
        ).wait
        return wait

    def barrier(self) -> None:
        self._dist.barrier()

    def close(self) -> None:
        self._dist.destroy_process_group()


class _Mpi:
    def __init__(self) -> None:
        from mpi4py import MPI

        self._mpi = MPI
        self._world = MPI.COMM_WORLD
        self.rank = self._world.Get_rank()

    def allreduce(self, array: Any) -> None:
        self._world.Allreduce(self._mpi.IN_PLACE, array)

    def start(self, array: Any) -> Callable[[], None]:
        """One after another: Open MPI's Iallreduce is slower than Allreduce."""
        self.allreduce(array)
        return lambda: None

    def barrier(self) -> None:
        self._world.Barrier()

    def close(self) -> None:
        """mpi4py leaves by itself."""
