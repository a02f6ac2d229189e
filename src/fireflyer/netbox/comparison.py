"""A site's rows against NetBox's objects: what is missing, what differs, what is in the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fireflyer.netbox.client import Client, Query
from fireflyer.netbox.kinds import KINDS, Kind
from fireflyer.netbox.state import Item, State, Values
from fireflyer.render.exports.netbox_table import Table

_PER_QUERY = 100
"""Values in one query, whose address must not grow past what servers take."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One field of one object that is not as planned."""

    field: str
    shown: str
    """As NetBox has it."""
    wanted: str


@dataclass(frozen=True, slots=True)
class Changed:
    """An object of which something differs."""

    id: int
    row: Values
    differences: tuple[Difference, ...]


@dataclass(slots=True)
class Compared:
    """One table against NetBox."""

    table: Table
    kind: Kind
    rows: list[Values]
    missing: list[Values] = field(default_factory=list)
    changed: list[Changed] = field(default_factory=list)
    others: list[Item] = field(default_factory=list)
    """Objects of the site, or of its addresses, that no row corresponds to."""

    @property
    def present(self) -> int:
        """Number of rows that NetBox has."""
        return len(self.rows) - len(self.missing)

    def named(self, row: Values) -> str:
        """Return a row's name with its file, for messages."""
        return f"{self.table.file}: {self.kind.called(row)}"


def compare(client: Client, table: Table, rows: Sequence[Values], state: State) -> Compared:
    """Read a table's objects, note their ids, and compare them with its rows."""
    kind = KINDS[table.name]
    result = Compared(table, kind, list(rows))
    ids = state.ids.setdefault(table.name, {})
    items: dict[int, Item] = {}
    for query in _queries(table, rows, state):
        for item in client.listed(kind.path, kind.asked, query):
            items[item["id"]] = item
            for key in kind.item_keys(item, state):
                ids.setdefault(key, item["id"])
    matched = set()
    for row in rows:
        keys = kind.row_keys(row)
        number = next((ids[key] for key in keys if key in ids), None)
        if number is None:
            result.missing.append(row)
            continue
        matched.add(number)
        ids.update(dict.fromkeys(keys, number))  # other tables refer to it by the row's words
        if differences := _differences(kind, row, items[number], state):
            result.changed.append(Changed(number, row, differences))
    if table.name == "sites":
        state.site = next(iter(matched), None)
    result.others = [item for number, item in items.items() if number not in matched]
    return result


def _queries(table: Table, rows: Sequence[Values], state: State) -> list[Query]:
    """Return what to ask for: all objects, or those of the site, or of these values alone."""
    if KINDS[table.name].of_site:
        return [] if state.site is None else [[("site_id", str(state.site))]]
    if table.name == "prefixes":
        return [[("within_include", network)] for network in table.networks]
    if table.name == "ip-addresses":
        return [[("parent", network) for network in table.networks]]
    if table.name == "mac-addresses":
        values = sorted({row["mac_address"] for row in rows})
        return [
            [("mac_address", value) for value in values[first : first + _PER_QUERY]]
            for first in range(0, len(values), _PER_QUERY)
        ]
    return [()]


def _differences(kind: Kind, row: Values, item: Item, state: State) -> tuple[Difference, ...]:
    return tuple(
        Difference(field.name, field.text(item[field.name]), row[field.column])
        for field in kind.fields
        if not field.once
        and row[field.column]
        and field.wanted(row, state) != field.shown(item[field.name])
    )
