"""torch's `hfreduce` backend and a hook for DistributedDataParallel.

    import hfreduce.torch
    dist.init_process_group("hfreduce")
    model.register_comm_hook(None, hfreduce.torch.allreduce_hook)      # None: the default group

all_reduce, reduce, broadcast and barrier are HFReduce's; what it does not have (gathers, sends, a
product, a type that it does not know) goes to Gloo, over the same ranks. `cpu:hfreduce,cuda:nccl`
and the like are what they say. Work on a GPU's tensors
follows torch's current stream, and wait() has the then current stream wait for the result. Where
the CUDA driver cannot be loaded they are copied by the host, without overlap.

Annotations are real ones here: torch reads those of a hook.
"""

import functools
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import GradBucket, Store

from hfreduce import _core
from hfreduce.c10d_group import HFReduceGroup
from hfreduce.c10d_work import HFReduceFuture, HFReduceWork
from hfreduce.errors import HFReduceError
from hfreduce.settings import node_settings

__all__ = [
    "HFReduceFuture", "HFReduceGroup", "HFReduceWork", "allreduce_hook", "set_log_level",
]  # fmt: skip
_LOG_LEVELS = ("trace", "debug", "info", "warn", "error", "fatal")


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


def _create(store: Store, rank: int, size: int, timeout: timedelta) -> dist.ProcessGroup:
    return HFReduceGroup(store, rank, size, timeout)


def _monitored_barrier(torchs: Any) -> Any:
    """Return torch's monitored_barrier() for groups of this backend, too: it asks for Gloo's name.

    Gloo is beside every group here, and names the ranks that did not come.
    """

    @functools.wraps(torchs)
    def monitored_barrier(
        group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False
    ) -> None:
        asked = group if group is not None else dist.group.WORLD
        if not isinstance(asked, HFReduceGroup):
            torchs(group, timeout, wait_all_ranks)
            return
        barrier: Any = getattr(asked, "monitored_barrier")  # noqa: B009 - set for all of _REST
        barrier(timeout, wait_all_ranks=wait_all_ranks)

    return monitored_barrier


node_settings()  # a file that is wrong is said now, not in the first step
dist.Backend.register_backend("hfreduce", _create, devices=["cpu", "cuda"])
dist.monitored_barrier = dist.distributed_c10d.monitored_barrier = _monitored_barrier(
    dist.monitored_barrier
)
