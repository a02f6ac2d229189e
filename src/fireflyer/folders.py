"""Files that somebody wrote, as one digest."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

MADE = re.compile(r"__pycache__|build|dist|.*\.egg-info|.*\.so|\..*")
"""What building and testing leave in a folder of sources."""


def digest_of(files: list[Path], below: Path) -> str:
    """Return the SHA-256 of files, of their names below a folder, and of who may run them."""
    found = hashlib.sha256()
    for file in sorted(files):
        content = file.read_bytes()
        runs = file.stat().st_mode & 0o111 != 0
        found.update(f"{file.relative_to(below)} {runs} {len(content)}\n".encode())
        found.update(content)
    return found.hexdigest()


@cache
def digest_of_folder(folder: Path) -> str:
    """Return the SHA-256 of a folder of sources, or of a single file."""
    if folder.is_file():
        return digest_of([folder], folder.parent)
    return digest_of(list(files_below(folder)), folder)


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder that somebody wrote."""
    if not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        if MADE.fullmatch(path.name):
            continue
        if path.is_dir():
            yield from files_below(path)
        elif path.is_file():
            yield path
