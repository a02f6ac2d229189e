"""Write files as they are rendered: one batch after the other, or several at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from fireflyer.render.manifest import Entry, as_bytes, entry_of

Batch: TypeAlias = Callable[[], Iterable[tuple[str, str | bytes]]]
"""Renders some files: paths below the output folder, and what they hold."""
_inherited: tuple[Path, Sequence[Batch]]
"""What a worker process has from the one that forked it."""


def write_batches(folder: Path, batches: Sequence[Batch], workers: int) -> list[Entry]:
    """Write every file of the batches; return their entries, in no order.

    With several workers each batch is rendered in a process forked from this one, so that
    the fabric is computed once and shared.
    """
    workers = min(workers, len(batches), os.cpu_count() or 1)
    if workers <= 1:
        return [entry for batch in batches for entry in _write(folder, batch())]
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor  # slow to import, and seldom wanted

    forked = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(workers, forked, _inherit, (folder, batches)) as pool:
        return [
            entry for entries in pool.map(_write_batch, range(len(batches))) for entry in entries
        ]


def _inherit(folder: Path, batches: Sequence[Batch]) -> None:
    global _inherited
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
