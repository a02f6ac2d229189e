"""Compare a rendered tree with what the intent gives now, file by file: the last net.

The readers of `prove` say which value differs. What they do not see, a sum still does: a file
that was edited in a place without meaning, or in one that no reader knows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from fireflyer.errors import OperatingError
from fireflyer.model.fabric import Fabric
from fireflyer.render import stream
from fireflyer.render.manifest import MANIFEST, Entry, manifest, read_manifest
from fireflyer.verify.finding import Finding

CHECK = "artefact"
AGAIN = "render the site again to replace it"


def planned_files(fabric: Fabric) -> tuple[Entry, ...]:
    """Return the entry of every file that the intent renders now."""
    return manifest(stream(fabric))


def groups_of(planned: Iterable[Entry]) -> tuple[str, ...]:
    """Return the groups that have a file, in order."""
    return tuple(dict.fromkeys(entry.path.partition("/")[0] for entry in planned))


def require_groups(tree: Path, groups: Iterable[str]) -> None:
    """Check that a tree was rendered with all these groups.

    Raises:
        OperatingError: the folder is no rendered tree, or lacks a group.
    """
    listed = set(groups_of(read_manifest(tree)[1]))
    if lacking := [group for group in groups if group not in listed]:
        raise OperatingError(
            f"{tree} was rendered without {', '.join(lacking)}; render the whole site again"
        )


def artefact_findings(
    tree: Path, planned: Sequence[Entry], reported: Collection[str]
) -> tuple[Finding, ...]:
    """Return every file that is missing, edited, out of date or not planned.

    Args:
        tree: A rendered tree.
        planned: What the intent renders now.
        reported: Files of which a reader has said what is wrong.

    Raises:
        OperatingError: the folder is no rendered tree.
    """
    return tuple(_findings(tree, planned, reported))


def _findings(tree: Path, planned: Sequence[Entry], reported: Collection[str]) -> Iterator[Finding]:
    listed = {entry.path: entry for entry in read_manifest(tree)[1]}
    for entry in planned:
        if listed.get(entry.path) != entry:
            message = f"{entry.path} is not listed as the intent renders it now"
            yield Finding(CHECK, MANIFEST, message, AGAIN)
        if entry.path in reported:
            continue
        file = tree / entry.path
        if not file.is_file():
            yield Finding(CHECK, entry.path, "is missing", "render the site again")
        elif hashlib.sha256(file.read_bytes()).hexdigest() != entry.sha256:
            message = "its text is not what the intent renders now; no reader saw another value"
            yield Finding(CHECK, entry.path, message, AGAIN)
    known = {entry.path for entry in planned}
    for path in sorted(listed.keys() - known):
        yield Finding(CHECK, MANIFEST, f"{path} is listed, and is not planned", AGAIN)
    for group in groups_of(planned):
        for file in sorted((tree / group).rglob("*")):
            path = str(file.relative_to(tree))
            strange = path not in known and path not in reported
            if strange and not file.is_dir() and not file.name.startswith("."):
                yield Finding(CHECK, path, "is not planned", "remove it")
