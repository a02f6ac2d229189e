#!/usr/bin/env python3
"""Apply or check the kernel and PCIe settings of a GPU node.

    kernel-tuning apply     apply all settings except boot parameters, which the boot loader sets
    kernel-tuning check     print one line per deviation; exit with 1, or with 3 if the only
                            deviation is a pending reboot

Settings are in /etc/kernel_tuning.json. KERNEL_TUNING_ROOT replaces / for the kernel's files.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SETTINGS = Path("/etc/kernel_tuning.json")
BRIDGE, DISPLAY = (0x06, 0x04), 0x03
"""PCI class codes: PCI-to-PCI bridge (class, subclass), display controller."""
NVIDIA = 0x10DE
PCI_EXPRESS = 0x10
"""Capability of a PCI function (PCI Express Base Specification, section 7.5.3)."""
RELAXED_ORDERING = 1 << 4
"""Enable Relaxed Ordering in Device Control, 8 bytes into that capability."""
ACCESS_CONTROL = 0x000D
"""ACS extended capability (section 7.7.11); the ACS control register is at offset 6."""

SENT_UP = "redirects peer-to-peer traffic to the root complex: ACS control is not 0"
IN_ORDER = "does not use relaxed ordering: it is not enabled in Device Control"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Desired settings; an empty string leaves one unchanged."""

    boot_parameters: list[str]
    governor: str
    transparent_hugepage: str
    access_control: bool
    """Keep ACS as the firmware set it, for virtual machines. Without ACS, GPUs and adapters below
    one switch exchange data directly."""
    relaxed_ordering: bool
    """Enable relaxed ordering on GPUs and RDMA adapters."""


@dataclass(frozen=True, slots=True)
class Function:
    """A PCI function, accessed by its configuration space."""

    name: str
    config: Path

    def read(self, offset: int, count: int) -> int:
        """Return the number at an offset; 0 beyond the end of the file."""
        # Unbuffered: reading undefined registers can have side effects.
        with self.config.open("rb", buffering=0) as space:
            space.seek(offset)
            return int.from_bytes(space.read(count), "little")

    def write(self, offset: int, count: int, value: int) -> None:
        """Write a number at an offset."""
        with self.config.open("r+b", buffering=0) as space:
            space.seek(offset)
            space.write(value.to_bytes(count, "little"))

    def is_bridge(self) -> bool:
        """Return whether it is a PCI-to-PCI bridge."""
        return (self.read(0x0B, 1), self.read(0x0A, 1)) == BRIDGE

    def moves_data(self) -> bool:
        """Return whether it is an NVIDIA GPU or an RDMA adapter, and no virtual function.

        A virtual function's bit is read-only. Drivers of other devices may require strict
        ordering, as tg3 does.
        """
        folder = self.config.parent
        if (folder / "physfn").exists():
            return False
        gpu = self.read(0x0B, 1) == DISPLAY and self.read(0x00, 2) == NVIDIA
        return gpu or (folder / "infiniband").is_dir()

    def device_control(self) -> int | None:
        """Return the offset of PCI Express's Device Control register."""
        at = self.read(0x34, 1) if self.read(0x06, 2) & 1 << 4 else 0
        for _ in range(48):  # at most as many capabilities as fit, so that a circular list ends
            if not at:
                return None
            if self.read(at, 1) == PCI_EXPRESS:
                return at + 8
            at = self.read(at + 1, 1)
        return None

    def access_control(self) -> int | None:
        """Return the offset of the ACS control register."""
        at = 0x100
        for _ in range(960):
            header = self.read(at, 4)
            if header & 0xFFFF == ACCESS_CONTROL:
                return at + 6
            at = header >> 20
            if at < 0x100:
                return None
        return None


@dataclass(frozen=True, slots=True)
class Register:
    """A 16-bit register: current value, wanted value, and the message if they differ."""

    function: Function
    offset: int
    now: int
    wanted: int
    means: str


def main() -> int:
    """Run the command; return 0, 1 or 3 for deviations, 2 for an unknown command."""
    if sys.argv[1:] not in (["apply"], ["check"]):
        print(__doc__, file=sys.stderr)
        return 2
    root = Path(os.environ.get("KERNEL_TUNING_ROOT", "/"))
    wanted = Settings(**json.loads(SETTINGS.read_text()))
    if sys.argv[1] == "apply":
        found, missing = list(apply(wanted, root)), []
    else:
        found, missing = list(differences(wanted, root)), list(not_booted(wanted, root))
    print("\n".join(found + missing) or "as wanted")
    return 1 if found else 3 if missing else 0


def apply(wanted: Settings, root: Path) -> Iterator[str]:
    """Apply the settings of the running kernel; yield those that failed."""
    for file, word in _choices(wanted, root):
        if _chosen(file) != word:
            try:
                file.write_text(word)
            except OSError as error:
                yield f"{file} rejects {word}: {error.strerror}"
    for register in _registers(wanted, root):
        if register.now != register.wanted:
            try:
                register.function.write(register.offset, 2, register.wanted)
            except OSError as error:  # kernel lockdown under Secure Boot
                yield f"{register.function.name} cannot be set: {error.strerror}"
            if register.function.read(register.offset, 2) != register.wanted:
                yield f"{register.function.name} does not keep {register.wanted:#06x}"


def differences(wanted: Settings, root: Path) -> Iterator[str]:
    """Yield the deviations of the running kernel."""
    for file, word in _choices(wanted, root):
        if (now := _chosen(file)) != word:
            yield f"{file} is {now}, not {word}"
    for register in _registers(wanted, root):
        if register.now != register.wanted:
            yield f"{register.function.name} {register.means} ({register.now:#06x})"


def not_booted(wanted: Settings, root: Path) -> Iterator[str]:
    """Yield the boot parameters that the running kernel lacks."""
    given = (root / "proc/cmdline").read_text().split()
    for parameter in wanted.boot_parameters:
        if parameter not in given:
            yield f"the kernel was booted without {parameter}; reboot the node"


def _choices(wanted: Settings, root: Path) -> Iterator[tuple[Path, str]]:
    """Yield files that select one of several words, and the wanted word.

    A virtual machine lacks some.
    """
    if wanted.governor:
        for policy in sorted((root / "sys/devices/system/cpu/cpufreq").glob("policy*")):
            if (policy / "affected_cpus").read_text().strip():  # empty if all are offline
                yield policy / "scaling_governor", wanted.governor
    pages = root / "sys/kernel/mm/transparent_hugepage/enabled"
    if wanted.transparent_hugepage and pages.exists():
        yield pages, wanted.transparent_hugepage


def _chosen(file: Path) -> str:
    """Return the selected word: the one in brackets if all are listed."""
    try:
        text = file.read_text().strip()
    except OSError as error:
        return str(error.strerror).lower()
    return text.partition("[")[2].partition("]")[0] if "[" in text else text


def _registers(wanted: Settings, root: Path) -> Iterator[Register]:
    """Yield all registers with a wanted value."""
    for folder in sorted((root / "sys/bus/pci/devices").glob("*")):
        function = Function(folder.name, folder / "config")
        control = function.access_control() if function.is_bridge() else None
        if not wanted.access_control and control:
            yield Register(function, control, function.read(control, 2), 0, SENT_UP)
        control = function.device_control() if function.moves_data() else None
        if wanted.relaxed_ordering and control:
            now = function.read(control, 2)
            yield Register(function, control, now, now | RELAXED_ORDERING, IN_ORDER)


if __name__ == "__main__":
    sys.exit(main())
