"""The programs that an InfiniBand proof needs."""

from __future__ import annotations

import ctypes.util
from pathlib import Path

from fireflyer.prove.programs import missing, not_installed

PACKAGES = {
    "ibsim": "ibsim-utils",
    "opensm": "opensm",
    "ibdmchk": "ibutils",
    "ibnetdiscover": "infiniband-diags",
    "saquery": "infiniband-diags",
    "stdbuf": "coreutils",
}
"""Debian package of each program."""


def preload() -> Path:
    """Return the library that leads InfiniBand programs to ibsim.

    Raises:
        OperatingError: it is not installed.
    """
    found = sorted(Path("/usr/lib").glob("*/umad2sim/libumad2sim.so"))
    found += sorted(Path("/usr/lib64").glob("umad2sim/libumad2sim.so"))
    if not found:
        raise not_installed({"libumad2sim.so": "ibsim-utils"})
    return found[0]


def require_simulator() -> None:
    """Check that everything is installed.

    Raises:
        OperatingError: with every missing program and the packages to install.
    """
    lacking = missing(PACKAGES)
    if ctypes.util.find_library("ibmad") is None:
        lacking["libibmad"] = "libibmad5"
    if lacking:
        raise not_installed(lacking)
    preload()
