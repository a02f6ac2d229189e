"""Edit roles, and see whether their scenarios notice: `python -m tests.mutations_roles [ROLE...]`.

In a copy of the repository each edit is applied to new hosts and verified. One that nothing noticed
is printed: a line that `verify.yml` should have. Exits with 1 if less than 90 % of the edits of a
role were found. A minute or two each, told as it ends: for a person who waits, not for `make test`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.mutations_roles.edits import Edit, sample

REPO = Path(__file__).parents[2]
COPIES = REPO / "build" / "mutations_roles"
GOAL = 0.9
TIME_LIMIT_S = 1200


def copied(role: str) -> Path:
    """Make a copy for a role: what git knows or would, and links to what takes long to make."""
    folder = COPIES / role
    shutil.rmtree(folder, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPO, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        source = REPO / name
        if source.is_symlink() or source.is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, folder / name, follow_symlinks=False)
    (folder / "build").mkdir()
    for name in ("images", "packages"):
        (REPO / "build" / name).mkdir(parents=True, exist_ok=True)
        (folder / "build" / name).symlink_to(REPO / "build" / name)
    return folder


def found(folder: Path, edit: Edit) -> bool:
    """Return whether the role's scenario fails with the edit."""
    file = folder / "roles" / edit.file
    former = file.read_text()
    file.write_text(edit.text)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tests.images.molecule", "--quick", edit.role],
            cwd=folder, capture_output=True, text=True, timeout=TIME_LIMIT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return True
    finally:
        file.write_text(former)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{edit.role} cannot be tested: {done.stderr.strip()}")
    return done.returncode == 1


def row(role: str, count: int, seed: int) -> tuple[str, float]:
    """Try a role's edits; return the row of the table and the share that was found."""
    folder = copied(role)
    drawn = sample(REPO / "roles", role, count, seed)
    missed = []
    for edit in drawn:
        began = time.monotonic()
        noticed = found(folder, edit)
        missed += [] if noticed else [edit]
        word, duration_s = "found" if noticed else "NOT FOUND", time.monotonic() - began
        print(f"{word:9} {duration_s:5.0f} s  {_told(edit)}", file=sys.stderr, flush=True)
    shutil.rmtree(folder)
    told = "; ".join(map(_told, missed))
    share = 1 - len(missed) / len(drawn) if drawn else 1.0
    return f"| {role} | {len(drawn)} | {len(drawn) - len(missed)} | {told} |", share


def _told(edit: Edit) -> str:
    return f"`{edit.file}:{edit.line}` {edit.what}"


def main() -> int:
    """Print a row for each role and the edits that were not found; return 1 below the goal."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations_roles", description=__doc__)
    parser.add_argument("role", nargs="*", help="roles to edit; all of them if none is named")
    parser.add_argument("--count", type=int, default=10, help="edits of each role")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="roles at a time")
    arguments = parser.parse_args()
    names = arguments.role or sorted(p.parts[-3] for p in (REPO / "roles").glob("*/meta/main.yml"))
    below = False
    print("| role | edits | found | not found |\n| --- | --- | --- | --- |", flush=True)
    with ThreadPoolExecutor(max_workers=arguments.jobs) as pool:
        for line, share in pool.map(lambda name: row(name, arguments.count, arguments.seed), names):
            print(line, flush=True)
            below |= share < GOAL
    return int(below)


if __name__ == "__main__":
    sys.exit(main())
