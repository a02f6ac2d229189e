"""An interrupted run: the engine is asked to stop and waited for, so that what is said is true."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def interruptible() -> Iterator[None]:
    """Make requests to end (SIGTERM, SIGHUP) what Ctrl-C is; wait for the engine after either.

    The engine stops at what it has begun, and must not go on once the caller has reported.
    """

    def interrupt(number: int, frame: object) -> None:
        # Ctrl-C at a terminal reaches the engine by itself; a signal to this program does not.
        for child in children(os.getpid()):
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGINT)
        raise KeyboardInterrupt

    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    except KeyboardInterrupt:
        with suppress(ChildProcessError, KeyboardInterrupt):
            while True:
                os.waitpid(-1, 0)
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def children(parent: int) -> Iterator[int]:
    """Yield a process's children, as Linux lists them; none elsewhere."""
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(file.read_text().rpartition(")")[2].split()[1]) == parent:
                yield int(file.parent.name)
