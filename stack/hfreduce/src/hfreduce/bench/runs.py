"""Runs of one library on one layout of ranks."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hfreduce.bench.nodes import DEVICE, NETWORK, Nodes, address

LIMIT_S = 900.0
Times: TypeAlias = dict[int, float]
"""Seconds of one allreduce, by its bytes."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where ranks are."""

    nodes: int
    ranks_per_node: int
    link_gbps: float | None = None
    """Of a node's link, each way; None where there is but one node."""

    @property
    def ranks(self) -> int:
        """All of them."""
        return self.nodes * self.ranks_per_node


class RunError(RuntimeError):
    """A run that gave no figures; the message says what the processes said."""


def run(
    library: str, layout: Layout, nodes: Nodes | None, sizes: Sequence[int], seconds: float
) -> Times:
    """Measure a library.

    Args:
        library: one of libraries.NAMES.
        layout: of the ranks.
        nodes: that were made for the layout; without, several share this machine's memory.
        sizes: in bytes.
        seconds: to spend on each.

    Raises:
        RunError: a process failed, or took more than LIMIT_S.
    """
    measured = measure(library, layout, nodes, sizes, seconds)
    return {size: line["seconds"] for size, line in measured.items()}


def measure(
    library: str, layout: Layout, nodes: Nodes | None, sizes: Sequence[int], seconds: float
) -> dict[int, dict[str, float]]:
    """Return all that the worker prints of each size; arguments and errors as run()."""
    worker = [sys.executable, "-m", "hfreduce.bench.worker", library, "--bytes",
              *map(str, sizes), "--seconds", str(seconds)]  # fmt: skip
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HFREDUCE_SECRET": secrets.token_hex(16)}
    if nodes is not None:
        # On one machine UCX would find shared memory between the nodes too.
        environment |= {"UCX_TLS": "tcp", "UCX_NET_DEVICES": DEVICE, "GLOO_SOCKET_IFNAME": DEVICE}
    if library == "mpi":
        commands = [_mpirun(layout, nodes, worker)]
    elif nodes is None:
        port = _free_port()
        commands = [
            _launch(layout, node, "127.0.0.1", port, worker) for node in range(layout.nodes)
        ]
    else:
        commands = [
            nodes.command(node, _launch(layout, node, address(0), 29500, worker))
            for node in range(layout.nodes)
        ]
    return _times(library, commands, environment, sizes)


def _launch(layout: Layout, node: int, host: str, port: int, worker: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "hfreduce.launch", "--nodes", str(layout.nodes),
            "--node-rank", str(node), "--ranks-per-node", str(layout.ranks_per_node),
            "--host", host, "--port", str(port), "--", *worker]  # fmt: skip


def _mpirun(layout: Layout, nodes: Nodes | None, worker: Sequence[str]) -> list[str]:
    """Open MPI over TCP and shared memory, whose ranks leave the processor to others."""
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(layout.ranks),
               "--bind-to", "none",
               "--mca", "pml", "ob1", "--mca", "btl", "self,vader,tcp"]  # fmt: skip
    if nodes is None:
        return [*command, *worker]
    hosts = ",".join(f"{address(node)}:{layout.ranks_per_node}" for node in range(layout.nodes))
    holders = ",".join(map(str, nodes.holders()))
    agent = f"{sys.executable} -m hfreduce.bench.nodes {holders}"
    inside = f"{NETWORK}.0/24"
    command += ["-H", hosts, "--mca", "plm_rsh_agent", agent, "--mca", "btl_tcp_if_include", inside,
                "--mca", "oob_tcp_if_include", inside]  # fmt: skip
    return nodes.command(0, [*command, *worker])


def _times(
    library: str,
    commands: Sequence[Sequence[str]],
    environment: dict[str, str],
    sizes: Sequence[int],
) -> dict[int, dict[str, float]]:
    running = [
        subprocess.Popen(  # noqa: S603
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for command in commands
    ]
    limit_s = time.monotonic() + LIMIT_S
    said = []
    try:
        for process in running:
            said.append(process.communicate(timeout=max(1.0, limit_s - time.monotonic())))
    except subprocess.TimeoutExpired:
        raise RunError(f"{library} did not end within {LIMIT_S:g} s") from None
    finally:
        for process in running:
            if process.poll() is None:
                process.terminate()
                process.wait()
    lines = [json.loads(line) for out, _ in said for line in out.splitlines() if line[:1] == "{"]
    found = {int(line["bytes"]): line for line in lines}
    if any(process.returncode for process in running) or set(found) != set(sizes):
        errors = dict.fromkeys(err.strip().splitlines()[-1] for _, err in said if err.strip())
        raise RunError(f"{library} failed: {' | '.join(errors) or 'it said nothing'}")
    return found


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1]) - 5
