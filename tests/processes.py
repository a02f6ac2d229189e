"""Processes of this machine, as /proc shows them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def descendants(pid: int) -> Iterator[tuple[int, str]]:
    """Yield the processes below one with their names, less those that end meanwhile."""
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, (_said(task) or "").split()):
            if name := _said(Path(f"/proc/{child}/comm")):
                yield child, name.strip()
                yield from descendants(child)


def running(pid: int, name: str) -> bool:
    """Return whether a process of that name has not ended."""
    stat = _said(Path(f"/proc/{pid}/stat"))
    return stat is not None and f"({name})" in stat and ") Z " not in stat


def _said(file: Path) -> str | None:
    """Return a file of /proc; None where its process has gone, or goes while it is read."""
    try:
        return file.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
