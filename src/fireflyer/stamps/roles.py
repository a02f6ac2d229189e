"""What a role is: its files, those of the roles that it includes, and the names they mention."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fireflyer.folders import digest_of, digest_of_folder, files_below

APPLIED = (
    "tasks", "handlers", "defaults", "vars", "files", "templates", "meta",
)  # fmt: skip
"""Folders of a role that decide what it does to a host; its tests and its README do not."""
_INCLUDED = re.compile(
    r"(?:include_role|import_role):(?:\s+\w+:.*)*?\s+name:\s*[\"']?(?:\w+\.\w+\.)?(\w+)"
    r"|-\s*\{?role:\s*(?:\w+\.\w+\.)?(\w+)"
)
_OF_THE_COLLECTION = re.compile(r"\bfireflyer\.cluster\.(\w+)")
"""A role, or a plugin."""
_SOURCES = re.compile(r"\{\{ role_path \}\}/([\w./-]+)")
"""A folder of sources that a role's default names, such as a package of stack/."""


@dataclass(frozen=True, slots=True)
class Role:
    """A role as it stands on the controller."""

    name: str
    digest: str
    """Of its files, of those of the roles that it includes, and of the sources they name."""
    texts: tuple[str, ...]
    """The files that can mention a variable."""
    names: tuple[str, ...]
    """Its own and those of the roles that it includes: what their variables begin with."""


@cache
def read_role(folder: Path, name: str) -> Role:
    """Read a role below `folder`.

    Raises `FileNotFoundError` where there is no such role.
    """
    names: list[str] = []
    files: list[Path] = []
    sources: list[Path] = []
    left = [name]
    while left:
        if (current := left.pop()) in names:
            continue
        root = folder / current
        if not root.is_dir():
            raise FileNotFoundError(f"there is no role {current} in {folder}")
        names.append(current)
        own = [file for part in APPLIED for file in files_below(root / part)]
        files += own
        for text in (file.read_text() for file in own if file.suffix == ".yml"):
            left += [a or b for a, b in _INCLUDED.findall(text)]
            for plugin in _OF_THE_COLLECTION.findall(text):
                files += _plugin_files(folder, plugin)
            sources += [(root / path).resolve() for path in _SOURCES.findall(text)]
    digests = [
        digest_of(list(dict.fromkeys(files)), folder.parent),
        *(digest_of_folder(path) for path in sources),
    ]
    return Role(
        name=name,
        digest=hashlib.sha256("".join(digests).encode()).hexdigest(),
        texts=tuple(file.read_text(errors="replace") for file in files),
        names=tuple(names),
    )


def _plugin_files(folder: Path, name: str) -> list[Path]:
    """Return the files of a plugin beside the folder of roles; none where `name` is a role.

    A file may define several filters, each of which begins with its name: `switch_lines` is one
    of `switch.py`.
    """
    if (folder / name).is_dir():
        return []
    plugins = [file for file in files_below(folder.parent / "plugins") if file.suffix == ".py"]
    return [file for file in plugins if f"{name}_".startswith(f"{file.stem}_")] or plugins
