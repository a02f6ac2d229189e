#!/usr/bin/env python3
"""Write a simulated node's kernel files, with firmware defaults, below a folder."""

from __future__ import annotations

import sys
from pathlib import Path

BRIDGE, NETWORK, GPU = 0x060400, 0x020700, 0x030200
FILES = {
    "proc/cmdline": "root=/dev/sda1 quiet\n",
    "sys/devices/system/cpu/cpufreq/policy0/scaling_governor": "schedutil\n",
    "sys/devices/system/cpu/cpufreq/policy7/scaling_governor": "schedutil\n",
    "sys/devices/system/cpu/cpufreq/policy0/affected_cpus": "0 1 2 3 4 5 6\n",
    "sys/devices/system/cpu/cpufreq/policy7/affected_cpus": "7\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
}
FUNCTIONS = {"0000:40:01.0": BRIDGE, "0000:41:00.0": GPU, "0000:42:00.0": NETWORK}


def space(pci_class: int) -> bytes:
    """Return configuration space: relaxed ordering off; on a bridge, ACS on."""
    data = bytearray(4096)
    data[0x00:0x02] = (0x10DE).to_bytes(2, "little")
    data[0x06] = 1 << 4
    data[0x09:0x0C] = pci_class.to_bytes(3, "little")
    data[0x34] = 0x80
    data[0x80] = 0x10
    data[0x88:0x8A] = (0x2900).to_bytes(2, "little")
    if pci_class == BRIDGE:
        data[0x100:0x104] = (0x1000D).to_bytes(4, "little")
        data[0x106:0x108] = (0x001D).to_bytes(2, "little")
    return bytes(data)


root = Path(sys.argv[1])
for name, text in FILES.items():
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).unlink(missing_ok=True)
    (root / name).write_text(text)
for name, pci_class in FUNCTIONS.items():
    folder = root / "sys/bus/pci/devices" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config").write_bytes(space(pci_class))
    if pci_class == NETWORK:
        (folder / "infiniband/mlx5_0").mkdir(parents=True, exist_ok=True)
