"""Nodes of one machine: network namespaces, joined by links of a given speed.

Each has an address, a host name and nothing shared with the others but the machine's processors
and memory. They are this process's own, named after it, and gone when it is done. Needs root.

    python -m hfreduce.bench.nodes NAME HOST COMMAND...

runs a command in the node of that address, as mpirun's remote shell.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

NETWORK = "10.213.77"
MTU_BYTES = 9000
_PREFIX = "hfreduce"
_BURST_BYTES = 256 << 10
"""Of the shaper: more than the largest piece that TCP hands down."""


class Nodes:
    """Namespaces NAME-0 to NAME-(n-1) and a bridge in NAME-switch."""

    def __init__(self, count: int, link_gbps: float | None) -> None:
        """Make them.

        Args:
            count: of the nodes, 1 to 250.
            link_gbps: Gb/s of each node's link, each way; None leaves it as fast as it is.

        Raises:
            OSError: this user, or this kernel, cannot.
        """
        _remove_orphans()
        self.name = f"{_PREFIX}{os.getpid()}"
        self.count = count
        try:
            self._make(link_gbps)
        except BaseException:
            self.close()
            raise

    def _make(self, link_gbps: float | None) -> None:
        switch = f"{self.name}-switch"
        _ip("netns", "add", switch)
        _ip("-n", switch, "link", "add", "bridge", "mtu", str(MTU_BYTES), "type", "bridge")
        _ip("-n", switch, "link", "set", "bridge", "up")
        for node in range(self.count):
            own, port = f"{self.name}-{node}", f"port{node}"
            _ip("netns", "add", own)
            _ip("-n", own, "link", "set", "lo", "up")
            mtu = ("mtu", str(MTU_BYTES))
            _ip("link", "add", "eth0", *mtu, "netns", own, "type", "veth",
                "peer", "name", port, *mtu, "netns", switch)  # fmt: skip
            _ip("-n", own, "addr", "add", f"{address(node)}/24", "dev", "eth0")
            _ip("-n", switch, "link", "set", port, "master", "bridge")
            for namespace, device in ((own, "eth0"), (switch, port)):
                _ip("-n", namespace, "link", "set", device, "up")
                if link_gbps:
                    _run("tc", "-n", namespace, "qdisc", "add", "dev", device, "root", "tbf",
                         "rate", f"{link_gbps * 1000:.0f}mbit", "burst", str(_BURST_BYTES),
                         "limit", str(4 << 20))  # fmt: skip

    def command(self, node: int, command: Sequence[str]) -> list[str]:
        """Return a command that runs another in a node."""
        return _enter(self.name, node, command)

    def close(self) -> None:
        """Remove them; what runs there is to have ended."""
        for which in (*range(self.count), "switch"):
            with contextlib.suppress(OSError):  # it was not made
                _ip("netns", "del", f"{self.name}-{which}")

    def __enter__(self) -> Nodes:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def address(node: int) -> str:
    """Return a node's address."""
    return f"{NETWORK}.{node + 1}"


def unusable() -> str:
    """Return why nodes cannot be made here; nothing if they can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    for program in ("ip", "tc", "unshare"):
        if shutil.which(program) is None:
            return f"there is no {program}"
    return ""


def _enter(name: str, node: int, command: Sequence[str]) -> list[str]:
    named = f'hostname node{node}; exec "$@"'
    return ["ip", "netns", "exec", f"{name}-{node}", "unshare", "--uts", "--ipc",
            "sh", "-c", named, "sh", *command]  # fmt: skip


def _remove_orphans() -> None:
    """Remove what a process that was killed has left."""
    listed = subprocess.run(  # noqa: S603 - a fixed command
        [shutil.which("ip") or "ip", "netns", "list"], capture_output=True, text=True, check=False
    )
    for name in listed.stdout.split():
        maker = name.removeprefix(_PREFIX).partition("-")[0]
        if name.startswith(_PREFIX) and maker.isdigit() and not Path(f"/proc/{maker}").exists():
            with contextlib.suppress(OSError):
                _ip("netns", "del", name)


def _ip(*arguments: str) -> None:
    _run("ip", *arguments)


def _run(*command: str) -> None:
    done = subprocess.run(  # noqa: S603 - this module's own
        command, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")


def main(argv: Sequence[str]) -> None:
    """Become the command, in the node of an address."""
    name, host, *command = argv
    node = int(host.rpartition(".")[2]) - 1
    entered = _enter(name, node, ["sh", "-c", " ".join(command)])
    os.execvp(entered[0], entered)  # noqa: S606


if __name__ == "__main__":
    main(sys.argv[1:])
