"""An allreduce whose result every rank checks: `python -m hfreduce.check [--json]`.

Run it on every rank, as by hfreduce.launch. Rank 0 prints the rate, the size of the array over
the time of one allreduce, and the bound that follows from the node's profile.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from hfreduce.bound import bound
from hfreduce.communicator import Communicator
from hfreduce.errors import HFReduceError
from hfreduce.node_profile import ProfileError
from hfreduce.settings import node_profile

_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_PERIOD = 61
"""Of the values: so small that every sum of them is exact, in every type."""


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0 if every result was right, 1 if one was not or the job failed."""
    parser = argparse.ArgumentParser(prog="python -m hfreduce.check", description=__doc__)
    parser.add_argument("--bytes", type=_bytes, default=64 << 20, help="such as 64M")
    parser.add_argument("--dtype", choices=("float32", "float64", "int32"), default="float32")
    parser.add_argument("--repeat", type=int, default=5, help="of which the median is told")
    parser.add_argument("--json", action="store_true")
    said = parser.parse_args(argv)
    try:
        profile = node_profile()
        with Communicator() as job:
            result = measure(job, said.bytes, said.dtype, said.repeat)
            if job.rank:
                return 0
    except (HFReduceError, ProfileError) as error:
        print(f"hfreduce.check: {error}", file=sys.stderr)
        return 1
    found = bound(profile, nodes=result["nodes"]) if profile else None
    limit = found.binding if found else None
    result["bound_gbytes_per_s"] = limit.gbytes_per_s if limit else None
    result["limit"] = limit.name if limit else None
    if said.json:
        print(json.dumps(result))
        return 0
    share = f", {result['gbytes_per_s'] / limit.gbytes_per_s:.0%} of the bound" if limit else ""
    print(
        f"{result['nodes']} nodes x {result['ranks_per_node']} ranks, {result['bytes']:,} bytes of"
        f" {result['dtype']}: {result['gbytes_per_s']:.2f} GB/s{share}, every result right"
    )
    return 0


def measure(job: Communicator, size_bytes: int, dtype: str, repeat: int) -> dict[str, Any]:
    """Do and check allreduces; every rank gets the same.

    Returns:
        ranks_per_node, nodes, bytes, dtype, gbytes_per_s (10^9) and correct.

    Raises:
        HFReduceError: a result was wrong, on this rank.
    """
    kind = np.dtype(dtype)
    base = np.arange(size_bytes // kind.itemsize, dtype=np.int64) % _PERIOD
    given = (base + job.rank).astype(kind)
    world = job.world_size
    wanted = (base * world + world * (world - 1) // 2).astype(kind)
    taken = np.empty_like(given)
    times_s = []
    for _ in range(repeat + 1):
        taken.fill(0)
        job.barrier()
        started_s = time.perf_counter()
        job.allreduce(given, out=taken)
        times_s.append(time.perf_counter() - started_s)
        wrong = np.flatnonzero(taken != wanted)
        if wrong.size:
            at = int(wrong[0])
            raise HFReduceError(
                f"rank {job.rank} got {wrong.size} wrong elements of {taken.size}, the first at"
                f" {at}: {taken[at]} and not {wanted[at]}"
            )
    slowest = np.array([sorted(times_s[1:])[repeat // 2]])
    job.allreduce(slowest, "max")
    return {
        "ranks_per_node": job.job.local_size,
        "nodes": max(1, world // job.job.local_size),
        "bytes": int(given.nbytes),
        "dtype": dtype,
        "gbytes_per_s": given.nbytes / float(slowest[0]) / 1e9,
        "correct": True,
    }


def _bytes(text: str) -> int:
    unit = _UNITS.get(text[-1:].upper(), 1)
    try:
        return int(text[:-1] if unit > 1 else text) * unit
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is no size; write 64M") from None


if __name__ == "__main__":
    sys.exit(main())
