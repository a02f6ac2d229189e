#!/usr/bin/env python3
"""Stands for MLNX-OS's `cli -h`, as far as the role uses it."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

STATE = Path("/var/lib")
RUNNING, JOB, SAVED = STATE / "fake_running", STATE / "fake_job", STATE / "fake_saved"
SETTING = re.compile(
    r"(?:no )?(interface ib \S+ (?:description|shutdown)|hostname|username \S+ \S+)"
)
READ_ONLY = ("enable", "configure terminal")


def show(what: str) -> str:
    """Return what `show WHAT` prints."""
    if what == "running-config":
        return f"##\n## Running database\n##\n{RUNNING.read_text()}"
    if what == "clock":
        return "Time: 23:59:50\nDate: 2030/12/31\nTime zone: UTC\n"
    up = "no interface ib 1/1 shutdown" in RUNNING.read_text()
    return (
        f"IB1/1 state:\n   Logical port state          : {'Active' if up else 'Down'}\n"
        "   Physical port state         : LinkUp\n"
        "IB1/2 state:\n   Logical port state          : Down\n"
        "   Physical port state         : Polling\n"
    )


def setting(line: str) -> None:
    """Take a line of configuration; it replaces the line that says otherwise."""
    lines = RUNNING.read_text().splitlines()
    if found := SETTING.match(line):
        old = (SETTING.match(other) for other in lines)
        keep = [o for o, m in zip(lines, old, strict=True) if not m or m[1] != found[1]]
        place = next((n for n, o in enumerate(lines) if o not in keep), len(keep))
        lines = [*keep[:place], line, *keep[place:]]
    elif line not in lines:
        lines.append(line)
    RUNNING.write_text("\n".join(lines) + "\n")


def main(words: list[str]) -> int:
    """Run commands until one fails."""
    if words[0] != "-h":
        return 2
    in_job = False
    for line in shlex.split(" ".join(words[1:])):
        if line.startswith("show "):
            print(show(line[5:]), end="")
        elif line.startswith("job "):
            in_job = True
            JOB.write_text(json.dumps([line]))
        elif in_job:
            JOB.write_text(json.dumps([*json.loads(JOB.read_text()), line]))
        elif line.startswith("no job "):
            JOB.unlink()
        elif line == "configuration write":
            SAVED.write_text(RUNNING.read_text())
        elif line.startswith("configuration write to "):
            (STATE / "fake_copy").write_text(RUNNING.read_text())
        elif line.startswith("bogus"):
            print(f"% Unrecognized command: {line}", file=sys.stderr)
            return 1
        elif line not in READ_ONLY:
            setting(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
