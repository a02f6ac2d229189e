"""Slurm's hostlist expressions: `a-cn[0001-0016,0020],mg` (slurm.conf(5), NODE CONFIGURATION)."""

from __future__ import annotations

import re
from collections.abc import Iterator

_PART = re.compile(r"([^,\[\]]*)(?:\[([0-9,-]+)\])?([^,\[\]]*)(?:,|$)")
MOST = 1_000_000


def expanded(text: str) -> tuple[str, ...]:
    """Return the names of a hostlist in its order.

    Raises:
        ValueError: it is none.
    """
    names: list[str] = []
    at = 0
    while at < len(text):
        match = _PART.match(text, at)
        if match is None or match.end() == at:
            raise ValueError(f"{text[at:]} is no hostlist")
        at = match.end()
        prefix, ranges, suffix = match[1], match[2], match[3]
        if ranges is None:
            names.append(prefix)
        else:
            names += [f"{prefix}{number}{suffix}" for number in _numbers(ranges)]
    return tuple(names)


def _numbers(ranges: str) -> Iterator[str]:
    for part in ranges.split(","):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise ValueError(f"{part} is no range of numbers")
        low, high = int(first), int(last or first)
        if not low <= high < low + MOST:
            raise ValueError(f"{part} is no range of numbers")
        yield from (f"{number:0{len(first)}d}" for number in range(low, high + 1))
