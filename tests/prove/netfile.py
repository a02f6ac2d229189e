"""Damage an ibsim netfile as a person with an editor would."""

from __future__ import annotations

import re
from pathlib import Path

_NODE = re.compile(r'^(?:Switch|Ca)\s+\d+\s+"([^"]+)"\s+#\s+"([^"]+)"')
_PORT = re.compile(r'^\[(\d+)\] "([^"]+)"\[(\d+)\]')


def _ids(lines: list[str]) -> dict[str, str]:
    """Return the id of each node by its description."""
    found = (_NODE.match(line) for line in lines)
    return {match[2]: match[1] for match in found if match}


def _line(lines: list[str], node: str, port: int) -> int:
    """Return the number of the line of a port of the node with this id."""
    here = ""
    for number, line in enumerate(lines):
        if match := _NODE.match(line):
            here = match[1]
        elif here == node and line.startswith(f"[{port}] "):
            return number
    raise AssertionError(f"{node} has no cabled port {port}")


def remove_link(file: Path, description: str, port: int, ends: int = 2) -> None:
    """Remove both ends of one link, or its near end only."""
    lines = file.read_text().splitlines()
    near = _line(lines, _ids(lines)[description], port)
    match = _PORT.match(lines[near])
    assert match is not None
    far = _line(lines, match[2], int(match[3]))
    for number in sorted((near, far)[:ends], reverse=True):
        del lines[number]
    file.write_text("\n".join(lines) + "\n")


def swap_hosts(file: Path, one: str, two: str) -> None:
    """Cross the cables of two adapters."""
    swap_at_hosts(file, one, two)
    swap_at_leaves(file, one, two)


def swap_at_hosts(file: Path, one: str, two: str) -> None:
    """Exchange the lines of two adapters' ports."""
    lines = file.read_text().splitlines()
    ids = _ids(lines)
    at = [_line(lines, ids[name], 1) for name in (one, two)]
    lines[at[0]], lines[at[1]] = lines[at[1]], lines[at[0]]
    file.write_text("\n".join(lines) + "\n")


def swap_at_leaves(file: Path, one: str, two: str) -> None:
    """Exchange two adapters in the lines of the ports they are in."""
    lines = file.read_text().splitlines()
    ids = _ids(lines)
    first, second = ids[one], ids[two]
    for number, line in enumerate(lines):
        if line.startswith("["):
            swapped = line.replace(f'"{first}"', '"@"').replace(f'"{second}"', f'"{first}"')
            lines[number] = swapped.replace('"@"', f'"{second}"')
    file.write_text("\n".join(lines) + "\n")
