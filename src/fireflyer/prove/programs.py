"""The programs that prove needs, and what to install where one is missing."""

from __future__ import annotations

import ctypes.util
import shutil
import signal
from pathlib import Path

from fireflyer.errors import OperatingError

PACKAGES = {
    "ibsim": "ibsim-utils",
    "opensm": "opensm",
    "ibdmchk": "ibutils",
    "ibnetdiscover": "infiniband-diags",
    "saquery": "infiniband-diags",
    "stdbuf": "coreutils",
}
"""Debian package of each program."""
_SBIN = "/usr/sbin:/sbin"
_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


def program(name: str) -> str:
    """Return a program's path; administrators' programs are not on every user's PATH."""
    return shutil.which(name) or shutil.which(name, path=_SBIN) or name


def preload() -> Path:
    """Return the library that leads InfiniBand programs to ibsim."""
    found = sorted(Path("/usr/lib").glob("*/umad2sim/libumad2sim.so"))
    found += sorted(Path("/usr/lib64").glob("umad2sim/libumad2sim.so"))
    if not found:
        raise _missing(["libumad2sim.so"], ["ibsim-utils"])
    return found[0]


def die_with_parent() -> None:
    """Have the kernel end this process when its parent ends, however that ends (prctl(2)).

    Run it between fork and exec; it is nothing but a system call.
    """
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def require_programs() -> None:
    """Check that everything is installed.

    Raises:
        OperatingError: with every missing program and the packages to install.
    """
    missing = [
        name
        for name in PACKAGES
        if shutil.which(name) is None and shutil.which(name, path=_SBIN) is None
    ]
    packages = {PACKAGES[name] for name in missing}
    if ctypes.util.find_library("ibmad") is None:
        missing.append("libibmad")
        packages.add("libibmad5")
    if missing:
        raise _missing(missing, sorted(packages))
    preload()


def _missing(names: list[str], packages: list[str]) -> OperatingError:
    return OperatingError(
        f"prove needs {', '.join(names)}; install with: apt-get install {' '.join(packages)}"
    )
