#!/usr/bin/env python3
"""Set what a node of GPUs needs of its kernel and of PCIe, or say what is not so.

    kernel-tuning apply     set it; the kernel's command line is the boot loader's to set
    kernel-tuning check     print a line for each thing that is not so, and end with 1; with 3 where
                            no more than a reboot is missing

/etc/kernel_tuning.json says what is wanted. KERNEL_TUNING_ROOT names another place than / for the
files of the kernel.
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
"""Classes of PCI functions: a bridge between buses (with its subclass), a GPU."""
NVIDIA = 0x10DE
PCI_EXPRESS = 0x10
"""Capability of a PCI function (PCI Express Base Specification, section 7.5.3)."""
RELAXED_ORDERING = 1 << 4
"""Of Device Control, 8 bytes into that: whether the function may set the attribute."""
ACCESS_CONTROL = 0x000D
"""Extended capability (section 7.7.11); its control register is 6 bytes into it."""

SENT_UP = "sends what devices below it send each other to the root complex: ACS control is not 0"
IN_ORDER = "must keep writes in order: Device Control does not allow relaxed ordering"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What is wanted; an empty text leaves a thing as it is."""

    boot_parameters: list[str]
    governor: str
    transparent_hugepage: str
    access_control: bool
    """Leave access control as the firmware set it, for virtual machines. Without it GPUs and
    adapters below one switch reach each other directly."""
    relaxed_ordering: bool
    """Allow GPUs and network cards to relax the order of their writes."""


@dataclass(frozen=True, slots=True)
class Function:
    """A PCI function, by its configuration space."""

    name: str
    config: Path

    def read(self, offset: int, count: int) -> int:
        """Return the number at an offset; 0 beyond what the kernel shows."""
        # Unbuffered: parts that nobody defined are better not read.
        with self.config.open("rb", buffering=0) as space:
            space.seek(offset)
            return int.from_bytes(space.read(count), "little")

    def write(self, offset: int, count: int, value: int) -> None:
        """Write a number at an offset."""
        with self.config.open("r+b", buffering=0) as space:
            space.seek(offset)
            space.write(value.to_bytes(count, "little"))

    def is_bridge(self) -> bool:
        """Return whether there are devices below it."""
        return (self.read(0x0B, 1), self.read(0x0A, 1)) == BRIDGE

    def moves_data(self) -> bool:
        """Return whether it is a GPU or an RDMA adapter, whole: of a virtual function it is fixed.

        Other drivers forbid relaxed ordering for reasons of their own, as tg3 does.
        """
        folder = self.config.parent
        if (folder / "physfn").exists():
            return False
        gpu = self.read(0x0B, 1) == DISPLAY and self.read(0x00, 2) == NVIDIA
        return gpu or (folder / "infiniband").is_dir()

    def device_control(self) -> int | None:
        """Return the offset of PCI Express's Device Control register."""
        at = self.read(0x34, 1) if self.read(0x06, 2) & 1 << 4 else 0
        for _ in range(48):  # as many as fit: a list that runs in a circle ends
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
    """A register of 16 bits: what it holds, what it shall hold, what it means if it does not."""

    function: Function
    offset: int
    now: int
    wanted: int
    means: str


def main() -> int:
    """Do what the word says; return 0, 1 or 3 for findings, 2 for a word that is none."""
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
    """Set what can be set while the kernel runs; yield what could not be."""
    for file, word in _choices(wanted, root):
        if _chosen(file) != word:
            try:
                file.write_text(word)
            except OSError as error:
                yield f"{file} does not take {word}: {error.strerror}"
    for register in _registers(wanted, root):
        if register.now != register.wanted:
            try:
                register.function.write(register.offset, 2, register.wanted)
            except OSError as error:  # a kernel that Secure Boot locked down
                yield f"{register.function.name} cannot be set: {error.strerror}"
            if register.function.read(register.offset, 2) != register.wanted:
                yield f"{register.function.name} does not keep {register.wanted:#06x}"


def differences(wanted: Settings, root: Path) -> Iterator[str]:
    """Yield what is not as wanted of what can be set while the kernel runs."""
    for file, word in _choices(wanted, root):
        if (now := _chosen(file)) != word:
            yield f"{file} is {now}, not {word}"
    for register in _registers(wanted, root):
        if register.now != register.wanted:
            yield f"{register.function.name} {register.means} ({register.now:#06x})"


def not_booted(wanted: Settings, root: Path) -> Iterator[str]:
    """Yield which parameters the running kernel was not started with."""
    given = (root / "proc/cmdline").read_text().split()
    for parameter in wanted.boot_parameters:
        if parameter not in given:
            yield f"the kernel was started without {parameter}; that takes a reboot"


def _choices(wanted: Settings, root: Path) -> Iterator[tuple[Path, str]]:
    """Yield files that hold one of several words, and the word. A virtual machine lacks some."""
    if wanted.governor:
        for policy in sorted((root / "sys/devices/system/cpu/cpufreq").glob("policy*")):
            if (policy / "affected_cpus").read_text().strip():  # none where all are offline
                yield policy / "scaling_governor", wanted.governor
    pages = root / "sys/kernel/mm/transparent_hugepage/enabled"
    if wanted.transparent_hugepage and pages.exists():
        yield pages, wanted.transparent_hugepage


def _chosen(file: Path) -> str:
    """Return the word that holds: the one in brackets where all are listed."""
    try:
        text = file.read_text().strip()
    except OSError as error:
        return str(error.strerror).lower()
    return text.partition("[")[2].partition("]")[0] if "[" in text else text


def _registers(wanted: Settings, root: Path) -> Iterator[Register]:
    """Yield the registers that matter, whether or not they hold what they shall."""
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
