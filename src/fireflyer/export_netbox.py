"""Put a fabric into NetBox through its API: what is missing is created, what is there is left.

The rows are those of the import files (`render/exports/netbox.py`). Nothing is changed or
deleted, and without `apply` nothing is written at all.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import pynetbox  # type: ignore[import-untyped]
import requests

from fireflyer.errors import OperatingError
from fireflyer.model.fabric import Fabric
from fireflyer.render.exports.netbox import tables
from fireflyer.render.exports.wiring import wiring

VARIABLE: Final = "NETBOX_TOKEN"
_BATCH: Final = 200
"""Objects in one request; NetBox takes all of them or none."""
_PAGE: Final = 1000
"""Objects in one answer."""

Values: TypeAlias = Mapping[str, str]
"""A row by column."""
Ids: TypeAlias = Callable[[str, Hashable], int]
"""Returns NetBox's id of an object, by table and key."""


@dataclass(frozen=True, slots=True)
class Count:
    """Objects of one kind."""

    name: str
    present: int
    missing: int
    """Created, if writing was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """How rows of a table become objects of NetBox, and are known again."""

    of_site: bool
    """Whether NetBox can list those of one site."""
    row_key: Callable[[Values], Hashable]
    object_key: Callable[[Mapping[str, Any]], Hashable]
    body: Callable[[Values, Ids], dict[str, object]]


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
    ids: dict[str, dict[Hashable, int]] = {}

    def id_of(table: str, key: Hashable) -> int:
        return ids[table][key]

    counts = []
    for table in tables(wiring(fabric)):
        kind = _KINDS[table.name]
        endpoint = _endpoint(api, table.name)
        scope = {"site": fabric.intent.name} if kind.of_site else {}
        try:
            found = {kind.object_key(item): item["id"] for item in _listed(endpoint, scope)}
            ids[table.name] = found
            rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
            missing = [row for row in rows if kind.row_key(row) not in found]
            counts.append(Count(table.name, len(rows) - len(missing), len(missing)))
            if apply:
                for batch in _batches(missing):
                    created = endpoint.create([kind.body(row, id_of) for row in batch])
                    for row, record in zip(batch, created, strict=True):
                        found[kind.row_key(row)] = record.id
                if table.name == "ip-addresses":
                    _make_primary(api, missing, id_of)
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


def _listed(endpoint: Any, scope: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
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


def _make_primary(api: Any, rows: Sequence[Values], id_of: Ids) -> None:
    """Give devices the management addresses that were created as their primary ones."""
    bodies: list[Any] = [
        {
            "id": id_of("devices", row["device"]),
            "primary_ip4": id_of("ip-addresses", row["address"]),
        }
        for row in rows
        if row["is_primary"] == "true"
    ]
    for batch in _batches(bodies):
        api.dcim.devices.update(list(batch))


def _by(column: str) -> dict[str, Any]:
    """Return both keys of a kind that one column tells apart."""
    return {"row_key": lambda row: row[column], "object_key": lambda item: item[column]}


def _plain(*columns: str) -> Callable[[Values, Ids], dict[str, object]]:
    """Return a body of columns as they are."""
    return lambda row, _: {column: row[column] for column in columns}


def _ends(item: Mapping[str, Any]) -> Hashable:
    """Return both ends of a cable that NetBox has, in order."""
    ends = [*item["a_terminations"], *item["b_terminations"]]
    return tuple(sorted((end["object"]["device"]["name"], end["object"]["name"]) for end in ends))


def _row_ends(row: Values) -> Hashable:
    return tuple(sorted((row[f"side_{side}_device"], row[f"side_{side}_name"]) for side in "ab"))


def _cable(row: Values, ids: Ids) -> dict[str, object]:
    ends = {
        f"{side}_terminations": [
            {
                "object_type": row[f"side_{side}_type"],
                "object_id": ids(
                    "interfaces", (row[f"side_{side}_device"], row[f"side_{side}_name"])
                ),
            }
        ]
        for side in "ab"
    }
    plain = _plain("type", "status", "label", "length_unit")(row, ids)
    return {**ends, **plain, "length": float(row["length"])}


_KINDS: Final[Mapping[str, _Kind]] = {
    "manufacturers": _Kind(of_site=False, body=_plain("name", "slug"), **_by("name")),
    "device-types": _Kind(
        of_site=False,
        body=lambda row, ids: {
            "manufacturer": ids("manufacturers", row["manufacturer"]),
            "model": row["model"],
            "slug": row["slug"],
            "u_height": int(row["u_height"]),
        },
        **_by("model"),
    ),
    "device-roles": _Kind(of_site=False, body=_plain("name", "slug", "color"), **_by("name")),
    "sites": _Kind(of_site=False, body=_plain("name", "slug", "status"), **_by("name")),
    "locations": _Kind(
        of_site=True,
        body=lambda row, ids: {
            "site": ids("sites", row["site"]),
            **_plain("name", "slug", "status")(row, ids),
        },
        **_by("name"),
    ),
    "racks": _Kind(
        of_site=True,
        body=lambda row, ids: {
            "site": ids("sites", row["site"]),
            "location": ids("locations", row["location"]),
            "width": int(row["width"]),
            "u_height": int(row["u_height"]),
            **_plain("name", "status")(row, ids),
        },
        **_by("name"),
    ),
    "devices": _Kind(
        of_site=True,
        body=lambda row, ids: {
            "role": ids("device-roles", row["role"]),
            "device_type": ids("device-types", row["device_type"]),
            "site": ids("sites", row["site"]),
            "location": ids("locations", row["location"]),
            "rack": ids("racks", row["rack"]),
            "position": int(row["position"]),
            **_plain("name", "serial", "status", "face")(row, ids),
        },
        **_by("name"),
    ),
    "interfaces": _Kind(
        of_site=True,
        row_key=lambda row: (row["device"], row["name"]),
        object_key=lambda item: (item["device"]["name"], item["name"]),
        body=lambda row, ids: {
            "device": ids("devices", row["device"]),
            "enabled": row["enabled"] == "true",
            "mgmt_only": row["mgmt_only"] == "true",
            "speed": int(row["speed"]) if row["speed"] else None,
            **_plain("name", "label", "type")(row, ids),
        },
    ),
    "prefixes": _Kind(
        of_site=False, body=_plain("prefix", "status", "description"), **_by("prefix")
    ),
    "ip-addresses": _Kind(
        of_site=False,
        body=lambda row, ids: {
            "assigned_object_type": "dcim.interface",
            "assigned_object_id": ids("interfaces", (row["device"], row["interface"])),
            **_plain("address", "status", "dns_name")(row, ids),
        },
        **_by("address"),
    ),
    "cables": _Kind(of_site=True, row_key=_row_ends, object_key=_ends, body=_cable),
}


def as_text(counts: Sequence[Count], *, apply: bool) -> str:
    """Return a table for a person."""
    done = "created" if apply else "missing"
    lines = [f"{'':<16}{'there':>9}{done:>9}"]
    lines += [f"{count.name:<16}{count.present:>9,}{count.missing:>9,}" for count in counts]
    if not apply:
        lines.append("nothing was written: --apply creates what is missing")
    return "\n".join(lines)
