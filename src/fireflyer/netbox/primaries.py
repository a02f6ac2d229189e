"""Primary addresses: an object's reference back to one of the addresses on it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Final

from fireflyer.netbox.comparison import Compared
from fireflyer.netbox.kinds import KINDS
from fireflyer.netbox.state import State, Values


@dataclass(frozen=True, slots=True)
class Primary:
    """One kind of primary address."""

    name: str
    """As counted."""
    table: str
    """Of the addresses."""
    owners: str
    """Table of the objects that refer to them."""
    field: str
    """Of the owner."""


PRIMARIES: Final = (
    Primary("primary-macs", "mac-addresses", "interfaces", "primary_mac_address"),
    Primary("primary-ips", "ip-addresses", "devices", "primary_ip4"),
)


@dataclass(frozen=True, slots=True)
class Owners:
    """Rows of addresses by what their owners refer to now."""

    right: list[Values]
    missing: list[Values]
    differing: list[Values]


def owners(primary: Primary, compared: Mapping[str, Compared], state: State) -> Owners:
    """Compare each owner's primary address with its row.

    It is asked of the owner, not of what was created: a run may end between the two.
    """
    found = Owners([], [], [])
    if primary.table not in compared:
        return found
    for row in compared[primary.table].rows:
        if row["is_primary"] != "true":
            continue
        now = _now(primary, row, state)
        wanted = state.id_of(primary.table, KINDS[primary.table].row_keys(row)[0])
        kind = found.missing if now is None else found.differing if now != wanted else found.right
        kind.append(row)
    return found


def reference(primary: Primary, row: Values, state: State) -> dict[str, object]:
    """Return the owner's change."""
    return {
        "id": state.id_of(primary.owners, owner_key(primary, row)),
        primary.field: state.id_of(primary.table, KINDS[primary.table].row_keys(row)[0]),
    }


def owner_key(primary: Primary, row: Values) -> Hashable:
    """Return the key of the object that refers to a row's address."""
    if primary.owners == "devices":
        return row["device"]
    return row["device"], row["interface"]


def _now(primary: Primary, row: Values, state: State) -> int | None:
    if primary.owners == "devices":
        return state.primary.get(row["device"])
    return state.primary_mac.get((row["device"], row["interface"]))
