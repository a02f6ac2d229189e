"""What NetBox has, as far as it has been read."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Values: TypeAlias = Mapping[str, str]
"""A row by column."""
Item: TypeAlias = Mapping[str, Any]
"""An object as NetBox shows it."""
End: TypeAlias = tuple[str, str]
"""Device and interface."""


@dataclass(slots=True)
class State:
    """Ids of NetBox's objects by table and key, and what the checks need beside them."""

    ids: dict[str, dict[Hashable, int]] = field(default_factory=dict)
    site: int | None = None
    """The site's id."""
    ends: dict[int, list[End]] = field(default_factory=dict)
    """The site's interfaces on each cable, by the cable's id."""
    interfaces: dict[int, End] = field(default_factory=dict)
    """The site's interfaces by id."""
    primary: dict[str, int | None] = field(default_factory=dict)
    """Each device's primary address by id."""
    primary_mac: dict[End, int | None] = field(default_factory=dict)
    """Each interface's primary MAC address by id."""

    def id_of(self, table: str, key: Hashable) -> int | None:
        """Return an object's id; None where NetBox lacks it."""
        return self.ids[table].get(key)
