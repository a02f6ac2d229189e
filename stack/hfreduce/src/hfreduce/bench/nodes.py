"""Nodes of one machine: namespaces with a network of their own, joined by links of a given speed.

Each has an address, a host name and nothing shared with the others but the machine's processors
and memory. A zone's nodes hang on a bridge, and each bridge has a cable to the next zone's. A
namespace is held by a process that ends with its standard input: whatever becomes of who made it,
the kernel then takes back the namespace, its interfaces and its rules. Needs root.

    python -m hfreduce.bench.nodes HOLDERS HOST COMMAND...

runs a command in the node of that address, as mpirun's remote shell; HOLDERS are the processes
that hold the nodes, in order, with commas between.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Self

DEVICE = "eth0"
NETWORK = "10.77.0"
MTU_BYTES = 9000
_OWN = ("--net", "--uts", "--ipc")
_BURST_BYTES = 256 << 10
"""Of the shaper: more than the largest piece that TCP hands down."""
_QUEUE_BYTES = 4 << 20


class Nodes:
    """Nodes 0, 1, ... by zone, each with one adapter."""

    def __init__(
        self, *zones: int, order: Sequence[int] = (), link_gbps: float | None = None
    ) -> None:
        """Make them.

        Args:
            zones: the nodes of each, 1 to 250 in all.
            order: of the nodes, as the site's trees have it; by number if not given. The first
                zone's come first.
            link_gbps: Gb/s of each node's link, each way; None leaves it as fast as it is.

        Raises:
            OSError: this user, or this kernel, cannot.
        """
        self.count = sum(zones)
        self.order = tuple(order) or tuple(range(self.count))
        self.zone_of: dict[int, int] = {}
        self._holders: list[subprocess.Popen[bytes]] = []
        try:
            for _ in range(self.count + 1):
                self._holders.append(_hold())
            self._switch = self.count
            for zone, size in enumerate(zones):
                self._bridge(zone)
                first = sum(zones[:zone])
                self.zone_of.update(dict.fromkeys(self.order[first : first + size], zone))
            for node in self.order:
                self._plug(node, link_gbps)
        except BaseException:
            self.close()
            raise

    def holders(self) -> list[int]:
        """Return the processes that hold the nodes, in order."""
        return [holder.pid for holder in self._holders[: self.count]]

    def command(self, node: int, command: Sequence[str]) -> list[str]:
        """Return a command that runs another in a node."""
        return _enter(self._holders[node].pid, command)

    def close(self) -> None:
        """Remove them; what runs there is to have ended."""
        for holder in self._holders:
            if holder.stdin is not None:
                holder.stdin.close()
        for holder in self._holders:
            holder.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def run(self, node: int, *command: str) -> str:
        """Run a command in a node and return what it prints.

        Raises:
            OSError: it failed.
        """
        return _run(*_enter(self._holders[node].pid, command))

    def switch(self, *command: str) -> str:
        """Run a command where the nodes' links end, `port0` and on, and return what it prints.

        Raises:
            OSError: it failed.
        """
        return self.run(self._switch, *command)

    def _bridge(self, zone: int) -> None:
        self._link("add", "name", f"zone{zone}", "mtu", str(MTU_BYTES), "type", "bridge")
        self._link("set", f"zone{zone}", "up")
        if zone:
            mtu = ("mtu", str(MTU_BYTES))
            one, other = f"out{zone}", f"in{zone}"
            self._link("add", "name", one, *mtu, "type", "veth", "peer", "name", other, *mtu)
            for name, bridge in ((one, zone - 1), (other, zone)):
                self._link("set", name, "master", f"zone{bridge}", "up")

    def _plug(self, node: int, link_gbps: float | None) -> None:
        there, port = str(self._holders[node].pid), f"port{node}"
        mtu = ("mtu", str(MTU_BYTES))
        self._link("add", "name", port, *mtu, "type", "veth",
                   "peer", "name", DEVICE, *mtu, "netns", there)  # fmt: skip
        self._link("set", port, "master", f"zone{self.zone_of[node]}", "up")
        self.run(node, "hostname", f"node{node}")
        self.run(node, "ip", "link", "set", "lo", "up")
        self.run(node, "ip", "link", "set", DEVICE, "up")
        self.run(node, "ip", "address", "add", f"{address(node)}/24", "dev", DEVICE)
        if link_gbps:
            shape = ("root", "tbf", "rate", f"{link_gbps * 1000:.0f}mbit",
                     "burst", str(_BURST_BYTES), "limit", str(_QUEUE_BYTES))  # fmt: skip
            self.run(node, "tc", "qdisc", "add", "dev", DEVICE, *shape)
            self.switch("tc", "qdisc", "add", "dev", port, *shape)

    def _link(self, *words: str) -> None:
        self.switch("ip", "link", *words)


def address(node: int) -> str:
    """Return a node's address."""
    return f"{NETWORK}.{node + 1}"


def unusable() -> str:
    """Return why nodes cannot be made here; nothing if they can."""
    if os.geteuid() != 0:
        return "namespaces need root"
    for program in ("ip", "tc", "unshare", "nsenter", "hostname"):
        if shutil.which(program) is None:
            return f"there is no {program}"
    try:
        _run("unshare", *_OWN, "ip", "link", "add", "name", "try0", "type", "bridge")
    except OSError as error:
        return str(error)
    return ""


def _hold() -> subprocess.Popen[bytes]:
    command = ["unshare", *_OWN, "sh", "-c", "echo && exec cat"]
    holder = subprocess.Popen(  # noqa: S603 - a fixed command
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    with holder.stdout:
        if not holder.stdout.readline():
            holder.wait()
            raise OSError("unshare: no namespace")
    return holder


def _enter(holder: int, command: Sequence[str]) -> list[str]:
    return ["nsenter", "--target", str(holder), *_OWN, "--", *command]


def _run(*command: str) -> str:
    done = subprocess.run(  # noqa: S603 - this module's own
        command, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def main(argv: Sequence[str]) -> None:
    """Become the command, in the node of an address."""
    holders, host, *command = argv
    holder = int(holders.split(",")[int(host.rpartition(".")[2]) - 1])
    entered = _enter(holder, ["sh", "-c", " ".join(command)])
    os.execvp(entered[0], entered)  # noqa: S606


if __name__ == "__main__":
    main(sys.argv[1:])
