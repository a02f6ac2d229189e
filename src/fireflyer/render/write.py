"""Write files as they are rendered: one batch after the other, or several at a time."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from fireflyer.errors import OperatingError
from fireflyer.processes import die_with_parent
from fireflyer.render.manifest import Entry, as_bytes, entry_of

Batch: TypeAlias = Callable[[], Iterable[tuple[str, str | bytes]]]
"""Renders some files: paths below the output folder, and what they hold."""
_inherited: tuple[Path, Sequence[Batch]]
"""What a worker process has from the one that forked it."""


def write_batches(folder: Path, batches: Sequence[Batch], workers: int) -> list[Entry]:
    """Write every file of the batches; return their entries, in no order.

    With several workers each batch is rendered in a process forked from this one, so that
    the fabric is computed once and shared.

    Raises:
        OperatingError: a process was ended from outside.
    """
    workers = min(workers, len(batches), os.cpu_count() or 1)
    if workers <= 1:
        return [entry for batch in batches for entry in _write(folder, batch())]
    import multiprocessing  # slow to import, and seldom wanted
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    forked = multiprocessing.get_context("fork")
    handed = (os.getpid(), folder, batches)
    try:
        with ProcessPoolExecutor(workers, forked, _inherit, handed) as pool:
            try:
                written = list(pool.map(_write_batch, range(len(batches))))
            except BaseException:  # do not wait for what nobody wants any more
                for child in multiprocessing.active_children():
                    child.kill()
                raise
    except BrokenProcessPool:
        raise OperatingError(
            "a process that rendered was ended from outside, perhaps for its memory; what was in"
            " the output folder before is whole"
        ) from None
    return [entry for entries in written for entry in entries]


def _inherit(parent: int, folder: Path, batches: Sequence[Batch]) -> None:
    global _inherited
    die_with_parent()
    if os.getppid() != parent:  # it ended before that was said
        os._exit(1)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is told, and ends this one
    _inherited = folder, batches


def _write_batch(number: int) -> list[Entry]:
    folder, batches = _inherited
    return _write(folder, batches[number]())


def _write(folder: Path, files: Iterable[tuple[str, str | bytes]]) -> list[Entry]:
    made: set[str] = set()
    entries = []
    for path, content in files:
        parent = path.rpartition("/")[0]
        if parent not in made:
            (folder / parent).mkdir(parents=True, exist_ok=True)
            made.add(parent)
        data = as_bytes(content)
        with open(f"{folder}/{path}", "wb") as file:  # noqa: PTH123 - thousands of files
            file.write(data)
        entries.append(entry_of(path, data))
    return entries
