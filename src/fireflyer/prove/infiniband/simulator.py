"""A running ibsim, and programs that take it for the fabric."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from fireflyer.errors import OperatingError
from fireflyer.processes import die_with_parent
from fireflyer.prove.infiniband.programs import preload
from fireflyer.prove.programs import program, run

READY = b"simulator ready"
START_TIMEOUT_S = 60
ROOM = ("-N", "65536", "-S", "8192", "-P", "524288", "-L", "49151")
"""Nodes, switches, ports and forwarding entries that ibsim makes room for."""


@dataclass(frozen=True, slots=True)
class Simulator:
    """An ibsim, seen from one host's adapter."""

    name: str
    host: str
    """Description of the adapter that programs attach to, such as `mg01 mlx5_0`."""
    folder: Path

    def environment(self) -> Mapping[str, str]:
        """Return the environment of a program that shall see the simulated fabric."""
        return {
            **os.environ,
            "IBSIM_SOCKNAME": self.name,
            "SIM_HOST": self.host,
            "LD_PRELOAD": str(preload()),
            "OSM_CACHE_DIR": str(self.folder),
            "OSM_TMP_DIR": str(self.folder),
        }

    def run(
        self, *command: str, timeout_s: float = 120, check: bool = True, stdin: str = ""
    ) -> str:
        """Run a program on the fabric and return what it printed.

        Raises:
            OperatingError: it failed or ran out of time.
        """
        return run(
            *command,
            timeout_s=timeout_s,
            check=check,
            stdin=stdin,
            environment=self.environment(),
            folder=self.folder,
        ).stdout


def view(simulator: Simulator, host: str, folder: Path) -> Simulator:
    """Return the simulator as another host's adapter sees it, with a folder of its own."""
    folder.mkdir()
    return replace(simulator, host=host, folder=folder)


@contextmanager
def simulator(netfile: Path, host: str, folder: Path) -> Iterator[Simulator]:
    """Run ibsim on a netfile; it ends with the block.

    Raises:
        OperatingError: ibsim refused the netfile.
    """
    name = f"fireflyer-{os.getpid()}-{time.monotonic_ns()}"
    environment = {**os.environ, "IBSIM_SOCKNAME": name}
    process = subprocess.Popen(  # noqa: S603 - our own program
        [program("stdbuf"), "-oL", program("ibsim"), *ROOM, "-s", str(netfile)],
        env=environment,
        cwd=folder,
        stdin=subprocess.PIPE,  # its console: it would end with the file it reads
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=die_with_parent,
    )
    try:
        _wait_ready(process, netfile)
        yield Simulator(name=name, host=host, folder=folder)
    finally:
        process.kill()
        process.communicate()


def _wait_ready(process: subprocess.Popen[bytes], netfile: Path) -> None:
    assert process.stdout is not None
    said = b""
    deadline = time.monotonic() + START_TIMEOUT_S
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while READY not in said:
            left = deadline - time.monotonic()
            chunk = os.read(process.stdout.fileno(), 65536) if selector.select(left) else b""
            said += chunk
            if not chunk:
                lines = said.decode(errors="replace").strip().splitlines()
                last = lines[-1] if lines else "it said nothing"
                raise OperatingError(f"ibsim does not take {netfile}: {last}")
