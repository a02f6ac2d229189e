"""Which node hangs on which leaf port.

Storage must divide over leaf-spine links (paper, section VI-A2): storage is dealt one a
leaf from the last leaf backwards, compute from the first leaf forwards. Both spread within
one of even, what one leaf has more of the other has less of, and a full zone closes
exactly. Appending compute or storage nodes moves no node that was there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from fireflyer.model.fabric import Port


def backwards(leaves: tuple[str, ...], host_ports: int) -> Iterator[Port]:
    """Yield host ports for storage: the highest port of each leaf, last leaf first."""
    for port in range(host_ports, 0, -1):
        for leaf in reversed(leaves):
            yield Port(leaf, port)


def forwards(leaves: tuple[str, ...], host_ports: int, taken: frozenset[Port]) -> Iterator[Port]:
    """Yield the host ports left for compute: the lowest port of each leaf, first leaf first."""
    for port in range(1, host_ports + 1):
        for leaf in leaves:
            if (candidate := Port(leaf, port)) not in taken:
                yield candidate


def place(
    leaves: tuple[str, ...], host_ports: int, compute: int, storage: int, management: int
) -> tuple[list[Port], list[Port], list[Port]]:
    """Return the ports of a zone's compute, storage and management nodes.

    The budget was checked: there is room. Management nodes come before storage, so only
    appending one of them moves others.
    """
    back = backwards(leaves, host_ports)
    managers = list(islice(back, management))
    stores = list(islice(back, storage))
    front = forwards(leaves, host_ports, frozenset(_both(managers, stores)))
    return list(islice(front, compute)), stores, managers


def _both(first: Iterable[Port], second: Iterable[Port]) -> Iterator[Port]:
    yield from first
    yield from second
