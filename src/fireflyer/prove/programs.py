"""Programs that prove runs, and what to install where one is missing."""

from __future__ import annotations

import shutil
from collections.abc import Mapping

from fireflyer.errors import OperatingError

_SBIN = "/usr/sbin:/sbin:/usr/lib/frr"


def found(name: str) -> str | None:
    """Return a program's path; administrators' programs are not on every user's PATH."""
    return shutil.which(name) or shutil.which(name, path=_SBIN)


def program(name: str) -> str:
    """Return a program's path, or its name where it is not installed."""
    return found(name) or name


def missing(packages: Mapping[str, str]) -> dict[str, str]:
    """Return the programs of a table of Debian packages that are not installed."""
    return {name: package for name, package in packages.items() if found(name) is None}


def not_installed(lacking: Mapping[str, str]) -> OperatingError:
    """Return the error that names missing programs and the packages that hold them."""
    packages = " ".join(sorted(set(lacking.values())))
    return OperatingError(
        f"prove needs {', '.join(lacking)}; install with: apt-get install {packages}"
    )
