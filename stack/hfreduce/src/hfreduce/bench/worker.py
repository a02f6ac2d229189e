"""One rank of a measurement: `python -m hfreduce.bench.worker LIBRARY ... `.

Rank 0 prints a JSON object a size: `bytes`, and of one allreduce `seconds` on the slowest rank and
`network_cpu_seconds`, what HFReduce's network threads were on a processor, at the node where
that is most.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from hfreduce.bench.libraries import NAMES, Library, library, slowest

RECIPE_TENSORS = 46
RECIPE_ELEMENTS = 1024 * 1024
RECIPE_BYTES = RECIPE_TENSORS * RECIPE_ELEMENTS * 4
"""Of the published benchmark: 46 layers of 1024 x 1024 in fp32, each reduced by itself."""
_MOST_TIMES = 100_000


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the sizes in turn."""
    parser = argparse.ArgumentParser(prog="python -m hfreduce.bench.worker", description=__doc__)
    parser.add_argument("library", choices=NAMES)
    parser.add_argument("--bytes", type=int, nargs="+", required=True)
    parser.add_argument("--seconds", type=float, default=0.3, help="to spend on a size")
    said = parser.parse_args(argv)
    try:
        _measure(library(said.library), said.bytes, said.seconds)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _measure(job: Library, sizes: Sequence[int], seconds: float) -> None:
    for size_bytes in sizes:
        if size_bytes == RECIPE_BYTES:
            once, network = _recipe(job, seconds)
        else:
            once, network = _whole(job, size_bytes, seconds)
        if job.rank == 0:
            line = {"bytes": size_bytes, "seconds": once, "network_cpu_seconds": network}
            print(json.dumps(line), flush=True)
    job.close()


def _whole(job: Library, size_bytes: int, seconds: float) -> tuple[float, float]:
    array = np.zeros(size_bytes // 4, np.float32)
    return _time(job, lambda: job.allreduce(array), seconds)


def _recipe(job: Library, seconds: float) -> tuple[float, float]:
    arrays = [np.zeros(RECIPE_ELEMENTS, np.float32) for _ in range(RECIPE_TENSORS)]

    def step() -> None:
        for wait in [job.start(array) for array in arrays]:
            wait()

    return _time(job, step, seconds)


def _time(job: Library, step: Callable[[], None], seconds: float) -> tuple[float, float]:
    """Return the time of one step: see the module.

    As many count as take at least half of `seconds` together: what a few took says little of the
    rest where ranks share processors.
    """
    step()
    times = 2
    while True:
        once_s, network_s = _repeat(job, step, times)
        if times == _MOST_TIMES or once_s * times >= seconds / 2:
            return once_s, network_s
        times = round(min(_MOST_TIMES, max(2 * times, seconds / max(once_s, 1e-6))))


def _repeat(job: Library, step: Callable[[], None], times: int) -> tuple[float, float]:
    began_s = _network_cpu_s()  # before the barrier: ranks that read it after begin out of step
    job.barrier()
    started_s = time.perf_counter()
    for _ in range(times):
        step()
    once_s = (time.perf_counter() - started_s) / times
    network_s = (_network_cpu_s() - began_s) / times
    return slowest(job, once_s), slowest(job, network_s)


def _network_cpu_s() -> float:
    """Return how long this process's network threads have been on a processor."""
    ran_ns = 0
    for task in Path("/proc/self/task").iterdir():
        if (task / "comm").read_text().startswith(("hfreduce-up", "hfreduce-dn")):
            ran_ns += int((task / "schedstat").read_text().split()[0])
    return ran_ns / 1e9


if __name__ == "__main__":
    sys.exit(main())
