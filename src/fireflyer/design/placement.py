"""Which node hangs on which leaf port.

Storage must divide over leaf-spine links (paper, section VI-A2): storage is dealt one a
leaf from the last leaf backwards, compute from the first leaf forwards. Both spread within
one of even, what one leaf has more of the other has less of, and a full zone closes
exactly. Appending compute or storage nodes moves no node that was there.
"""

from __future__ import annotations

from collections.abc import Iterator

from fireflyer.model.fabric import Port


def backwards(leaves: tuple[str, ...], host_ports: int) -> Iterator[Port]:
    """Yield host ports for storage: the highest port of each leaf, last leaf first."""
    for port in range(host_ports, 0, -1):
        for leaf in reversed(leaves):
            yield Port(leaf, port)


def place(
    leaves: tuple[str, ...], host_ports: int, compute: int, storage: int, management: int
) -> tuple[list[Port], list[Port], list[Port]]:
    """Return the leaf ports of a tree's compute, storage and management adapters.

    The budget was checked: there is room. Management nodes come before storage, so only
    appending one of them moves others.
    """
    order = list(backwards(leaves, host_ports))
    forwards = order[::-1]
    return forwards[:compute], order[management:][:storage], order[:management]
