"""Write artefacts to a folder: all of them or none, and nothing of anyone else's."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from fireflyer.errors import OperatingError
from fireflyer.render.manifest import MANIFEST, Entry, print_manifest, read_manifest
from fireflyer.render.write import Batch, write_batches

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


def write_tree(
    folder: Path, site: str, batches: Sequence[Batch], groups: tuple[str, ...], workers: int = 1
) -> tuple[int, int]:
    """Replace the groups' folders below `folder`; other groups stay as they are.

    The new tree is made beside the old one and takes its place in one step, so a failure
    leaves the old tree whole. Returns the number of files written and of those in the tree.

    Raises:
        OperatingError: the folder holds files that `render` did not write.
    """
    folder = folder.resolve()
    if Path.cwd().resolve().is_relative_to(folder):
        raise OperatingError(f"{folder} holds the folder you work in; name another")
    kept = _kept(folder, site, groups) if folder.exists() else {}
    folder.parent.mkdir(parents=True, exist_ok=True)
    _sweep(folder)
    new = Path(tempfile.mkdtemp(prefix=f".{folder.name}.{os.getpid()}.", dir=folder.parent))
    try:
        new.chmod(0o755)
        written = write_batches(new, batches, workers)
        for path in kept:
            target = new / path
            target.parent.mkdir(parents=True, exist_ok=True)
            os.link(folder / path, target)
        entries = tuple(sorted((*written, *kept.values()), key=lambda entry: entry.path))
        (new / MANIFEST).write_text(print_manifest(site, entries))
        _exchange(new, folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return len(written), len(entries)


def _sweep(folder: Path) -> None:
    """Remove half-made trees of renderings that were killed; a process that lives keeps its own."""
    for left in folder.parent.glob(f".{folder.name}.*.*"):
        owner = left.name.removeprefix(f".{folder.name}.").partition(".")[0]
        if owner.isdigit() and not Path("/proc", owner).exists():
            shutil.rmtree(left, ignore_errors=True)


def _kept(folder: Path, site: str, groups: tuple[str, ...]) -> dict[str, Entry]:
    """Return the old tree's entries of other groups; refuse a folder that is not ours."""
    if not folder.is_dir():
        raise OperatingError(f"{folder} is a file; name a folder to write to")
    present = {str(p.relative_to(folder)) for p in folder.rglob("*") if not p.is_dir()}
    if not present:
        return {}
    if MANIFEST not in present:
        raise OperatingError(
            f"{folder} is not empty and was not rendered; name an empty folder, or empty it"
        )
    rendered, listed = read_manifest(folder)
    entries = {entry.path: entry for entry in listed}
    foreign = sorted(present - entries.keys() - {MANIFEST})
    if foreign:
        more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
        raise OperatingError(
            f"{folder} holds files that render did not write ({', '.join(foreign[:3])}{more});"
            " move them elsewhere, rendering replaces the folder"
        )
    kept = {
        path: entry
        for path, entry in entries.items()
        if path.partition("/")[0] not in groups and path in present
    }
    if kept and rendered != site:
        raise OperatingError(
            f"{folder} holds {rendered}, not {site}; render all of {site}, or name another folder"
        )
    for path, entry in kept.items():
        if hashlib.sha256((folder / path).read_bytes()).hexdigest() != entry.sha256:
            raise OperatingError(
                f"{folder / path} was edited since it was rendered; render without --only, or"
                " move it elsewhere"
            )
    return kept


def _exchange(new: Path, folder: Path) -> None:
    """Put `new` in the place of `folder`, and what was there in the place of `new`."""
    if not folder.exists():
        new.rename(folder)
        return
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if (
        renameat2 is not None
        and renameat2(_AT_FDCWD, os.fsencode(new), _AT_FDCWD, os.fsencode(folder), _RENAME_EXCHANGE)
        == 0
    ):
        return
    old = folder.with_name(f".{folder.name}.old")
    folder.rename(old)
    new.rename(folder)
    shutil.rmtree(old)
