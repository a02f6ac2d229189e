"""DistributedDataParallel over HFReduce and over Gloo: `python -m tests.bench.ddp [ARGUMENTS...]`.

Runs haiscale's bench_ddp.py, whose arguments it takes, under torchrun in .venv-stack, where torch
is. Prints the times of a step and their ratio; asserts nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys

from tests.bench.measure import load
from tests.conftest import REPO

RANKS = 2
MODELS = ("gpt", "cnn", "linear")
GOAL = "goal: a ratio of at least 1, DistributedDataParallel over HFReduce no slower than over Gloo"


def main(arguments: list[str]) -> int:
    """Run the comparison."""
    print(load(), file=sys.stderr)
    python = REPO / ".venv-stack/bin/python"
    if not python.exists():
        print("tests.bench.ddp: run scripts/setup-stack first", file=sys.stderr)
        return 2
    command = [str(python), "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc-per-node={RANKS}", "stack/haiscale/examples/bench_ddp.py"]
    done = subprocess.run(
        [*command, "--models", *MODELS, *arguments],
        cwd=REPO,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )
    print(GOAL, file=sys.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
