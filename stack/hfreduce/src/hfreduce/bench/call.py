"""What torch's names cost above a bare call: `python -m hfreduce.bench.call [--bytes 1024]`.

One rank by itself, so that nothing is waited for and the calls alone are measured. They take
turns; of each, the quickest of many rounds counts, as whatever else runs only adds.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence

ROUNDS = 200
CALLS = 100
"""In a round."""


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0, or 2 where torch is missing."""
    parser = argparse.ArgumentParser(prog="python -m hfreduce.bench.call", description=__doc__)
    parser.add_argument("--bytes", type=int, default=1024)
    size = parser.parse_args(argv).bytes
    os.environ |= {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
    try:
        import torch
        import torch.distributed as dist
        from torch._C._distributed_c10d import HashStore
    except ImportError:
        print("hfreduce.bench.call: torch is missing; pip install torch", file=sys.stderr)
        return 2
    from hfreduce.torch import HFReduceGroup

    dist.init_process_group("hfreduce", store=HashStore(), rank=0, world_size=1)
    group = dist.group.WORLD
    assert isinstance(group, HFReduceGroup)
    gloo = dist.new_group(backend="gloo")
    tensor, options = torch.ones(max(1, size // 4)), dist.AllreduceOptions()
    options.asyncOp = False
    calls: dict[str, Callable[[], object]] = {
        "Communicator.allreduce": lambda: group.communicator.allreduce(tensor),
        "the group's allreduce": lambda: group.allreduce([tensor], options).wait(),
        "dist.all_reduce": lambda: dist.all_reduce(tensor),
        "dist.all_reduce, Gloo": lambda: dist.all_reduce(tensor, group=gloo),
    }
    times = _quickest(calls)
    bare = next(iter(times.values()))
    print(f"{'call':24}{'us':>8}{'times':>8}")
    for name, seconds in times.items():
        print(f"{name:24}{1e6 * seconds:>8.2f}{seconds / bare:>8.2f}")
    dist.destroy_process_group()
    return 0


def _quickest(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return the seconds that each call takes."""
    found = dict.fromkeys(calls, float("inf"))
    for _ in range(ROUNDS):
        for name, call in calls.items():
            begun = time.perf_counter()
            for _ in range(CALLS):
                call()
            found[name] = min(found[name], (time.perf_counter() - begun) / CALLS)
    return found


if __name__ == "__main__":
    sys.exit(main())
