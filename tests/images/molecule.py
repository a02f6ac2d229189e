"""Test every role, several at a time: `python -m tests.images.molecule [ROLE...]`.

Molecule runs scenarios side by side only inside a collection. Each role here is a project of
its own, with hosts of its own, so processes side by side cannot meet. What a role's run prints
goes to build/molecule/<role>.log, and to the terminal if it fails. Ended from outside, it ends
the runs and removes their hosts.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.images.__main__ import main as make_image

REPO = Path(__file__).resolve().parents[2]
LOGS = REPO / "build" / "molecule"
LONGEST_FIRST = ("switch_config", "haiscale", "hfreduce", "slurm_node", "python_package")
"""Started before the others, so that no long run is left alone at the end."""

JOBS = os.cpu_count() or 1
"""One more than this took longer: a run is the processor's time, not waiting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How the test of one role went."""

    role: str
    exit_code: int
    duration_s: float
    log: Path


class Runs:
    """The molecule processes under way, each the leader of a process group."""

    def __init__(self) -> None:
        self._under_way: dict[str, subprocess.Popen[bytes]] = {}
        self._stopped = False

    def test(self, role: str) -> Result:
        """Run the role's scenario from create to destroy."""
        log = LOGS / f"{role}.log"
        started = time.monotonic()
        with log.open("wb") as output:
            process = _molecule("test", role, output)
            self._under_way[role] = process
            if self._stopped:  # between the signal and here
                _end(process)
            code = process.wait()
        return Result(role=role, exit_code=code, duration_s=time.monotonic() - started, log=log)

    def stop(self) -> None:
        """End every run and remove the hosts of those that had not ended."""
        self._stopped = True
        for role, process in list(self._under_way.items()):
            if process.poll() is not None:
                continue
            _end(process)
            process.wait()
            with (LOGS / f"{role}.log").open("ab") as output:
                _molecule("destroy", role, output).wait()
            print(f"{role:20} ended, its hosts removed", flush=True)


def _molecule(command: str, role: str, output: IO[bytes]) -> subprocess.Popen[bytes]:
    """Begin one of molecule's commands on a role, as the leader of a process group."""
    return subprocess.Popen(
        [_bin_directory() / "molecule", command],
        cwd=REPO / "roles" / role,
        env=_environment(role),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)  # molecule's own end would test the clean-up first


def _bin_directory() -> Path:
    return Path(sys.executable).parent


def _environment(role: str) -> dict[str, str]:
    return {
        **os.environ,
        "PATH": f"{_bin_directory()}{os.pathsep}{os.environ['PATH']}",
        "ANSIBLE_NOCOLOR": "1",
        "NO_COLOR": "1",
        "MOLECULE_EPHEMERAL_DIRECTORY": str(LOGS / role),
    }


def _interrupt(number: int, _: object) -> None:
    raise KeyboardInterrupt(f"signal {number}")


def main() -> int:
    """Return 0 if every role passed, 1 if one failed, 2 for no such role, 3 without podman.

    130: it was ended from outside.
    """
    roles = sorted(
        path.parts[-4] for path in (REPO / "roles").glob("*/molecule/default/molecule.yml")
    )
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("role", nargs="*", help="roles to test; all of them if none is named")
    parser.add_argument("--jobs", type=int, default=JOBS, help="roles at a time")
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.role) - set(roles)):
        parser.error(f"no such role: {', '.join(unknown)}; there are {', '.join(roles)}")
    others = [role for role in roles if role not in LONGEST_FIRST]
    chosen = arguments.role or [*LONGEST_FIRST, *others]
    if (status := make_image()) != 0:  # says why; five scenarios would each say it again
        return status
    LOGS.mkdir(parents=True, exist_ok=True)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    print(f"testing {len(chosen)} roles, {arguments.jobs} at a time", flush=True)
    runs = Runs()
    with ThreadPoolExecutor(max_workers=arguments.jobs) as pool:
        try:
            return _report(runs, pool, chosen)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            runs.stop()
            return 130


def _report(runs: Runs, pool: ThreadPoolExecutor, roles: Iterable[str]) -> int:
    failed = 0
    for future in as_completed([pool.submit(runs.test, role) for role in roles]):
        result = future.result()
        verdict = "ok" if result.exit_code == 0 else "FAILED"
        log = result.log.relative_to(REPO)
        print(f"{result.role:20} {verdict:6} {result.duration_s:6.1f} s  {log}", flush=True)
        if result.exit_code != 0:
            failed += 1
            print(result.log.read_text()[-6000:], flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
