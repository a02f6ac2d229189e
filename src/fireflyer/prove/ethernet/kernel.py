"""Room in the kernel's neighbour tables, which all network namespaces share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ENTRIES_A_CABLE = 4
"""Both ends of a cable, in IPv6 and IPv4."""
_TABLES = tuple(Path(f"/proc/sys/net/{family}/neigh/default") for family in ("ipv4", "ipv6"))


@contextmanager
def room_for_neighbours(cables: int) -> Iterator[list[str]]:
    """Raise the limits of the neighbour tables while the block runs, if they are too low.

    A full table keeps sessions from forming, for ever and without a word.

    Yields:
        what was changed, for the reader of the proof.
    """
    wanted = {"gc_thresh2": ENTRIES_A_CABLE * cables, "gc_thresh3": 2 * ENTRIES_A_CABLE * cables}
    before: dict[Path, int] = {}
    for table in _TABLES:
        for name, least in wanted.items():
            file = table / name
            if file.exists() and (found := int(file.read_text())) < least:
                before[file] = found
    notes = []
    try:
        for file in sorted(before, reverse=True):  # the harder limit first
            least = wanted[file.name]
            file.write_text(str(least))
            name = ".".join(file.parts[3:])
            notes.append(f"note: sysctl {name} was {before[file]}, {least} while this ran")
        yield notes
    finally:
        for file, value in before.items():
            file.write_text(str(value))
