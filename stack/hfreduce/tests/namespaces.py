"""The comparison's nodes, as ranks of a test join them and as tests break them."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hfreduce.bench import nodes as bench

_NET, _UTS = 0x40000000, 0x04000000
_LIBC = ctypes.CDLL(None, use_errno=True)


def missing() -> str:
    """Return why this machine can have no such nodes; nothing if it can."""
    if why := bench.unusable():
        return why
    if not shutil.which("nft"):
        return "there is no nft"
    tried = ["unshare", "--net", "nft", "add table bridge try0"]
    done = subprocess.run(tried, check=False, capture_output=True, text=True)
    return f"nft: {done.stderr.strip()}" if done.returncode else ""


def enter(holder: int) -> None:
    """Be in the namespaces that a process holds."""
    for name, kind in (("net", _NET), ("uts", _UTS)):
        with Path(f"/proc/{holder}/ns/{name}").open() as file:
            if _LIBC.setns(file.fileno(), kind):
                raise OSError(ctypes.get_errno(), f"setns {name}")


class Nodes(bench.Nodes):
    """Nodes whose ranks are told where they are, and whose network fails on demand."""

    def __init__(self, *zones: int, order: Sequence[int] = ()) -> None:
        """Make them, as fast as they are."""
        self._folder = Path(tempfile.mkdtemp(prefix="hfreduce-test-"))
        super().__init__(*zones, order=order)

    def environment(self, node: int) -> dict[str, str]:
        """Return what a rank on the node is told."""
        position = self.order.index(node)
        said = {"net_devices": [bench.DEVICE], "zone": str(self.zone_of[node])}
        file = self._folder / f"{node}.json"
        file.write_text(json.dumps({**said, "position": position}))
        return {
            "HFREDUCE_TEST_NODE": str(self.holders()[node]),
            "HFREDUCE_CONFIG": str(file),
            "MASTER_ADDR": bench.address(0),
            "UCX_TLS": "tcp",  # to UCX they are one machine, with memory to share
        }

    def unplug(self, node: int) -> None:
        """Take the node's own end of its cable down."""
        self.run(node, "ip", "link", "set", bench.DEVICE, "down")

    def switch_off(self, node: int) -> None:
        """Take the switch's end of a node's cable down."""
        self.switch("ip", "link", "set", f"port{node}", "down")

    def part(self, one: int, other: int) -> None:
        """Lose all that two nodes send each other."""
        lost = "; ".join(
            f'iifname "port{a}" oifname "port{b}" drop' for a, b in ((one, other), (other, one))
        )
        chain = f"chain lost {{ type filter hook forward priority 0; {lost}; }}"
        self.switch("nft", f"table bridge parted {{ {chain}; }}")

    def between_zones(self, zone: int) -> tuple[int, int]:
        """Return the bytes that went from the zone before this one, and to it."""
        text = self.switch("ip", "-j", "-s", "link", "show", f"in{zone}")
        counts = json.loads(text)[0]["stats64"]
        return counts["rx"]["bytes"], counts["tx"]["bytes"]

    def close(self) -> None:
        """Remove them."""
        super().close()
        shutil.rmtree(self._folder, ignore_errors=True)
