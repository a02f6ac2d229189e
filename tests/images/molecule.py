"""Test every role, several at a time: `python -m tests.images.molecule [ROLE...]`.

Molecule runs scenarios side by side only inside a collection. Each role here is a project of
its own, with hosts of its own, so processes side by side cannot meet. What a role's run prints
goes to build/molecule/<role>.log, and to the terminal if it fails.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from tests.images.__main__ import main as make_image

REPO = Path(__file__).resolve().parents[2]
LOGS = REPO / "build" / "molecule"
LONGEST_FIRST = ("switch_config", "slurm_node", "host_base", "slurm_controller")
"""Started before the others, so that no long run is left alone at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How the test of one role went."""

    role: str
    exit_code: int
    duration_s: float
    log: Path


def test(role: str) -> Result:
    """Run the role's scenario from create to destroy."""
    bin_directory = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{bin_directory}{os.pathsep}{os.environ['PATH']}",
        "ANSIBLE_NOCOLOR": "1",
        "NO_COLOR": "1",
        "MOLECULE_EPHEMERAL_DIRECTORY": str(LOGS / role),
    }
    log = LOGS / f"{role}.log"
    started = time.monotonic()
    with log.open("w") as output:
        done = subprocess.run(
            [bin_directory / "molecule", "test"],
            cwd=REPO / "roles" / role,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    return Result(
        role=role, exit_code=done.returncode, duration_s=time.monotonic() - started, log=log
    )


def main() -> int:
    """Return 0 if every role passed, 1 if one failed, 2 for no such role, 3 without podman."""
    roles = sorted(
        path.parts[-4] for path in (REPO / "roles").glob("*/molecule/default/molecule.yml")
    )
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("role", nargs="*", help="roles to test; all of them if none is named")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="roles at a time")
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.role) - set(roles)):
        parser.error(f"no such role: {', '.join(unknown)}; there are {', '.join(roles)}")
    others = [role for role in roles if role not in LONGEST_FIRST]
    chosen = arguments.role or [*LONGEST_FIRST, *others]
    if (status := make_image()) != 0:  # says why; five scenarios would each say it again
        return status
    LOGS.mkdir(parents=True, exist_ok=True)
    failed = 0
    print(f"testing {len(chosen)} roles, {arguments.jobs} at a time", flush=True)
    with ThreadPoolExecutor(max_workers=arguments.jobs) as pool:
        for future in as_completed([pool.submit(test, role) for role in chosen]):
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
