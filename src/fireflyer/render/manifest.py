"""The manifest of a rendered tree: every file with its size and sum."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from fireflyer import __version__
from fireflyer.errors import OperatingError

MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a manifest."""

    path: str
    sha256: str
    bytes: int


def entry_of(path: str, data: bytes) -> Entry:
    """Return the entry of one file."""
    return Entry(path, hashlib.sha256(data).hexdigest(), len(data))


def manifest(files: Iterable[tuple[str, str | bytes]]) -> tuple[Entry, ...]:
    """Return the entry of each file in order of path."""
    entries = (entry_of(path, as_bytes(content)) for path, content in files)
    return tuple(sorted(entries, key=lambda entry: entry.path))


def as_bytes(content: str | bytes) -> bytes:
    """Return what is written: text in UTF-8."""
    return content.encode() if isinstance(content, str) else content


def print_manifest(site: str, entries: tuple[Entry, ...]) -> str:
    """Return manifest.json: no clock, no path of the machine."""
    content = {
        "site": site,
        "generator": f"fireflyer {__version__}",
        "files": [asdict(entry) for entry in entries],
    }
    return json.dumps(content, indent=1) + "\n"


def read_manifest(folder: Path) -> tuple[str, tuple[Entry, ...]]:
    """Return the site and the entries of a rendered tree's manifest.

    Raises:
        OperatingError: the folder has none, or one that cannot be read.
    """
    file = folder / MANIFEST
    try:
        content = json.loads(file.read_text())
        return str(content["site"]), tuple(
            Entry(str(e["path"]), str(e["sha256"]), int(e["bytes"])) for e in content["files"]
        )
    except FileNotFoundError:
        raise OperatingError(
            f"{folder} has no {MANIFEST}: it is not a rendered tree; name one that"
            " `fireflyer render` wrote"
        ) from None
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise OperatingError(
            f"{file} is damaged; remove {folder} and render the site again"
        ) from None
