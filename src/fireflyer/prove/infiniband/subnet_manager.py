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

TIMEOUT_S = 120
END_TIMEOUT_S = 10
_DAEMON = re.compile(rb"(?mi)^\s*daemon\s+true")
ERROR_INFO_ROUTING = "0x43"
"""Log flags that make OpenSM dump its tables."""


@dataclass(frozen=True, slots=True)
class SubnetManager:
    """A running OpenSM."""

    folder: Path
    """Where its dumps lie."""
    process: subprocess.Popen[bytes]
    renamed: tuple[str, str]
    """The folder of its files here, and the one they are installed in."""

    def said_until(self, *words: str) -> tuple[str, ...]:
        """Wait for the first of some words; return its standard output and its log up to now.

        Raises:
            OperatingError: OpenSM ended, or said none of them in time.
        """
        log = self.folder / "osm.log"
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            text = log.read_text(errors="replace") if log.exists() else ""
            if any(word in text for word in words):
                said = (self.folder / "osm.out").read_text(errors="replace") + text
                return tuple(said.replace(*self.renamed).splitlines())
            if (status := self.process.poll()) is not None:
                raise OperatingError(f"opensm ended with {status}: {_first_error(text)}")
            time.sleep(0.1)
        text = log.read_text(errors="replace") if log.exists() else ""
        raise OperatingError(
            f"opensm did not say {' or '.join(words)} within {TIMEOUT_S} s; its last words:"
            f" {_last(text)}"
        )


@contextmanager
def subnet_manager(
    simulator: Simulator, files: Path, names: tuple[str, ...], installed: str
) -> Iterator[SubnetManager]:
    """Run OpenSM with the files of one subnet manager; it ends with the block.

    The files name each other in the folder that they are to be `installed` in; here they are
    read from a copy.

    Raises:
        OperatingError: the files would leave OpenSM running.
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
    command = [program("opensm"), "-F", str(config / "opensm.conf"), "-D", ERROR_INFO_ROUTING]
    command += ["-e", "-f", str(folder / "osm.log"), "--dump_files_dir", str(folder)]
    command += ["--sweep", "0"]  # a later sweep would write the dumps while they are read
    with (folder / "osm.out").open("wb") as stream:
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
            yield SubnetManager(folder, process, (str(config), installed))
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End OpenSM. Killed, it would keep one of ibsim's few places for clients."""
    process.terminate()
    try:
        process.wait(END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _first_error(text: str) -> str:
    """Return the log's first error, which the later ones follow from; else its last lines."""
    return next((line for line in text.splitlines() if " ERR " in line), _last(text))


def _last(text: str) -> str:
    return " / ".join(text.strip().splitlines()[-3:]) or "none"
