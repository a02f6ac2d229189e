"""Start a command once for each rank of a node: `python -m hfreduce.launch ... -- COMMAND...`.

Every process gets the environment that torchrun gives: RANK, WORLD_SIZE, LOCAL_RANK,
LOCAL_WORLD_SIZE, GROUP_RANK, GROUP_WORLD_SIZE, MASTER_ADDR and MASTER_PORT. When one fails the
others of the node are ended; the exit code is that of the first that failed.

With `--slurm`, started once on each node of a job step: `srun --ntasks-per-node=1 ... --slurm`.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

_GRACE_S = 5.0
_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit code of the first process that failed, or 0."""
    parser = argparse.ArgumentParser(prog="python -m hfreduce.launch", description=__doc__)
    parser.add_argument("--slurm", action="store_true",
                        help="take nodes, node rank and host from the job step")  # fmt: skip
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--node-rank", type=int, default=0)
    parser.add_argument("--ranks-per-node", type=int, required=True)
    parser.add_argument("--host", default="127.0.0.1", help="where rank 0 listens")
    parser.add_argument(
        "--port", type=int, default=29500, help="MASTER_PORT; hfreduce takes it + 5"
    )
    parser.add_argument("--secret-file", help="the job's secret, the same on every node")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    said = parser.parse_args(argv)
    command = said.command[1:] if said.command[:1] == ["--"] else said.command
    if not command:
        parser.error("a command is missing; write it behind --")
    if said.slurm:
        try:
            said.nodes, said.node_rank, said.host = step(os.environ)
        except ValueError as error:
            parser.error(f"--slurm: {error}")
    if said.nodes < 1 or not 0 <= said.node_rank < said.nodes:
        parser.error(f"--node-rank is {said.node_rank}; of {said.nodes} nodes it is 0 to "
                     f"{said.nodes - 1}")  # fmt: skip
    if said.ranks_per_node < 1:
        parser.error(f"--ranks-per-node is {said.ranks_per_node}; it is at least 1")
    secrets = ("HFREDUCE_SECRET", "HFREDUCE_SECRET_FILE")
    if said.nodes > 1 and not (said.secret_file or any(map(os.environ.get, secrets))):
        parser.error("several nodes need --secret-file, HFREDUCE_SECRET_FILE or HFREDUCE_SECRET")
    return _run([_environment(said, local) for local in range(said.ranks_per_node)], command)


def step(environment: Mapping[str, str]) -> tuple[int, int, str]:
    """Return how many nodes a step of Slurm's has, which one this is, and the name of its first.

    Source: https://slurm.schedmd.com/srun.html, output environment variables.

    Raises:
        ValueError: this is no step, or more than one task of it runs on a node.
    """
    try:
        nodes, node = (int(environment[f"SLURM_{key}"]) for key in ("STEP_NUM_NODES", "NODEID"))
        tasks, names = int(environment["SLURM_STEP_NUM_TASKS"]), environment["SLURM_STEP_NODELIST"]
    except (KeyError, ValueError):
        raise ValueError("this is no step of a Slurm job; start it with srun") from None
    if tasks != nodes:
        raise ValueError(f"{tasks} tasks on {nodes} nodes; start it with srun --ntasks-per-node=1")
    first = re.match(r"(?:[^,\[]|\[[^]]*\])*", names)
    return nodes, node, re.sub(r"\[(\w+)[^]]*\]", r"\1", first.group() if first else "")


def _environment(said: argparse.Namespace, local_rank: int) -> dict[str, str]:
    each = said.ranks_per_node
    job = {
        "RANK": said.node_rank * each + local_rank,
        "WORLD_SIZE": said.nodes * each,
        "LOCAL_RANK": local_rank,
        "LOCAL_WORLD_SIZE": each,
        "GROUP_RANK": said.node_rank,
        "GROUP_WORLD_SIZE": said.nodes,
        "MASTER_ADDR": said.host,
        "MASTER_PORT": said.port,
    }
    secret = {"HFREDUCE_SECRET_FILE": said.secret_file} if said.secret_file else {}
    return {**os.environ, **{key: str(value) for key, value in job.items()}, **secret}


def _run(environments: Sequence[dict[str, str]], command: Sequence[str]) -> int:
    def stop(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, stop)
    running = []
    try:
        for environment in environments:
            running.append(
                subprocess.Popen(  # noqa: S603 - the user's own command
                    command, env=environment, preexec_fn=_die_with_parent
                )
            )
        while True:
            codes = [process.poll() for process in running]
            if failed := [code for code in codes if code]:
                time.sleep(0.5)  # the others say what they saw of it
                return failed[0] if failed[0] > 0 else 128 - failed[0]
            if all(code == 0 for code in codes):
                return 0
            time.sleep(0.02)
    except OSError as error:
        print(f"hfreduce.launch: {command[0]}: {error.strerror}", file=sys.stderr)
        return 127
    finally:
        _end(running)


def _end(running: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in running:
        if process.poll() is None:
            process.terminate()
    limit_s = time.monotonic() + _GRACE_S
    for process in running:
        try:
            process.wait(max(0.0, limit_s - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _die_with_parent() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
