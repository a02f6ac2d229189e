"""Edit roles, and see whether their scenarios notice: `python -m tests.mutations_roles [ROLE...]`.

In a copy of the repository each edit is applied to new hosts and verified. One that nothing noticed
is printed: a line that `verify.yml` should have. Exits with 1 if less than 90 % of the edits of a
role were found. A minute or two each: for a person who waits, not for `make test`.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from tests.mutations_roles.edits import Edit, sample

REPO = Path(__file__).parents[2]
COPY = REPO / "build" / "mutations_roles"
GOAL = 0.9
TIME_LIMIT_S = 1200


def copy() -> None:
    """Make the copy: what git knows or would, and links to what takes long to make."""
    shutil.rmtree(COPY, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPO, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        source = REPO / name
        if source.is_symlink() or source.is_file():
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, COPY / name, follow_symlinks=False)
    (COPY / "build").mkdir()
    for name in ("images", "packages"):
        (REPO / "build" / name).mkdir(parents=True, exist_ok=True)
        (COPY / "build" / name).symlink_to(REPO / "build" / name)


def found(edit: Edit) -> bool:
    """Return whether the role's scenario fails with the edit."""
    file = COPY / "roles" / edit.file
    former = file.read_text()
    file.write_text(edit.text)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tests.images.molecule", "--quick", edit.role],
            cwd=COPY, capture_output=True, text=True, timeout=TIME_LIMIT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return True
    finally:
        file.write_text(former)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{edit.role} cannot be tested: {done.stderr.strip()}")
    return done.returncode == 1


def main() -> int:
    """Print a row for each role and the edits that were not found; return 1 below the goal."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations_roles", description=__doc__)
    parser.add_argument("role", nargs="*", help="roles to edit; all of them if none is named")
    parser.add_argument("--count", type=int, default=10, help="edits of each role")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    roles = REPO / "roles"
    names = arguments.role or sorted(p.parts[-3] for p in roles.glob("*/meta/main.yml"))
    copy()
    below = False
    print("| role | edits | found | not found |\n| --- | --- | --- | --- |", flush=True)
    for name in names:
        drawn = sample(roles, name, arguments.count, arguments.seed)
        missed = [edit for edit in drawn if not found(edit)]
        told = "; ".join(f"`{edit.file}:{edit.line}` {edit.what}" for edit in missed)
        share = 1 - len(missed) / len(drawn) if drawn else 1
        print(f"| {name} | {len(drawn)} | {len(drawn) - len(missed)} | {told} |", flush=True)
        below |= share < GOAL
    return int(below)


if __name__ == "__main__":
    sys.exit(main())
