"""Processes that end when the one that started them does."""

from __future__ import annotations

import ctypes
import signal

_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Have the kernel end this process when its parent ends, however that ends (prctl(2)).

    Run it between fork and exec, or first in a forked process; it is nothing but a system call.
    """
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
