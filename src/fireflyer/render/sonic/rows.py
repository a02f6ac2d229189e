"""Rows of a table as JSON text, one a line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TypeAlias

Table: TypeAlias = tuple[str, str]
"""A table's name and its rows; no rows, no table."""
Fields: TypeAlias = Mapping[str, str | list[str]]


def row(key: str, fields: Fields) -> str:
    """Return one row.

    >>> row("Vlan100|Ethernet0", {"tagging_mode": "untagged"})
    '"Vlan100|Ethernet0": {"tagging_mode": "untagged"}'
    """
    return f"{json.dumps(key)}: {json.dumps(fields)}"


def table(name: str, found: Mapping[str, Fields]) -> Table:
    """Return a table of a few rows."""
    return name, lines(row(key, fields) for key, fields in found.items())


def lines(found: Iterable[str]) -> str:
    """Return rows as the inside of a table."""
    return ",\n".join(found)
