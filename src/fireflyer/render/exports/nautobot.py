"""Tables for Nautobot's CSV import, from the tables for NetBox.

Columns are those of Nautobot's serializers (checked against 3.2). An object that sites share is
named; one of the site's own has an id that follows from its name, so that cables, which Nautobot
knows by the ids of their ends alone, can be imported with the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from hashlib import sha256
from typing import Final, NamedTuple, TypeAlias

from fireflyer.render.exports.netbox import tables
from fireflyer.render.exports.netbox_table import Row, Table
from fireflyer.render.exports.wiring import Files, Wiring

IdOf: TypeAlias = Callable[..., str]
Tables: TypeAlias = Mapping[str, Table]
_SITE: Final = "Site"
_LINE: Final = "Row"
"""Location types: a site has rows of racks."""
_PLACED: Final = '"dcim.device,dcim.rack,ipam.prefix,ipam.vlan"'
"""What may be in either."""
_INTERFACE: Final = "dcim.interface"
_NONE: Final = "NoObject"
"""Nautobot's word for a reference that is empty."""


class Sheet(NamedTuple):
    """One file: where it goes, the model, and its rows."""

    folder: str
    model: str
    """As in the address of its API; what follows `--` tells two files of a model apart."""
    columns: Row
    rows: Iterable[Row]


def files(wiring: Wiring) -> Files:
    """Yield `<folder>/NN-<model>.csv`; no file for what the site has none of."""
    numbers: dict[str, int] = {}
    for sheet in sheets(wiring):
        numbers[sheet.folder] = number = numbers.get(sheet.folder, 0) + 1
        if rows := [",".join(row) for row in sheet.rows]:
            lines = "\n".join((",".join(sheet.columns), *rows, ""))
            yield f"{sheet.folder}/{number:02d}-{sheet.model}.csv", lines


def sheets(wiring: Wiring) -> Iterator[Sheet]:
    """Yield every file in the order of import."""
    known = {table.name: table for table in tables(wiring)}
    site = wiring.fabric.intent.name
    id_of = _ids(site)
    yield from _shared(known)
    yield from _places(known, site, id_of)
    yield from _devices(known, site, id_of)
    yield from _addresses(known, site, id_of)
    columns = ("termination_a_type", "termination_a_id", "termination_b_type", "termination_b_id")
    plain = ("type", "status__name", "label", "length", "length_unit")
    rows = (_cable(row, id_of) for row in _of(known["cables"], *_CABLE))
    yield Sheet("site", "cables", (*columns, *plain), rows)


def interface_type(kind: str) -> str:
    """Return Nautobot's name of an interface type; InfiniBand's are without a width.

    >>> interface_type("infiniband-hdr-4x")
    'infiniband-hdr'
    """
    return kind.removesuffix("-4x")


def _ids(site: str) -> IdOf:
    """Return a function from a kind and names to an id of the site's own (RFC 9562, version 8)."""

    @cache
    def id_of(*names: str) -> str:
        found = sha256("/".join((site, *names)).encode()).hexdigest()
        return f"{found[:8]}-{found[8:12]}-8{found[13:16]}-8{found[17:20]}-{found[20:32]}"

    return id_of


def _of(table: Table, *columns: str) -> Iterator[Row]:
    """Yield these columns of a table's rows."""
    places = [table.columns.index(column) for column in columns]
    return (tuple(row[place] for place in places) for row in table.rows)


def _shared(known: Tables) -> Iterator[Sheet]:
    """Yield what other sites may have imported already. Statuses are Nautobot's own."""
    for name in ("manufacturers", "platforms"):
        yield Sheet("shared", name, ("name",), _of(known[name], "name"))
    types = _of(known["device-types"], "manufacturer", "model", "u_height")
    yield Sheet("shared", "device-types", ("manufacturer__name", "model", "u_height"), types)
    roles = ((*row, "dcim.device") for row in _of(known["device-roles"], "name", "color"))
    yield Sheet("shared", "roles", ("name", "color", "content_types"), roles)
    columns = ("name", "content_types")
    yield Sheet("shared", "location-types", columns, [(_SITE, _PLACED)])
    below = (*columns, "parent__name")
    yield Sheet("shared", "location-types--rows", below, [(_LINE, _PLACED, _SITE)])


def _places(known: Tables, site: str, id_of: IdOf) -> Iterator[Sheet]:
    at = id_of("location", site)
    yield Sheet("site", "namespaces", ("name",), [(site,)])
    columns = ("id", "name", "location_type__name", "status__name")
    yield Sheet("site", "locations", columns, [(at, site, _SITE, "Planned")])
    rows = (
        (id_of("location", site, name), name, _LINE, "Planned", at)
        for (name,) in _of(known["locations"], "name")
    )
    yield Sheet("site", "locations--rows", (*columns, "parent"), rows)
    yield Sheet(
        "site",
        "racks",
        ("id", "name", "location", "status__name", "width", "u_height"),
        (
            (id_of("rack", name), name, id_of("location", site, line), "Planned", width, height)
            for name, line, width, height in _of(
                known["racks"], "name", "location", "width", "u_height"
            )
        ),
    )
    vlans = ((*row, "Active", at) for row in _of(known["vlans"], "vid", "name"))
    yield Sheet("site", "vlans", ("vid", "name", "status__name", "locations"), vlans)


def _devices(known: Tables, site: str, id_of: IdOf) -> Iterator[Sheet]:
    plain = ("serial", "position", "face", "description")
    types = ("device_type__manufacturer__name", "device_type__model", "role__name")
    places = ("status__name", "location", "rack")
    columns = ("id", "name", *types, "platform__name", *places, "serial", "position", "face")
    rows = _of(
        known["devices"],
        *("name", "manufacturer", "device_type", "role", "platform", "location", "rack"),
        *plain,
    )
    yield Sheet(
        "site",
        "devices",
        (*columns, "comments"),
        (
            (
                *(id_of("device", name), name, maker, model, role, platform or _NONE, "Planned"),
                *(id_of("location", site, line), id_of("rack", rack)),
                *rest,
            )
            for name, maker, model, role, platform, line, rack, *rest in rows
        ),
    )
    macs = {
        (device, name): mac
        for device, name, mac in _of(known["mac-addresses"], "device", "interface", "mac_address")
    }
    plain = ("label", "enabled", "mgmt_only", "mtu")
    yield Sheet(
        "site",
        "interfaces",
        ("id", "device", "name", "type", "status__name", "mac_address", *plain),
        (
            (
                *(id_of("interface", device, name), id_of("device", device), name),
                *(interface_type(kind), "Active", macs.get((device, name), "")),
                *rest,
            )
            for device, name, kind, *rest in _of(
                known["interfaces"], "device", "name", "type", *plain
            )
        ),
    )


def _addresses(known: Tables, site: str, id_of: IdOf) -> Iterator[Sheet]:
    """Yield the site's addresses in a namespace of its own, so that sites may overlap."""
    within = ("namespace__name", "status__name")
    prefixes = ((*row, site, "Active") for row in _of(known["prefixes"], "prefix", "description"))
    yield Sheet("site", "prefixes", ("prefix", "description", *within), prefixes)
    addresses = (
        (id_of("address", address), address, name, site, "Active")
        for address, name in _of(known["ip-addresses"], "address", "dns_name")
    )
    yield Sheet("site", "ip-addresses", ("id", "address", "dns_name", *within), addresses)
    ends = (
        (id_of("address", address), id_of("interface", device, name))
        for address, device, name in _of(known["ip-addresses"], "address", "device", "interface")
    )
    yield Sheet("site", "ip-address-to-interface", ("ip_address", "interface"), ends)


_CABLE: Final = (
    *("side_a_device", "side_a_name", "side_b_device", "side_b_name"),
    *("type", "label", "length"),
)


def _cable(row: Row, id_of: IdOf) -> Row:
    """Return a cable; Nautobot's lengths are whole numbers, so that half a metre is in cm."""
    a, a_name, b, b_name, kind, label, length = row
    length_m = float(length)
    whole = length_m.is_integer()
    return (
        *(_INTERFACE, id_of("interface", a, a_name), _INTERFACE, id_of("interface", b, b_name)),
        *(kind, "Planned", label),
        *((f"{length_m:.0f}", "m") if whole else (f"{100 * length_m:.0f}", "cm")),
    )
