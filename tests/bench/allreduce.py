"""HFReduce against Gloo and Open MPI: `python -m tests.bench.allreduce [ARGUMENTS...]`.

Runs hfreduce.bench, whose arguments it takes, in .venv-stack, where torch is. Prints figures,
ratios and the goals; asserts nothing. The layout of several nodes needs root.
"""

from __future__ import annotations

import subprocess
import sys

from tests.bench.measure import load
from tests.conftest import REPO

GOALS = (
    "goals: at least 2 times Gloo from 16 MiB on, at least 80% of the link between nodes, and"
    " nowhere less than 0.90 times the better of the two"
)


def main(arguments: list[str]) -> int:
    """Run the comparison."""
    print(load(), flush=True)
    python = REPO / ".venv-stack/bin/python"
    if not python.exists():
        print("tests.bench.allreduce: run scripts/setup-stack first", file=sys.stderr)
        return 2
    command = [str(python), "-m", "hfreduce.bench", "--plot", "build/hfreduce-bench.svg"]
    done = subprocess.run([*command, *arguments], cwd=REPO, check=False)
    print(GOALS)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
