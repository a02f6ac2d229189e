"""Tables for Nautobot's CSV import, from the tables for NetBox.

Columns are those of Nautobot's serializers (checked against 3.2). An object that sites share is
named; one of the site's own has an id that follows from its name, so that cables, which Nautobot
knows by the ids of their ends alone, can be imported with the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

from fireflyer.render.exports.netbox import tables
from fireflyer.render.exports.netbox_table import Row, Table
from fireflyer.render.exports.wiring import Files, Wiring

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
    ids = _Ids(site)
    yield from _shared(known)
    yield from _places(known, site, ids)
    yield from _devices(known, site, ids)
    yield from _addresses(known, site, ids)
    columns = ("termination_a_type", "termination_a_id", "termination_b_type", "termination_b_id")
    plain = ("type", "status__name", "label", "length", "length_unit")
    rows = (_cable(row, ids) for row in _of(known["cables"], *_CABLE))
    yield Sheet("site", "cables", (*columns, *plain), rows)


def interface_type(kind: str) -> str:
    """Return Nautobot's name of an interface type; InfiniBand's are without a width.

    >>> interface_type("infiniband-hdr-4x")
    'infiniband-hdr'
    """
    return kind.removesuffix("-4x")


class _Ids:
    """Ids of a site's own objects, from their names (RFC 9562, version 8)."""

    def __init__(self, site: str) -> None:
        self._site = site
        self._known: dict[tuple[str, str], str] = {}
        self._starts: dict[str, str] = {}
        self._ends: dict[str, str] = {}

    def of(self, kind: str, name: str) -> str:
        """Return the id of an object that its kind and name tell apart."""
        found = self._known.get((kind, name))
        if found is None:
            digest = sha256(f"{self._site}/{kind}/{name}".encode()).hexdigest()
            found = f"{digest[:8]}-{digest[8:12]}-8{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"
            self._known[kind, name] = found
        return found

    def interface(self, device: str, name: str) -> str:
        """Return an interface's id: the start is its device's, the last 48 bits its name's."""
        if (start := self._starts.get(device)) is None:
            start = self._starts[device] = self.of("interfaces", device)[:24]
        if (end := self._ends.get(name)) is None:
            end = self._ends[name] = sha256(f"interface/{name}".encode()).hexdigest()[:12]
        return start + end


def _of(table: Table, *columns: str) -> Iterator[Row]:
    """Yield these columns of a table's rows."""
    first, *others = [table.columns.index(column) for column in columns]
    if not others:
        return ((row[first],) for row in table.rows)
    return map(itemgetter(first, *others), table.rows)


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


def _places(known: Tables, site: str, ids: _Ids) -> Iterator[Sheet]:
    at = ids.of("location", site)
    yield Sheet("site", "namespaces", ("name",), [(site,)])
    columns = ("id", "name", "location_type__name", "status__name")
    yield Sheet("site", "locations", columns, [(at, site, _SITE, "Planned")])
    rows = (
        (ids.of("line", name), name, _LINE, "Planned", at)
        for (name,) in _of(known["locations"], "name")
    )
    yield Sheet("site", "locations--rows", (*columns, "parent"), rows)
    yield Sheet(
        "site",
        "racks",
        ("id", "name", "location", "status__name", "width", "u_height"),
        (
            (ids.of("rack", name), name, ids.of("line", line), "Planned", width, height)
            for name, line, width, height in _of(
                known["racks"], "name", "location", "width", "u_height"
            )
        ),
    )
    vlans = ((*row, "Active", at) for row in _of(known["vlans"], "vid", "name"))
    yield Sheet("site", "vlans", ("vid", "name", "status__name", "locations"), vlans)


def _devices(known: Tables, site: str, ids: _Ids) -> Iterator[Sheet]:
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
                *(ids.of("device", name), name, maker, model, role, platform or _NONE, "Planned"),
                *(ids.of("line", line), ids.of("rack", rack)),
                *rest,
            )
            for name, maker, model, role, platform, line, rack, *rest in rows
        ),
    )
    own = ("id", "device", "name", "type", "status__name", "mac_address")
    shared = ("label", "enabled", "mgmt_only", "mtu")
    yield Sheet("site", "interfaces", (*own, *shared), _interfaces(known, ids))


def _interfaces(known: Tables, ids: _Ids) -> Iterator[Row]:
    """Yield every interface. Devices of one model share all but the ids and MAC addresses."""
    macs = {
        (device, name): mac
        for device, name, mac in _of(known["mac-addresses"], "device", "interface", "mac_address")
    }
    kinds: dict[str, str] = {}
    columns = ("device", "name", "type", "label", "enabled", "mgmt_only", "mtu")
    for device, name, kind, *rest in _of(known["interfaces"], *columns):
        if (named := kinds.get(kind)) is None:
            named = kinds[kind] = interface_type(kind)
        mac = macs.get((device, name), "") if macs else ""
        own = ids.interface(device, name)
        yield (own, ids.of("device", device), name, named, "Active", mac, *rest)


def _addresses(known: Tables, site: str, ids: _Ids) -> Iterator[Sheet]:
    """Yield the site's addresses in a namespace of its own, so that sites may overlap."""
    within = ("namespace__name", "status__name")
    prefixes = ((*row, site, "Active") for row in _of(known["prefixes"], "prefix", "description"))
    yield Sheet("site", "prefixes", ("prefix", "description", *within), prefixes)
    addresses = (
        (ids.of("address", address), address, name, site, "Active")
        for address, name in _of(known["ip-addresses"], "address", "dns_name")
    )
    yield Sheet("site", "ip-addresses", ("id", "address", "dns_name", *within), addresses)
    ends = (
        (ids.of("address", address), ids.interface(device, name))
        for address, device, name in _of(known["ip-addresses"], "address", "device", "interface")
    )
    yield Sheet("site", "ip-address-to-interface", ("ip_address", "interface"), ends)


_CABLE: Final = (
    *("side_a_device", "side_a_name", "side_b_device", "side_b_name"),
    *("type", "label", "length"),
)


def _cable(row: Row, ids: _Ids) -> Row:
    """Return a cable; Nautobot's lengths are whole numbers, so that half a metre is in cm."""
    a, a_name, b, b_name, kind, label, length = row
    if "." in length:
        length, unit = f"{100 * float(length):.0f}", "cm"
    else:
        unit = "m"
    a_id, b_id = ids.interface(a, a_name), ids.interface(b, b_name)
    return (_INTERFACE, a_id, _INTERFACE, b_id, kind, "Planned", label, length, unit)
