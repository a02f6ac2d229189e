"""Put a fabric into NetBox through its API: what is missing is created, what is there is left.

The rows are those of the import files (`render/exports/netbox.py`). Nothing is changed or
deleted, and without `apply` nothing is written at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pynetbox  # type: ignore[import-untyped]
import requests

from fireflyer.errors import OperatingError
from fireflyer.model.fabric import Fabric
from fireflyer.netbox_objects import KINDS, Item, There, Values, address_key
from fireflyer.render.exports.netbox import tables
from fireflyer.render.exports.wiring import wiring

VARIABLE: Final = "NETBOX_TOKEN"
_BATCH: Final = 200
"""Objects in one request; NetBox takes all of them or none."""
_PAGE: Final = 1000
"""Objects in one answer."""


@dataclass(frozen=True, slots=True)
class Count:
    """Objects of one kind."""

    name: str
    present: int
    missing: int
    """Created, if writing was asked for."""


def token_of(environment: Mapping[str, str], url: str) -> str:
    """Return the token to use.

    Raises:
        OperatingError: if there is none.
    """
    if token := environment.get(VARIABLE):
        return token
    raise OperatingError(f"{VARIABLE} is not set: put a token of {url} in the environment")


def export(fabric: Fabric, url: str, token: str, *, apply: bool = False) -> tuple[Count, ...]:
    """Compare NetBox with the fabric, and create what it lacks if `apply` is given.

    Raises:
        OperatingError: if NetBox cannot be reached, or refuses something.
    """
    api = pynetbox.api(url, token=token)
    there = There({}, set(), {})
    counts = []
    for table in tables(wiring(fabric)):
        kind = KINDS[table.name]
        endpoint = _endpoint(api, table.name)
        scope = {"site": fabric.intent.name} if kind.of_site else {}
        rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        try:
            found = there.ids[table.name] = {}
            for item in _listed(endpoint, scope):
                if (key := kind.object_key(item, there)) is not None:
                    found[key] = item["id"]
            missing = [row for row in rows if kind.row_key(row) not in found]
            if table.name == "ip-addresses":
                _refuse_taken(missing, there)
            counts.append(Count(table.name, len(rows) - len(missing), len(missing)))
            if apply:
                for batch in _batches(missing):
                    created = endpoint.create([kind.body(row, there.id_of) for row in batch])
                    for row, record in zip(batch, created, strict=True):
                        found[kind.row_key(row)] = record.id
            if table.name == "ip-addresses":
                counts.append(_make_primary(api, rows, there, apply=apply))
        except pynetbox.RequestError as error:
            raise OperatingError(f"NetBox at {url} refused {table.name}: {error}") from error
        except requests.RequestException as error:
            raise OperatingError(
                f"no answer from NetBox at {url}: {error}; check --url and that it runs"
            ) from error
    return tuple(counts)


def _endpoint(api: Any, table: str) -> Any:
    application = api.ipam if table in ("prefixes", "ip-addresses") else api.dcim
    return getattr(application, table.replace("-", "_"))


def _listed(endpoint: Any, scope: Mapping[str, str]) -> Iterator[Item]:
    """Yield the objects that NetBox has; a site that is not there yet has none."""
    try:
        found = endpoint.filter(limit=_PAGE, **scope) if scope else endpoint.all(limit=_PAGE)
        for record in found:
            yield dict(record)
    except pynetbox.RequestError as error:
        if scope and error.req.status_code == requests.codes.bad_request:
            return  # "Select a valid choice": no such site
        raise


def _batches(rows: Sequence[Values]) -> Iterator[Sequence[Values]]:
    for first in range(0, len(rows), _BATCH):
        yield rows[first : first + _BATCH]


def _make_primary(api: Any, rows: Sequence[Values], there: There, *, apply: bool) -> Count:
    """Give every device without a primary address its management address, if `apply` is given.

    It is asked of the device, not of this run: a run may end between the two.
    """
    primary = [row for row in rows if row["is_primary"] == "true"]
    missing = [row for row in primary if row["device"] not in there.with_primary]
    for batch in _batches(missing) if apply else ():
        bodies: list[Any] = [
            {
                "id": there.id_of("devices", row["device"]),
                "primary_ip4": there.id_of("ip-addresses", address_key(row)),
            }
            for row in batch
        ]
        api.dcim.devices.update(bodies)
    return Count("primary-ips", len(primary) - len(missing), len(missing))


def _refuse_taken(missing: Sequence[Values], there: There) -> None:
    """Refuse an address that stands on something else.

    Raises:
        OperatingError: naming both.
    """
    for row in missing:
        other = there.addresses.get(row["address"].partition("/")[0])
        if other is not None:
            raise OperatingError(
                f"{row['address']} of {row['device']} {row['interface']} is in NetBox already,"
                f" on {other}: remove it there, or change cluster.addresses"
            )


def as_text(counts: Sequence[Count], *, apply: bool) -> str:
    """Return a table for a person."""
    done = "created" if apply else "missing"
    lines = [f"{'':<16}{'there':>9}{done:>9}"]
    lines += [f"{count.name:<16}{count.present:>9,}{count.missing:>9,}" for count in counts]
    if not apply:
        lines.append("nothing was written: --apply creates what is missing")
    return "\n".join(lines)
