"""Nodes that have a network of their own, for the tests: namespaces, joined by bridges.

Each zone has a bridge, and each bridge a cable to the next zone's. A namespace is held by a
process that ends with its standard input: whatever becomes of the tests, the kernel then takes
back the namespace, its interfaces and its rules.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

DEVICE = "eth0"
_NET, _UTS = 0x40000000, 0x04000000
_LIBC = ctypes.CDLL(None, use_errno=True)


def missing() -> str:
    """Return why this machine can have no such nodes; nothing if it can."""
    if os.geteuid():
        return "namespaces need root"
    for program in ("ip", "nft", "nsenter", "unshare", "hostname"):
        if not shutil.which(program):
            return f"there is no program {program}"
    for tried in ("ip link add name try0 type bridge", "nft add table bridge try0"):
        done = subprocess.run(
            ["unshare", "--net", "--uts", *tried.split()],
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            return f"{tried}: {done.stderr.strip()}"
    return ""


def enter(holder: int) -> None:
    """Be in the namespaces that a process holds."""
    for name, kind in (("net", _NET), ("uts", _UTS)):
        with Path(f"/proc/{holder}/ns/{name}").open() as file:
            if _LIBC.setns(file.fileno(), kind):
                raise OSError(ctypes.get_errno(), f"setns {name}")


class Nodes:
    """Nodes 0, 1, ... by zone, each with one adapter."""

    def __init__(self, *zones: int, order: Sequence[int] = ()) -> None:
        """Make them.

        Args:
            zones: the nodes of each.
            order: of the nodes, as the site's trees have it; by number if not given. The first
                zone's come first.
        """
        self.count = sum(zones)
        self._holders: list[subprocess.Popen[bytes]] = []
        self._folder = Path(tempfile.mkdtemp(prefix="hfreduce-test-"))
        order = order or range(self.count)
        zone_of = {}
        try:
            for _ in range(self.count + 1):
                self._hold()
            self._switch = self.count
            for zone, size in enumerate(zones):
                self._ip("link", "add", "name", f"zone{zone}", "type", "bridge")
                self._ip("link", "set", f"zone{zone}", "up")
                first = sum(zones[:zone])
                zone_of.update(dict.fromkeys(order[first : first + size], zone))
                if zone:
                    self._cable(zone)
            for position, node in enumerate(order):
                self._plug(node, zone_of[node])
                self._tell(node, zone_of[node], position)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Nodes:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def environment(self, node: int) -> dict[str, str]:
        """Return what a rank on the node is told."""
        return {
            "HFREDUCE_TEST_NODE": str(self._holders[node].pid),
            "HFREDUCE_CONFIG": str(self._folder / f"{node}.json"),
            "MASTER_ADDR": "10.77.0.1",
            "UCX_TLS": "tcp",  # to UCX they are one machine, with memory to share
        }

    def unplug(self, node: int) -> None:
        """Take the node's own end of its cable down."""
        self._run(node, "ip", "link", "set", DEVICE, "down")

    def switch_off(self, node: int) -> None:
        """Take the switch's end of a node's cable down."""
        self._ip("link", "set", f"port{node}", "down")

    def part(self, one: int, other: int) -> None:
        """Lose all that two nodes send each other."""
        lost = "; ".join(
            f'iifname "port{a}" oifname "port{b}" drop' for a, b in ((one, other), (other, one))
        )
        chain = f"chain lost {{ type filter hook forward priority 0; {lost}; }}"
        self._run(self._switch, "nft", f"table bridge parted {{ {chain}; }}")

    def between_zones(self, zone: int) -> tuple[int, int]:
        """Return the bytes that went from the zone before this one, and to it."""
        text = self._ip("-j", "-s", "link", "show", f"in{zone}")
        counts = json.loads(text)[0]["stats64"]
        return counts["rx"]["bytes"], counts["tx"]["bytes"]

    def close(self) -> None:
        """Remove them."""
        for holder in self._holders:
            assert holder.stdin is not None
            holder.stdin.close()
        for holder in self._holders:
            holder.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _hold(self) -> None:
        held = "echo && exec cat"
        holder = subprocess.Popen(
            ["unshare", "--net", "--uts", "sh", "-c", held],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._holders.append(holder)
        assert holder.stdout is not None
        with holder.stdout:
            if not holder.stdout.readline():
                raise OSError("unshare: no namespace")

    def _cable(self, zone: int) -> None:
        self._ip("link", "add", "name", f"out{zone}", "type", "veth", "peer", "name", f"in{zone}")
        for name, bridge in ((f"out{zone}", zone - 1), (f"in{zone}", zone)):
            self._ip("link", "set", name, "master", f"zone{bridge}", "up")

    def _plug(self, node: int, zone: int) -> None:
        there = str(self._holders[node].pid)
        port = f"port{node}"
        self._ip(
            "link", "add", "name", port, "type", "veth", "peer", "name", DEVICE, "netns", there
        )
        self._ip("link", "set", port, "master", f"zone{zone}", "up")
        self._run(node, "hostname", f"node{node}")
        self._run(node, "ip", "link", "set", "lo", "up")
        self._run(node, "ip", "link", "set", DEVICE, "up")
        self._run(node, "ip", "address", "add", f"10.77.0.{node + 1}/24", "dev", DEVICE)

    def _tell(self, node: int, zone: int, position: int) -> None:
        said = {"net_devices": [DEVICE], "zone": str(zone), "position": position}
        (self._folder / f"{node}.json").write_text(json.dumps(said))

    def _ip(self, *words: str) -> str:
        return self._run(self._switch, "ip", *words)

    def _run(self, node: int, *command: str) -> str:
        inside = ["nsenter", "--target", str(self._holders[node].pid), "--net", "--uts"]
        done = subprocess.run([*inside, *command], check=False, capture_output=True, text=True)
        assert not done.returncode, f"{' '.join(command)}: {done.stderr}"
        return done.stdout
