"""OpenSM with the rendered files on a simulated fabric."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fireflyer.errors import OperatingError
from fireflyer.processes import die_with_parent
from fireflyer.prove.infiniband.simulator import Simulator
from fireflyer.prove.programs import program
from fireflyer.verify.log import UP

TIMEOUT_S = 120
_DAEMON = re.compile(rb"(?mi)^\s*daemon\s+true")
ERROR_INFO_ROUTING = "0x43"
"""Log flags that make OpenSM dump its tables."""


@dataclass(frozen=True, slots=True)
class SubnetManager:
    """A running OpenSM that has swept the fabric once."""

    folder: Path
    """Where its dumps lie."""
    said: tuple[str, ...]
    """Its standard output and its log."""


@contextmanager
def subnet_manager(
    simulator: Simulator, files: Path, names: tuple[str, ...], installed: str
) -> Iterator[SubnetManager]:
    """Run OpenSM with the files of one subnet manager; it ends with the block.

    The files name each other in the folder that they are to be `installed` in; here they are
    read from a copy.

    Raises:
        OperatingError: OpenSM ended, or did not finish its first sweep in time.
    """
    folder = simulator.folder
    config = folder / "etc"
    config.mkdir()
    for name in names:
        data = (files / name).read_bytes()
        if name == "opensm.conf" and _DAEMON.search(data):
            raise OperatingError(
                f"{files / name}: daemon TRUE would leave OpenSM running; remove the line, the"
                " service that starts OpenSM decides that"
            )
        (config / name).write_bytes(data.replace(f"{installed}/".encode(), f"{config}/".encode()))
    log, out = folder / "osm.log", folder / "osm.out"
    command = [program("opensm"), "-F", str(config / "opensm.conf"), "-D", ERROR_INFO_ROUTING]
    command += ["-e", "-f", str(log), "--dump_files_dir", str(folder)]
    command += ["--sweep", "0"]  # a later sweep would write the dumps while they are read
    with out.open("wb") as stream:
        process = subprocess.Popen(  # noqa: S603 - our own program
            command,
            env=simulator.environment(),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            preexec_fn=die_with_parent,
        )
        try:
            _wait_swept(process, log)
            said = out.read_text(errors="replace") + log.read_text(errors="replace")
            said = said.replace(str(config), installed)
            yield SubnetManager(folder=folder, said=tuple(said.splitlines()))
        finally:
            process.kill()
            process.wait()


def _wait_swept(process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait for the end of the first sweep: the dumps are whole before it is said."""
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        text = log.read_text(errors="replace") if log.exists() else ""
        if UP in text or "Errors during initialization" in text:
            return
        if process.poll() is not None:
            raise OperatingError(f"opensm ended with {process.returncode}: {_first_error(text)}")
        time.sleep(0.1)
    text = log.read_text(errors="replace") if log.exists() else ""
    raise OperatingError(
        f"opensm did not bring the subnet up within {TIMEOUT_S} s; its last words: {_last(text)}"
    )


def _first_error(text: str) -> str:
    """Return the log's first error, which the later ones follow from; else its last lines."""
    return next((line for line in text.splitlines() if " ERR " in line), _last(text))


def _last(text: str) -> str:
    return " / ".join(text.strip().splitlines()[-3:]) or "none"
