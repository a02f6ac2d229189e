"""Test every role, several at a time: `python -m tests.images.molecule [ROLE...]`.

Molecule runs scenarios side by side only inside a collection. Each role here is a project of
its own, with hosts of its own, so processes side by side cannot meet. What a role's run prints
goes to build/molecule/<role>.log, and to the terminal if it fails. Ended from outside, it ends
the runs and removes their hosts.

Modules go by Mitogen, which keeps an interpreter on each host; without it each module starts one,
which takes twice the processor time. `--plain` goes without, as the lab does. A run that does not
end (one of switch_config's under Mitogen did not) is ended, what it was waiting for goes to its
log, and it is made once more without Mitogen, where a role that waits for ever does so again.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.images.__main__ import main as make_image
from tests.processes import descendants

REPO = Path(__file__).resolve().parents[2]
LOGS = REPO / "build" / "molecule"
LONGEST_FIRST = ("switch_config", "haiscale", "hfreduce", "slurm_controller", "host_base")
"""Started before the others, so that no long run is left alone at the end."""

MODULE_RUNS: dict[str, int] = {
    "haiscale": 203,
    "hfreduce": 246,
    "host_base": 246,
    "kernel_tuning": 98,
    "munge": 115,
    "node_exporter": 64,
    "python_package": 205,
    "slurm_controller": 136,
    "slurm_node": 156,
    "stamp": 62,
    "subnet_manager": 156,
    "switch_config": 640,
}
"""How many modules a role's scenario may run on its hosts, for they are what it costs: a tenth more
than it ran when this was written."""

LONGEST_S = 1500.0
"""After this long a run is ended; the longest takes 600 s on two slow processors."""

NEVER_ENDED = 124
"""The exit code of a run that was ended for it, as timeout(1) has it."""

QUICK = ("destroy", "converge", "verify", "destroy")
"""Molecule's commands where neither a check run nor a second run is asked for."""

PLAIN = {"switch_config"}
"""Roles whose scenarios never go by Mitogen. A switch is asked by commands and APIs, no modules,
so nothing is faster; and where the scenario cuts its connection, Mitogen may wait for ever."""

JOBS = (os.cpu_count() or 1) + 1
"""A run is the processor's time, but for the first's: switch_config mostly waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How the test of one role went."""

    role: str
    exit_code: int
    duration_s: float
    module_runs: int
    shown: list[str] | None
    """The tasks that showed a secret; None where nobody looked."""
    log: Path


class Runs:
    """The molecule processes under way, each the leader of a process group."""

    def __init__(self, *, plain: bool, quick: bool = False) -> None:
        self._plain = plain
        self._sequence = QUICK if quick else ("test",)
        self._under_way: dict[str, subprocess.Popen[bytes]] = {}
        self._stopped = False

    def test(self, role: str) -> Result:
        """Run the role's scenario from create to destroy."""
        log = LOGS / f"{role}.log"
        started = time.monotonic()
        with log.open("wb") as output:
            plain = self._plain or role in PLAIN
            code = self._run(role, output, plain=plain)
            if code == NEVER_ENDED and not plain and not self._stopped:
                print(f"{role:20} did not end; once more, without Mitogen: {log}", flush=True)
                code = self._run(role, output, plain=True)
        return Result(
            role=role,
            exit_code=code,
            duration_s=time.monotonic() - started,
            module_runs=_runs_counted(role),
            shown=_tasks_shown(role),
            log=log,
        )

    def _run(self, role: str, output: IO[bytes], *, plain: bool) -> int:
        """Return the first exit code that is not 0; NEVER_ENDED if a command had to be ended."""
        for file in (_counted(role), _shown(role)):
            file.unlink(missing_ok=True)
        code = 0
        for command in self._sequence:
            if code != 0 and command != "destroy":
                continue
            process = _molecule(command, role, output, plain=plain)
            self._under_way[role] = process
            if self._stopped:  # between the signal and here
                _end(process)
            try:
                code = process.wait(timeout=LONGEST_S) or code
            except subprocess.TimeoutExpired:
                _write_processes(process, output)
                _end(process)
                _destroy(role, output)
                return NEVER_ENDED
        return code

    def stop(self) -> None:
        """End every run and remove the hosts of those that had not ended."""
        self._stopped = True
        for role, process in list(self._under_way.items()):
            if process.poll() is not None:
                continue
            _end(process)
            with (LOGS / f"{role}.log").open("ab") as output:
                _destroy(role, output)
            print(f"{role:20} ended, its hosts removed", flush=True)


def _molecule(
    command: str, role: str, output: IO[bytes], *, plain: bool
) -> subprocess.Popen[bytes]:
    """Begin one of molecule's commands on a role, as the leader of a process group."""
    return subprocess.Popen(
        [_bin_directory() / "molecule", command],
        cwd=REPO / "roles" / role,
        env=_environment(role, plain=plain),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def _destroy(role: str, output: IO[bytes]) -> None:
    """Remove the hosts of a run that was ended."""
    process = _molecule("destroy", role, output, plain=True)
    try:
        process.wait(timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        _end(process)


def _write_processes(leader: subprocess.Popen[bytes], output: IO[bytes]) -> None:
    """Write what a run that does not end consists of, and what each of its processes waits for."""
    output.write(f"did not end within {LONGEST_S:.0f} s; it was:\n".encode())
    output.flush()
    pids = ",".join(map(str, _with_descendants(leader.pid)))
    columns = "pid,ppid,etimes,stat,wchan:24,args"
    subprocess.run(["ps", "-ww", "--forest", "-o", columns, "-p", pids], stdout=output, check=False)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a run: molecule's own end would test the clean-up first."""
    for pid in _with_descendants(process.pid):  # Ansible's workers have sessions of their own
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def _with_descendants(pid: int) -> list[int]:
    """Return a process and all that stem from it now, before one ends and leaves the next."""
    return [pid, *(below for below, _ in descendants(pid))]


def _bin_directory() -> Path:
    return Path(sys.executable).parent


def _environment(role: str, *, plain: bool) -> dict[str, str]:
    return {
        **os.environ,
        **({} if plain else _mitogen()),
        "PATH": f"{_bin_directory()}{os.pathsep}{os.environ['PATH']}",
        "ANSIBLE_NOCOLOR": "1",
        "NO_COLOR": "1",
        "MOLECULE_EPHEMERAL_DIRECTORY": str(LOGS / role),
        "ANSIBLE_CALLBACK_PLUGINS": str(Path(__file__).parent / "callback_plugins"),
        "ANSIBLE_CALLBACKS_ENABLED": "module_runs,secrets_shown",
        "MODULE_RUNS": str(_counted(role)),
        "SECRETS_SHOWN": str(_shown(role)),
    }


def _counted(role: str) -> Path:
    """Return the file of the numbers of modules that each of the scenario's playbooks ran."""
    return LOGS / f"{role}.runs"


def _runs_counted(role: str) -> int:
    counted = _counted(role)
    return sum(map(int, counted.read_text().split())) if counted.exists() else 0


def _shown(role: str) -> Path:
    """Return the file of the tasks that showed a secret: one its scenario describes in SECRETS."""
    return LOGS / f"{role}.shown"


def _tasks_shown(role: str) -> list[str] | None:
    return sorted(set(_shown(role).read_text().splitlines())) if _shown(role).exists() else None


def _mitogen() -> dict[str, str]:
    if importlib.util.find_spec("ansible_mitogen") is None:
        raise SystemExit("there is no Mitogen; run make setup, or give --plain")
    plugins = Path(__file__).parent / "strategy_plugins"
    return {"ANSIBLE_STRATEGY_PLUGINS": str(plugins), "ANSIBLE_STRATEGY": "mitogen_anywhere"}


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
    parser.add_argument("--quick", action="store_true", help="apply once and verify, no more")
    parser.add_argument("--plain", action="store_true", help="without Mitogen")
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
    runs = Runs(plain=arguments.plain, quick=arguments.quick)
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
        budget = MODULE_RUNS.get(result.role, result.module_runs)
        fits = result.module_runs <= budget
        looked = result.exit_code != 0 or (result.module_runs > 0 and result.shown is not None)
        passed = result.exit_code == 0 and fits and looked and not result.shown
        verdict = "ok" if passed else "FAILED"
        print(
            f"{result.role:20} {verdict:6} {result.duration_s:6.1f} s"
            f" {result.module_runs:5} modules  {result.log.relative_to(REPO)}",
            flush=True,
        )
        if result.exit_code != 0:
            print(result.log.read_text()[-6000:], flush=True)
        if result.shown:
            print("a secret can be read, no_log is missing:", *result.shown, sep="\n", flush=True)
        if not looked:
            print(f"{result.role}: the callbacks of tests/images were not run, so nothing is known")
        if not fits:
            print(
                f"{result.role}: its scenario ran {result.module_runs} modules, and MODULE_RUNS in"
                f" tests/images/molecule.py allows {budget}: ask less, or allow it more there"
            )
        failed += verdict != "ok"
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
