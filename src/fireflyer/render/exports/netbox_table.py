"""A table for NetBox: one import, or one endpoint of its API."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

Row: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One kind of object."""

    folder: Literal["shared", "site"]
    """`shared` for objects that other sites use too, and may have imported already."""
    number: int
    """Place in the order of import within its folder."""
    name: str
    """As in the address of NetBox's page and of its API."""
    columns: Row
    rows: list[Row]
    networks: Row = ()
    """Of addresses and prefixes: the networks that hold all of them."""

    @property
    def file(self) -> str:
        """Its path below `exports/netbox`."""
        return f"{self.folder}/{self.number:02d}-{self.name}.csv"


def slug(name: str) -> str:
    """Return a name as NetBox's addresses have it.

    >>> slug("Cumulus Linux")
    'cumulus-linux'
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
