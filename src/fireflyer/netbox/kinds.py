"""How rows of the tables become objects of NetBox, and are known again there."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fireflyer.netbox.fields import Field, choice, decimal, flag, number, reference, text
from fireflyer.netbox.state import End, Item, State, Values

_INTERFACE: Final = "dcim.interface"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """How rows of one table become objects, and are known again."""

    path: str
    """Of the endpoint, below `/api/`."""
    of_site: bool
    """Whether NetBox can list those of one site."""
    row_keys: Callable[[Values], tuple[Hashable, ...]]
    """The first that NetBox has decides."""
    item_keys: Callable[[Item, State], tuple[Hashable, ...]]
    """Empty for an object that cannot correspond to a row."""
    fields: tuple[Field, ...]
    also: tuple[str, ...] = ()
    """Further fields to ask for."""
    constant: Mapping[str, object] | None = None
    """Set on creation."""
    assigned: Callable[[Values, State], Mapping[str, object]] = lambda row, state: {}
    """Set on creation, from the row."""
    called: Callable[[Values], str] = lambda row: row["name"]
    """A row's name in messages."""

    @property
    def asked(self) -> tuple[str, ...]:
        """The fields to ask NetBox for."""
        names = ("id", *(field.name for field in self.fields if not field.once), *self.also)
        return tuple(dict.fromkeys(names))


def _by(*columns: str) -> dict[str, Any]:
    """Return both keys of a kind that any one of these columns tells apart."""
    return {
        "row_keys": lambda row: tuple((column, row[column]) for column in columns),
        "item_keys": lambda item, _: tuple((column, item[column]) for column in columns),
        "also": columns,
    }


def _device(item: Item, state: State) -> tuple[Hashable, ...]:
    primary = item["primary_ip4"]
    state.primary[str(item["name"])] = primary["id"] if primary else None
    return (str(item["name"]),)


def _interface(item: Item, state: State) -> tuple[Hashable, ...]:
    key = (str(item["device"]["name"]), str(item["name"]))
    state.interfaces[item["id"]] = key
    if item["cable"]:
        state.ends.setdefault(item["cable"]["id"], []).append(key)
    primary = item["primary_mac_address"]
    state.primary_mac[key] = primary["id"] if primary else None
    return (key,)


def _on_interface(item: Item, state: State) -> End | None:
    """Return the site's interface that an object is assigned to."""
    if item["assigned_object_type"] != _INTERFACE:
        return None
    return state.interfaces.get(item["assigned_object_id"])


def _address(item: Item, state: State) -> tuple[Hashable, ...]:
    end = _on_interface(item, state)
    return () if end is None else ((item["address"], end),)


def _mac(item: Item, state: State) -> tuple[Hashable, ...]:
    end = _on_interface(item, state)
    return () if end is None else ((str(item["mac_address"]).upper(), end),)


def _cable(item: Item, state: State) -> tuple[Hashable, ...]:
    """Return both ends in order; a cable with other ends is none of the fabric's."""
    ends = state.ends.get(item["id"], [])
    return (tuple(sorted(ends)),) if len(ends) == 2 else ()


def cable_ends(row: Values) -> tuple[End, End]:
    """Return the ends of a cable as its row has them."""
    return (
        (row["side_a_device"], row["side_a_name"]),
        (row["side_b_device"], row["side_b_name"]),
    )


def _terminations(row: Values, state: State) -> dict[str, object]:
    return {
        f"{side}_terminations": [
            {"object_type": _INTERFACE, "object_id": state.id_of("interfaces", end)}
        ]
        for side, end in zip("ab", cable_ends(row), strict=True)
    }


def _assigned(row: Values, state: State) -> dict[str, object]:
    end = (row["device"], row["interface"])
    return {
        "assigned_object_type": _INTERFACE,
        "assigned_object_id": state.id_of("interfaces", end),
    }


def _of_end(row: Values) -> str:
    return f"{row['device']} {row['interface']}"


def _maker(row: Values) -> Hashable:
    return ("name", row["manufacturer"])


_SITE: Final = reference("site", "sites", lambda row: ("name", row["site"]))
_LOCATION: Final = reference("location", "locations", lambda row: ("name", row["location"]))
_STATUS: Final = choice("status", once=True)

KINDS: Final[Mapping[str, Kind]] = {
    "manufacturers": Kind(
        path="dcim/manufacturers",
        of_site=False,
        fields=(text("name", once=True), text("slug", once=True)),
        **_by("slug", "name"),
    ),
    "platforms": Kind(
        path="dcim/platforms",
        of_site=False,
        fields=(text("name", once=True), text("slug", once=True)),
        **_by("slug", "name"),
    ),
    "device-types": Kind(
        path="dcim/device-types",
        of_site=False,
        fields=(
            reference("manufacturer", "manufacturers", _maker),
            text("model", once=True),
            text("slug", once=True),
            number("u_height", shown=int),
        ),
        row_keys=lambda row: (("slug", row["slug"]), ("model", row["model"])),
        item_keys=lambda item, _: (("slug", item["slug"]), ("model", item["model"])),
        also=("slug", "model"),
        called=lambda row: row["model"],
    ),
    "device-roles": Kind(
        path="dcim/device-roles",
        of_site=False,
        fields=(text("name", once=True), text("slug", once=True), text("color", once=True)),
        **_by("slug", "name"),
    ),
    "rirs": Kind(
        path="ipam/rirs",
        of_site=False,
        fields=(text("name", once=True), text("slug", once=True), flag("is_private")),
        **_by("slug", "name"),
    ),
    "asns": Kind(
        path="ipam/asns",
        of_site=False,
        fields=(number("asn"), reference("rir", "rirs", lambda row: ("name", row["rir"]))),
        row_keys=lambda row: (int(row["asn"]),),
        item_keys=lambda item, _: (item["asn"],),
        called=lambda row: f"AS {row['asn']}",
    ),
    "sites": Kind(
        path="dcim/sites",
        of_site=False,
        fields=(text("name", once=True), text("slug", once=True), _STATUS),
        **_by("slug", "name"),
    ),
    "locations": Kind(
        path="dcim/locations",
        of_site=True,
        fields=(_SITE, text("name", once=True), text("slug", once=True), _STATUS),
        **_by("slug", "name"),
    ),
    "racks": Kind(
        path="dcim/racks",
        of_site=True,
        fields=(
            _SITE,
            _LOCATION,
            text("name"),
            number("width", shown=lambda value: value["value"]),
            number("u_height", shown=int),
            _STATUS,
        ),
        **_by("name"),
    ),
    "vlans": Kind(
        path="ipam/vlans",
        of_site=True,
        fields=(_SITE, number("vid"), text("name"), _STATUS),
        row_keys=lambda row: (int(row["vid"]),),
        item_keys=lambda item, _: (item["vid"],),
        called=lambda row: f"VLAN {row['vid']}",
    ),
    "devices": Kind(
        path="dcim/devices",
        of_site=True,
        fields=(
            text("name"),
            reference("role", "device-roles", lambda row: ("name", row["role"])),
            reference("device_type", "device-types", lambda row: ("model", row["device_type"])),
            reference("platform", "platforms", lambda row: ("name", row["platform"])),
            text("serial"),
            _SITE,
            _LOCATION,
            reference("rack", "racks", lambda row: ("name", row["rack"])),
            Field(
                name="position",
                column="position",
                wanted=lambda row, _: float(row["position"]),
                text=lambda value: "" if value is None else f"{value:g}",
            ),
            choice("face"),
            text("description"),
            _STATUS,
        ),
        row_keys=lambda row: (row["name"],),
        item_keys=_device,
        also=("primary_ip4", "display"),
    ),
    "interfaces": Kind(
        path="dcim/interfaces",
        of_site=True,
        fields=(
            reference("device", "devices", lambda row: row["device"]),
            text("name"),
            text("label"),
            choice("type"),
            flag("enabled"),
            flag("mgmt_only"),
            number("speed"),
            number("mtu"),
        ),
        row_keys=lambda row: ((row["device"], row["name"]),),
        item_keys=_interface,
        also=("cable", "primary_mac_address"),
        called=lambda row: f"{row['device']} {row['name']}",
    ),
    "mac-addresses": Kind(
        path="dcim/mac-addresses",
        of_site=False,
        fields=(text("mac_address", once=True),),
        row_keys=lambda row: ((row["mac_address"].upper(), (row["device"], row["interface"])),),
        item_keys=_mac,
        also=("mac_address", "assigned_object_type", "assigned_object_id"),
        assigned=_assigned,
        called=lambda row: f"{row['mac_address']} of {_of_end(row)}",
    ),
    "prefixes": Kind(
        path="ipam/prefixes",
        of_site=False,
        fields=(text("prefix"), text("description"), _STATUS),
        row_keys=lambda row: (row["prefix"],),
        item_keys=lambda item, _: () if item["vrf"] else (item["prefix"],),
        also=("vrf",),
        called=lambda row: row["prefix"],
    ),
    "ip-addresses": Kind(
        path="ipam/ip-addresses",
        of_site=False,
        fields=(text("address"), text("dns_name"), _STATUS),
        row_keys=lambda row: ((row["address"], (row["device"], row["interface"])),),
        item_keys=_address,
        also=("assigned_object_type", "assigned_object_id", "vrf"),
        assigned=_assigned,
        called=lambda row: f"{row['address']} of {_of_end(row)}",
    ),
    "cables": Kind(
        path="dcim/cables",
        of_site=True,
        fields=(choice("type"), text("label"), decimal("length"), choice("length_unit"), _STATUS),
        row_keys=lambda row: (tuple(sorted(cable_ends(row))),),
        item_keys=_cable,
        assigned=_terminations,
        called=lambda row: (
            f"{row['label']} ({row['side_a_device']} {row['side_a_name']}"
            f" to {row['side_b_device']} {row['side_b_name']})"
        ),
    ),
}
