"""Programs that prove runs, and what to install where one is missing."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from fireflyer.errors import OperatingError
from fireflyer.processes import die_with_parent

_SBIN = "/usr/sbin:/sbin:/usr/lib/frr"


def found(name: str) -> str | None:
    """Return a program's path; administrators' programs are not on every user's PATH."""
    return shutil.which(name) or shutil.which(name, path=_SBIN)


def program(name: str) -> str:
    """Return a program's path, or its name where it is not installed."""
    return found(name) or name


def run(
    *command: str,
    timeout_s: float,
    name: str = "",
    stdin: str = "",
    check: bool = True,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; it ends with this process too.

    Args:
        command: The program, whose path is looked up, and its arguments.
        timeout_s: It is killed after so long.
        name: What errors call it, if not by the program's name.
        stdin: What it reads.
        check: Whether it fails by its exit status.
        environment: Its environment; ours where none is given.
        folder: Where it works; where we do if none is given.

    Raises:
        OperatingError: it failed or ran out of time.
    """
    name = name or command[0]
    try:
        done = subprocess.run(  # noqa: S603 - our own programs
            [program(command[0]), *command[1:]],
            env=environment,
            cwd=folder,
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
            preexec_fn=die_with_parent,
        )
    except subprocess.TimeoutExpired:
        raise OperatingError(f"{name} did not end within {timeout_s:g} s") from None
    if check and done.returncode:
        text = (done.stderr or done.stdout).strip().splitlines()
        said = text[-1] if text else "it said nothing"
        raise OperatingError(f"{name} failed with {done.returncode}: {said}")
    return done


def missing(packages: Mapping[str, str]) -> dict[str, str]:
    """Return the programs of a table of Debian packages that are not installed."""
    return {name: package for name, package in packages.items() if found(name) is None}


def not_installed(lacking: Mapping[str, str]) -> OperatingError:
    """Return the error that names missing programs and the packages that hold them."""
    packages = " ".join(sorted(set(lacking.values())))
    return OperatingError(
        f"prove needs {', '.join(lacking)}; install with: apt-get install {packages}"
    )
