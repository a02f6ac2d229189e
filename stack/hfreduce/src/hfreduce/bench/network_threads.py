"""What network threads cost and bring: `python -m hfreduce.bench.network_threads [--nodes 4]`.

Prints what one core, and several at a time, read and write when they add three float32 inputs; of
one core it is `add_gbytes_per_s` of a node's profile. And, by number of network threads, the rate
of an allreduce, and how much data these threads served for a second on a processor, at the node
where that is least. Nodes are network namespaces of this machine, over whose links messages go by
TCP: what the kernel does for it is the threads' own time. With --shared-memory UCX moves messages
between nodes as between processes: the nearest to an RDMA adapter that a machine without one has.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np

from hfreduce import _core
from hfreduce.bench.nodes import Nodes, unusable
from hfreduce.bench.runs import Layout, RunError, measure

_CHUNK_BYTES = 512 << 10
_SLOTS = 64
"""Chunks in turn, so that inputs are not in the core's own caches."""
_INPUTS = 3
_TRIES = 7


def add_gbytes_per_s(slots: int = _SLOTS, threads: int = 1) -> float:
    """Return what threads together read and write when they add chunks, in GB/s; the best of tries.

    Args:
        slots: chunks of each thread that are added in turn.
        threads: that add at a time, chunks of their own.
    """
    with ThreadPoolExecutor(threads) as pool:
        each = [pool.submit(_add_seconds, slots) for _ in range(threads)]
        times_s = [future.result() for future in each]
    return sum((_INPUTS + 1) * slots * _CHUNK_BYTES / time_s / 1e9 for time_s in times_s)


def _add_seconds(slots: int) -> float:
    elements = _CHUNK_BYTES // 4
    inputs = [np.ones((slots, elements), np.float32) for _ in range(_INPUTS)]
    out = np.zeros((slots, elements), np.float32)
    places = [([each[slot].ctypes.data for each in inputs], out[slot].ctypes.data)
              for slot in range(slots)]  # fmt: skip
    best_s = float("inf")
    for _ in range(_TRIES):
        started_s = time.perf_counter()
        for given, taken in places:
            _core.reduce(_core.Dtype.float32, _core.Op.sum, given, taken, elements)
        best_s = min(best_s, time.perf_counter() - started_s)
    return best_s


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0, or 1 if a run failed, 2 if what is asked for cannot be."""
    parser = argparse.ArgumentParser(
        prog="python -m hfreduce.bench.network_threads", description=__doc__
    )
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--ranks-per-node", type=int, default=1)
    parser.add_argument("--shared-memory", action="store_true", help="no links, and no TCP")
    parser.add_argument("--link-gbps", type=float, default=10.0, help="of each node's link")
    parser.add_argument("--bytes", type=int, nargs="+", default=[1 << 20, 64 << 20])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--rounds", type=int, default=3)
    said = parser.parse_args(argv)
    if not said.shared_memory and (why := unusable()):
        parser.error(f"{why}; try --shared-memory")
    if said.nodes < 2 or said.rounds < 1:
        parser.error("--nodes is at least 2 and --rounds at least 1")
    print(f"GB/s read and written by cores that add {_INPUTS} float32 inputs:")
    for threads in range(1, len(os.sched_getaffinity(0)) + 1):
        print(f"{threads:>3} at a time: {add_gbytes_per_s(threads=threads):6.1f};"
              f" the same chunk again and again {add_gbytes_per_s(1, threads):6.1f}")  # fmt: skip
    linked = not said.shared_memory
    layout = Layout(said.nodes, said.ranks_per_node, said.link_gbps)
    try:
        with Nodes(said.nodes, link_gbps=said.link_gbps) if linked else nullcontext() as nodes:
            _table(layout, nodes, said)
    except (RunError, OSError) as error:
        print(f"hfreduce.bench.network_threads: {error}", file=sys.stderr)
        return 1
    return 0


def _table(layout: Layout, nodes: Nodes | None, said: argparse.Namespace) -> None:
    measured: dict[int, list[dict[int, dict[str, float]]]] = {each: [] for each in said.threads}
    for _ in range(said.rounds):  # in turns: what else runs changes
        for threads, results in measured.items():
            os.environ["HFREDUCE_NETWORK_THREADS"] = str(threads)
            results.append(measure("hfreduce", layout, nodes, said.bytes, 0.5))
    print(f"{'threads':>7} {'bytes':>11} {'rate':>11} {'GB of data a thread-second':>27}")
    for threads, results in measured.items():
        for size in said.bytes:
            once_s = statistics.median(each[size]["seconds"] for each in results)
            cpu_s = statistics.median(each[size]["network_cpu_seconds"] for each in results)
            print(f"{threads:>7} {size:>11,} {size * 8 / once_s / 1e9:>6.2f} Gb/s"
                  f" {size / cpu_s / 1e9:>27.2f}")  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
