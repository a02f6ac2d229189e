"""Traffic classes in the order that every switch system wants them: code points by class."""

from __future__ import annotations

from fireflyer.model.switch_config import Queue

CODE_POINTS = 64
"""RFC 2474."""


def code_points(queues: tuple[Queue, ...]) -> tuple[tuple[tuple[int, ...], int], ...]:
    """Return the code points of each queue that has some.

    The default queue has all that no other has, so no default of a system is left standing.
    """
    named = {point for queue in queues for point in queue.dscp}
    rest = tuple(point for point in range(CODE_POINTS) if point not in named)
    found = []
    for queue in queues:
        points = tuple(sorted({*queue.dscp, *(rest if queue.default else ())}))
        if points:
            found.append((points, queue.number))
    return tuple(found)
