"""What this machine lets an allreduce reach, measured where no profile says it."""

from __future__ import annotations

import multiprocessing
import os
import time

import numpy as np

from hfreduce.bench.runs import Layout
from hfreduce.bound import Bound, bound
from hfreduce.node_profile import Nic, NodeProfile
from hfreduce.settings import node_profile

_ARRAY_BYTES = 256 << 20
_PASSES = 4


def memory_gbytes_per_s() -> float:
    """Return what all processors together read and write when they copy, in GB/s."""
    context = multiprocessing.get_context("fork")
    processors = len(os.sched_getaffinity(0))
    with context.Pool(processors) as pool:
        return float(sum(pool.map(_copy, range(processors), chunksize=1)))


def _copy(_: int) -> float:
    source = np.ones(_ARRAY_BYTES // 8)
    target = np.zeros_like(source)
    started_s = time.perf_counter()
    for _ in range(_PASSES):
        np.copyto(target, source)
    return 2 * _PASSES * _ARRAY_BYTES / (time.perf_counter() - started_s) / 1e9


def bound_of(layout: Layout, memory: float) -> Bound:
    """Return the limits of a layout: the node's profile, or its memory and the given link.

    The nodes of one machine share its memory.
    """
    known = node_profile() if layout.nodes == 1 else None
    if known is None:
        nics = (Nic(gbit_per_s=layout.link_gbps, numa=0, root_port=0),) if layout.link_gbps else ()
        known = NodeProfile(
            name="this machine", nics=nics, memory_gbytes_per_s=memory / layout.nodes
        )
    return bound(known, nodes=layout.nodes, ranks=layout.ranks_per_node, on_gpus=False)
