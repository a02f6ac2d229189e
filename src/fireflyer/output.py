"""Output that nobody reads any more, as in `fireflyer plan SITE | head`."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable

READER_GONE = 128 + signal.SIGPIPE
"""Exit status of a program that SIGPIPE ended."""


def quiet_once_unread(run: Callable[[], int]) -> int:
    """Return the exit status of `run`, or quietly READER_GONE where its output has no reader.

    Raises:
        BrokenPipeError: of any other pipe.
    """
    try:
        return run()
    except BrokenPipeError:
        if not _unread():
            raise
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):  # else Python reports it at its end
            os.dup2(nowhere, stream.fileno())
        return READER_GONE


def _unread() -> bool:
    """Return whether standard output or standard error is a pipe without a reader."""
    poll = select.poll()
    for stream in (sys.stdout, sys.stderr):
        poll.register(stream.fileno(), select.POLLOUT)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
