"""Put a site into NetBox: create what it lacks, update what differs, delete nothing.

Everything is read, compared and checked before the first object is written, with `apply` and
`update` as without them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from fireflyer.errors import OperatingError
from fireflyer.model.fabric import Fabric
from fireflyer.netbox.checks import known_types, problems, refuse
from fireflyer.netbox.client import Client, Options
from fireflyer.netbox.comparison import Compared, compare
from fireflyer.netbox.kinds import KINDS
from fireflyer.netbox.primaries import PRIMARIES, owners
from fireflyer.netbox.state import State, Values
from fireflyer.netbox.writing import Writer
from fireflyer.render.exports.netbox import tables
from fireflyer.render.exports.wiring import wiring

VARIABLE: Final = "NETBOX_TOKEN"
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Change:
    """A field of one object that is not as planned."""

    what: str
    """The row, with its file."""
    field: str
    shown: str
    wanted: str


@dataclass(frozen=True, slots=True)
class Count:
    """Objects of one kind."""

    name: str
    present: int
    missing: int
    """Created, if writing was asked for."""
    differing: int
    """Objects of those present; updated, if that was asked for."""
    others: int
    """Objects of the site that are in no row."""


@dataclass(frozen=True, slots=True)
class Export:
    """What NetBox has of a site, and what was done about it."""

    counts: tuple[Count, ...]
    changes: tuple[Change, ...]
    requests: int


def token_of(environment: Mapping[str, str], url: str) -> str:
    """Return the token to use.

    Raises:
        OperatingError: if there is none.
    """
    if token := environment.get(VARIABLE):
        return token
    raise OperatingError(f"{VARIABLE} is not set: put a token of {url} in the environment")


def export(
    fabric: Fabric,
    url: str,
    token: str,
    *,
    apply: bool = False,
    update: bool = False,
    progress: Progress = lambda step: None,
) -> Export:
    """Compare NetBox with the fabric; create what it lacks and update what differs if asked to.

    Raises:
        OperatingError: if NetBox cannot be reached, is too old, or refuses something.
    """
    client = Client(url, token)
    client.version()
    state, compared, options = State(), dict[str, Compared](), dict[str, Options]()
    for table in tables(wiring(fabric)):
        progress(f"reading {table.name}")
        rows: Sequence[Values] = [dict(zip(table.columns, r, strict=True)) for r in table.rows]
        options[table.name] = client.options(KINDS[table.name].path)
        if table.name == "interfaces":
            rows = known_types(options[table.name], rows)
        compared[table.name] = compare(client, table, rows, state)
    refuse(problems(compared, state, options, client), client.url)
    result = _result(compared, state)
    writer = Writer(client, state, progress)
    for found in compared.values():
        if apply and found.missing:
            writer.create(found)
        if update and found.changed:
            writer.update(found)
    for primary in PRIMARIES:
        by = owners(primary, compared, state)
        rows = [*(by.missing if apply else ()), *(by.differing if update else ())]
        writer.set_primaries(primary, compared[primary.owners], rows)
    return replace(result, requests=client.requests)


def _result(compared: Mapping[str, Compared], state: State) -> Export:
    """Return what is to do, before any of it is done."""
    counts, changes = [], []
    for name, table in compared.items():
        others = len(table.others) if table.kind.of_site else 0
        counts.append(Count(name, table.present, len(table.missing), len(table.changed), others))
        changes += [
            Change(table.named(changed.row), one.field, one.shown, one.wanted)
            for changed in table.changed
            for one in changed.differences
        ]
    for primary in PRIMARIES:
        found = owners(primary, compared, state)
        if rows := len(found.right) + len(found.missing) + len(found.differing):
            missing, differing = len(found.missing), len(found.differing)
            counts.append(Count(primary.name, rows - missing, missing, differing, 0))
        table = compared[primary.owners]
        changes += [
            Change(f"{table.table.file}: {row['device']}", primary.field, "another", row["address"])
            for row in found.differing
        ]
    return Export(tuple(counts), tuple(changes), 0)
