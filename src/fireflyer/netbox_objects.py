"""How the rows of NetBox's tables become objects of its API, and are known again there."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias

_INTERFACE: Final = "dcim.interface"

Values: TypeAlias = Mapping[str, str]
"""A row by column."""
Item: TypeAlias = Mapping[str, Any]
"""An object as NetBox shows it."""
Ids: TypeAlias = Callable[[str, Hashable], int]
"""Returns NetBox's id of an object, by table and key."""


@dataclass(frozen=True)
class There:
    """What NetBox has, as far as the tables have been read."""

    ids: dict[str, dict[Hashable, int]]
    """By table and key."""
    with_primary: set[str]
    """Devices that have a primary address."""
    addresses: dict[str, str]
    """Whose each address without a VRF is, in words; without the length of its network."""

    def id_of(self, table: str, key: Hashable) -> int:
        """Return NetBox's id of an object."""
        return self.ids[table][key]

    @cached_property
    def interfaces(self) -> Mapping[int, Hashable]:
        """The site's interfaces by NetBox's id."""
        return {id_: key for key, id_ in self.ids["interfaces"].items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """How rows of a table become objects of NetBox, and are known again."""

    of_site: bool
    """Whether NetBox can list those of one site."""
    row_key: Callable[[Values], Hashable]
    object_key: Callable[[Item, There], Hashable]
    """None of an object that no row can be."""
    body: Callable[[Values, Ids], dict[str, object]]


def address_key(row: Values) -> Hashable:
    """Return an address and where it stands."""
    return row["address"], (row["device"], row["interface"])


def _device(item: Item, there: There) -> Hashable:
    if item.get("primary_ip4"):
        there.with_primary.add(item["name"])
    return str(item["name"])


def _address(item: Item, there: There) -> Hashable:
    """Return the key of an address on an interface of the site; note whose any other is."""
    address = str(item["address"])
    number: Any = item.get("assigned_object_id")
    on_interface = item.get("assigned_object_type") == _INTERFACE
    if on_interface and (interface := there.interfaces.get(number)) is not None:
        return address, interface
    if not item.get("vrf"):
        there.addresses[address.partition("/")[0]] = _holder(item)
    return None


def _holder(item: Item) -> str:
    """Return what an address is assigned to, in words."""
    assigned = item.get("assigned_object")
    if not assigned:
        return "no interface"
    parent = assigned.get("device") or assigned.get("virtual_machine") or {}
    names = (parent.get("name"), assigned.get("name") or assigned.get("display"))
    return " ".join(str(name) for name in names if name) or "something else"


def _by(column: str) -> dict[str, Any]:
    """Return both keys of a kind that one column tells apart."""
    return {"row_key": lambda row: row[column], "object_key": lambda item, _: item[column]}


def _plain(*columns: str) -> Callable[[Values, Ids], dict[str, object]]:
    """Return a body of columns as they are."""
    return lambda row, _: {column: row[column] for column in columns}


def _ends(item: Item, _: There) -> Hashable:
    """Return both ends of a cable that NetBox has, in order; None unless both are interfaces."""
    ends = [*item["a_terminations"], *item["b_terminations"]]
    if any(end["object_type"] != _INTERFACE for end in ends):
        return None  # power, circuits and patch panels are no part of the fabric
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


KINDS: Final[Mapping[str, Kind]] = {
    "manufacturers": Kind(of_site=False, body=_plain("name", "slug"), **_by("name")),
    "device-types": Kind(
        of_site=False,
        body=lambda row, ids: {
            "manufacturer": ids("manufacturers", row["manufacturer"]),
            "model": row["model"],
            "slug": row["slug"],
            "u_height": int(row["u_height"]),
        },
        **_by("model"),
    ),
    "device-roles": Kind(of_site=False, body=_plain("name", "slug", "color"), **_by("name")),
    "sites": Kind(of_site=False, body=_plain("name", "slug", "status"), **_by("name")),
    "locations": Kind(
        of_site=True,
        body=lambda row, ids: {
            "site": ids("sites", row["site"]),
            **_plain("name", "slug", "status")(row, ids),
        },
        **_by("name"),
    ),
    "racks": Kind(
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
    "devices": Kind(
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
        row_key=lambda row: row["name"],
        object_key=_device,
    ),
    "interfaces": Kind(
        of_site=True,
        row_key=lambda row: (row["device"], row["name"]),
        object_key=lambda item, _: (item["device"]["name"], item["name"]),
        body=lambda row, ids: {
            "device": ids("devices", row["device"]),
            "enabled": row["enabled"] == "true",
            "mgmt_only": row["mgmt_only"] == "true",
            "speed": int(row["speed"]) if row["speed"] else None,
            **_plain("name", "label", "type")(row, ids),
        },
    ),
    "prefixes": Kind(
        of_site=False, body=_plain("prefix", "status", "description"), **_by("prefix")
    ),
    "ip-addresses": Kind(
        of_site=False,
        body=lambda row, ids: {
            "assigned_object_type": _INTERFACE,
            "assigned_object_id": ids("interfaces", (row["device"], row["interface"])),
            **_plain("address", "status", "dns_name")(row, ids),
        },
        row_key=address_key,
        object_key=_address,
    ),
    "cables": Kind(of_site=True, row_key=_row_ends, object_key=_ends, body=_cable),
}
