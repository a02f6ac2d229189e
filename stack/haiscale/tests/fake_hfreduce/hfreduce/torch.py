"""The two things that haiscale takes from `hfreduce.torch`, over gloo."""

from __future__ import annotations

from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import (
    allreduce_hook as averaging,
)

EVENTS: list[str] = []
"""A "bucket" for every one that came by; others may add theirs."""


def _create(store: dist.Store, rank: int, size: int, timeout: timedelta) -> dist.ProcessGroup:
    return dist.ProcessGroupGloo(store, rank, size, timeout)


dist.Backend.register_backend("hfreduce", _create, devices=["cpu"])


def allreduce_hook(group, bucket):  # type: ignore[no-untyped-def] # torch reads annotations
    assert dist.get_backend(group) == "hfreduce"
    EVENTS.append("bucket")
    future: torch.futures.Future[torch.Tensor] = averaging(group, bucket)
    return future
