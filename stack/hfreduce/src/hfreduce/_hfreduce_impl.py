"""The low-level calls that the paper's benchmark makes, over Communicator.

    reducer = AsyncReduceFloat(host, port, device, proc_rank, nprocs, node_rank, nnodes, 1, "any")
    reducer.register_float_tensor("weight", weight.numel())
    reducer.set_fused_dest(sums.data_ptr())     # of reducer.total_tensor_floats() floats
    reducer.async_reduce(stream, "weight", gradient.data_ptr(), gradient.numel())
    reducer.synchronize(stream)                 # ["weight"]

Names and order of arguments are the published ones; what they mean is read off their use there.
Memory comes as bare addresses: it must stay where it is until synchronize() returned.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from hfreduce.communicator import Communicator, Work
from hfreduce.errors import HFReduceError
from hfreduce.settings import JobSettings, job_secret

_FLOAT_BYTES = 4


@dataclass(frozen=True, slots=True)
class _Floats:
    """Memory known by its address, as buffers.Tensor."""

    pointer: int
    count: int
    device: str
    dtype: str = "float32"

    def data_ptr(self) -> int:
        return self.pointer

    def numel(self) -> int:
        return self.count

    def is_contiguous(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class _Registered:
    """A tensor's place among the sums."""

    first: int
    count: int


class AsyncReduceFloat:
    """Sums of float32 tensors over all processes of a job, several under way at once.

    Every process registers the same tensors and reduces them in the same order.
    """

    def __init__(
        self,
        host: str,
        port: int,
        device: int | str,
        proc_rank: int,
        nprocs: int,
        node_rank: int,
        nnodes: int,
        num_params: int,
        reducer_id: str,
    ) -> None:
        """Find the other processes.

        Args:
            host: where the first process of the first node listens.
            port: the same; the published benchmark gives MASTER_PORT + 5.
            device: number of the GPU that all addresses are of; `cpu`, or less than 0, is the host.
            proc_rank: which of the node's processes this is.
            nprocs: processes of each node.
            node_rank: which node this is.
            nnodes: nodes of the job.
            num_params: how many tensors will be registered.
            reducer_id: this process's name for the reducer. Those of the published benchmark draw
                one each, so that nothing can hang on it.

        Raises:
            HFReduceError: as Communicator; several nodes need HFREDUCE_SECRET_FILE.
        """
        on_host = device == "cpu" or (isinstance(device, int) and device < 0)
        self._device = "cpu" if on_host else f"cuda:{device}"
        self._num_params = num_params
        self._tensors: dict[str, _Registered] = {}
        self._total = 0
        self._fused_dest = 0
        self._pending: dict[str, Work] = {}
        self._job = Communicator(
            JobSettings(
                rank=node_rank * nprocs + proc_rank,
                world_size=nnodes * nprocs,
                local_rank=proc_rank,
                local_size=nprocs,
                host=host,
                port=port,
                secret=job_secret(os.environ),
            )
        )

    def register_float_tensor(self, name: str, numel: int) -> None:
        """Announce a tensor; its sum lies behind those of the tensors before it, without a gap.

        Raises:
            HFReduceError: there are more than num_params, or the name is taken.
        """
        if name in self._tensors:
            raise HFReduceError(f"{name} is registered already")
        if len(self._tensors) == self._num_params:
            raise HFReduceError(f"{name} is one more than the {self._num_params} of num_params")
        self._tensors[name] = _Registered(self._total, numel)
        self._total += numel

    def total_tensor_floats(self) -> int:
        """Return the elements of all registered tensors together."""
        return self._total

    def set_fused_dest(self, ptr: int) -> None:
        """Say where the sums go: total_tensor_floats() floats, until this is called again.

        Without it each sum goes where its tensor is.
        """
        self._fused_dest = ptr

    def async_reduce(self, cuda_stream: int, name: str, data_ptr: int, numel: int) -> None:
        """Start to add up a tensor.

        Args:
            cuda_stream: on which the tensor was computed; of no matter on the host.
            name: the one that it was registered with.
            data_ptr: where it lies.
            numel: its elements, as registered.

        Raises:
            HFReduceError: it was not registered like that, is under way, or the job cannot go on.
        """
        place = self._tensors.get(name)
        if place is None:
            raise HFReduceError(f"{name} is not registered")
        if len(self._tensors) < self._num_params:
            raise HFReduceError(
                f"{len(self._tensors)} tensors are registered, and num_params is"
                f" {self._num_params}; register all before the first is reduced"
            )
        if numel != place.count:
            raise HFReduceError(f"{name} has {numel} elements, and {place.count} are registered")
        if name in self._pending:
            raise HFReduceError(f"{name} is under way; call synchronize() before it is given again")
        target = self._fused_dest + place.first * _FLOAT_BYTES if self._fused_dest else data_ptr
        self._pending[name] = self._start(cuda_stream, name, data_ptr, target, numel)

    def synchronize(self, cuda_stream: int) -> list[str]:
        """Wait for all that was started; return the names in that order.

        Args:
            cuda_stream: on which the sums will be used; of no matter on the host.

        Raises:
            HFReduceError: the job cannot go on.
        """
        pending, self._pending = self._pending, {}
        for work in pending.values():
            work.wait()
        return list(pending)

    def _start(self, cuda_stream: int, name: str, source: int, target: int, count: int) -> Work:
        """Hand memory to the communicator; nothing else here touches what an address points to."""
        return self._job.allreduce(
            _Floats(source, count, self._device),
            out=_Floats(target, count, self._device),
            name=name,
            wait=False,
            stream=cuda_stream,
        )
