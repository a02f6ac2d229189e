"""A NetBox that knows the fields it requires, its references, and that a port takes one cable.

As in NetBox's sources (4.6.8 and 4.7.3, `netbox/api/viewsets`): a list in one request is taken
whole or not at all. What a refusal looks like depends on the release (`FakeNetbox.version`). A page
has 1,000 objects at most, whatever is asked for, and `fields` leaves out all other fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_interface, ip_network
from typing import Any

from tests import fake_http
from tests.fake_http import Answer, Asked

TOKEN = "0123456789abcdef"
MAX_PAGE = 1000
REQUIRED: dict[str, set[str]] = {
    "dcim/manufacturers": {"name", "slug"},
    "dcim/platforms": {"name", "slug"},
    "dcim/device-types": {"manufacturer", "model", "slug"},
    "dcim/device-roles": {"name", "slug"},
    "ipam/rirs": {"name", "slug"},
    "ipam/asns": {"asn", "rir"},
    "dcim/sites": {"name", "slug"},
    "dcim/locations": {"site", "name", "slug"},
    "dcim/racks": {"site", "name"},
    "ipam/vlans": {"vid", "name"},
    "dcim/devices": {"role", "device_type", "site"},
    "dcim/interfaces": {"device", "name", "type"},
    "dcim/mac-addresses": {"mac_address"},
    "ipam/prefixes": {"prefix"},
    "ipam/ip-addresses": {"address"},
    "dcim/cables": set(),
}
"""Fields that the API's schema marks as required for writing."""
REFERENCES = {
    "manufacturer": "dcim/manufacturers",
    "role": "dcim/device-roles",
    "device_type": "dcim/device-types",
    "platform": "dcim/platforms",
    "rir": "ipam/rirs",
    "site": "dcim/sites",
    "location": "dcim/locations",
    "rack": "dcim/racks",
    "device": "dcim/devices",
    "primary_ip4": "ipam/ip-addresses",
    "primary_mac_address": "dcim/mac-addresses",
    "cable": "dcim/cables",
}
INFINIBAND_4X = {f"infiniband-{rate}-4x" for rate in ("edr", "hdr", "ndr")}
CHOICES = {
    ("dcim/cables", "type"): {"dac-passive", "aoc", "smf-os2", "mmf-om4"},
    ("dcim/cables", "status"): {"planned", "connected", "decommissioning"},
    ("dcim/interfaces", "type"): {
        "1000base-t",
        "virtual",
        "infiniband-edr",
        "infiniband-hdr",
        "infiniband-ndr",
        "200gbase-x-qsfp56",
        "400gbase-x-osfp",
    },
}
LABELLED = {("dcim/interfaces", "type"), ("dcim/racks", "width"), ("dcim/cables", "length_unit")}
"""Choices shown with their label."""
SEQUENTIAL = {"dcim/devices"}
"""Checked one after the other up to 4.6, so that the first refusal is all that is said."""
UNIQUE = {
    "dcim/manufacturers": ("name", "slug"),
    "dcim/platforms": ("name", "slug"),
    "dcim/device-roles": ("name", "slug"),
    "dcim/device-types": ("slug",),
    "dcim/sites": ("name", "slug"),
    "ipam/asns": ("asn",),
}

INTERFACE = {"object_type": "dcim.interface"}


class FakeNetbox:
    """Objects by endpoint and id, and what it was asked."""

    def __init__(self) -> None:
        """Start empty."""
        self.objects: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in REQUIRED}
        self.writes = self.requests = 0
        self.refuses_changes = False
        self.read_only: set[str] = set()
        """Endpoints at which the token may not create."""
        self.version = "4.7.3"

    @property
    def release(self) -> tuple[int, ...]:
        return tuple(int(number) for number in re.findall(r"\d+", self.version)[:3])

    def choices(self, name: str, field: str) -> set[str] | None:
        """Return the values that a field takes in this release."""
        found = CHOICES.get((name, field))
        if found is not None and (name, field) == ("dcim/interfaces", "type"):
            return found | INFINIBAND_4X if self.release >= (4, 6, 9) else found
        return found

    def wrong(self, name: str, body: dict[str, Any]) -> dict[str, list[str]]:
        """Return what NetBox would not take of a new object, by field."""
        if missing := sorted(REQUIRED[name] - body.keys()):
            return {field: ["This field is required."] for field in missing}
        for field, value in body.items():
            target = REFERENCES.get(field)
            if target and value not in self.objects[target]:
                return {field: [f"Related object not found using the provided numeric ID: {value}"]}
            choices = self.choices(name, field)
            if choices is not None and value not in choices:
                return {field: [f"{value} is not a valid choice."]}
        for field in UNIQUE.get(name, ()):
            if any(other[field] == body[field] for other in self.objects[name].values()):
                return {field: [f"{name} with this {field} already exists."]}
        for end in [*body.get("a_terminations", []), *body.get("b_terminations", [])]:
            interface = self.objects["dcim/interfaces"].get(end["object_id"])
            if end["object_type"] != "dcim.interface" or interface is None:
                return {"a_terminations": [f"no interface {end['object_id']}"]}
            if interface.get("cable"):
                return {"__all__": [f"Duplicate termination found: {interface['name']}"]}
        return {}

    def add(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        """Store an object."""
        found = body | {"id": max(self.objects[name], default=0) + 1}
        self.objects[name][found["id"]] = found
        for end in [*body.get("a_terminations", []), *body.get("b_terminations", [])]:
            self.objects["dcim/interfaces"][end["object_id"]]["cable"] = found["id"]
        return found

    def shown(self, name: str, found: dict[str, Any]) -> dict[str, Any]:
        """Return an object with what it refers to, as the API shows it."""
        result = dict(found)
        for field, target in REFERENCES.items():
            if found.get(field):
                other = self.objects[target][found[field]]
                text = other.get("name") or other.get("model") or other.get("address") or ""
                label = {"label": other.get("label", "")} if target == "dcim/cables" else {}
                result[field] = {"id": other["id"], "name": text, "display": text, **label}
        for endpoint, field in LABELLED:
            if endpoint == name and found.get(field):
                result[field] = {"value": found[field], "label": str(found[field])}
        result.setdefault("display", found.get("name", ""))
        for side in ("a_terminations", "b_terminations"):
            if side in found:
                result[side] = [self.shown_end(end) for end in found[side]]
        if found.get("assigned_object_type") == "dcim.interface":
            shown = self.shown_end({"object_id": found["assigned_object_id"]} | INTERFACE)
            result["assigned_object"] = shown["object"]
        return result

    def shown_end(self, end: dict[str, Any]) -> dict[str, Any]:
        """Return the end of a cable; that of a power feed or a circuit has no device."""
        if end["object_type"] != "dcim.interface":
            return {**end, "object": {"id": end["object_id"], "name": "1", "display": "1"}}
        interface = self.objects["dcim/interfaces"][end["object_id"]]
        shown = self.shown("dcim/interfaces", interface)
        return {**end, "object": {k: shown[k] for k in ("id", "name", "device")}}

    def stands_in(self, name: str, found: dict[str, Any], site: int) -> bool:
        """Return whether an object belongs to a site."""
        if name == "dcim/interfaces":
            return bool(self.objects["dcim/devices"][found["device"]]["site"] == site)
        if name == "dcim/cables":
            interfaces = self.objects["dcim/interfaces"]
            ends = [*found["a_terminations"], *found["b_terminations"]]
            return any(
                end["object_type"] != "dcim.interface"  # of this site, for all anyone knows
                or self.stands_in("dcim/interfaces", interfaces[end["object_id"]], site)
                for end in ends
            )
        return bool(found["site"] == site)

    def matches(self, name: str, found: dict[str, Any], query: dict[str, list[str]]) -> bool:
        """Return whether an object is asked for."""
        for field, values in query.items():
            if field == "site_id" and not self.stands_in(name, found, int(values[0])):
                return False
            if field == "id" and str(found["id"]) not in values:
                return False
            if field == "mac_address" and found["mac_address"] not in values:
                return False
            if field == "within_include" and not ip_network(found["prefix"]).subnet_of(
                ip_network(values[0])  # type: ignore[arg-type]
            ):
                return False
            if field == "parent" and not any(
                ip_interface(found["address"]).ip in ip_network(value) for value in values
            ):
                return False
        return True

    def refusal(self, name: str, wrong: list[dict[str, list[str]]]) -> Answer:
        """Return how this release says which objects it does not take."""
        if self.release < (4, 7):
            first = next(error for error in wrong if error)
            return 400, first if name in SEQUENTIAL else wrong
        errors = [{"index": n, "errors": error} for n, error in enumerate(wrong) if error]
        detail = f"{len(errors)} of {len(wrong)} objects failed validation."
        return 400, {"detail": detail, "errors": errors}


@contextmanager
def running() -> Iterator[tuple[FakeNetbox, str]]:
    """Run a server on a free port of the loopback; yield it and its URL."""
    netbox = FakeNetbox()

    def answer(asked: Asked) -> Answer:
        netbox.requests += 1
        if asked.headers["Authorization"] != f"Token {TOKEN}":
            return 403, {"detail": "Invalid token"}
        name = asked.path.removeprefix("/api/").strip("/")
        if name == "status":
            return 200, {"netbox-version": netbox.version}
        if asked.method == "OPTIONS":
            return _options(netbox, name)
        if asked.method == "GET":
            return _page(netbox, name, asked)
        if asked.method == "PATCH":
            return _change(netbox, name, asked.body)
        return _add(netbox, name, asked.body)

    with fake_http.serve(answer) as address:
        yield netbox, address


def _options(netbox: FakeNetbox, name: str) -> Answer:
    if name in netbox.read_only:
        return 200, {"name": name}
    fields = {
        field: {"choices": [{"value": v, "display_name": v} for v in found]}
        for endpoint, field in CHOICES
        if endpoint == name and (found := netbox.choices(name, field)) is not None
    }
    return 200, {"name": name, "actions": {"POST": fields}}


def _page(netbox: FakeNetbox, name: str, asked: Asked) -> Answer:
    query = {key: list(values) for key, values in asked.all_values.items()}
    first, size = int(query.pop("offset", ["0"])[0]), int(query.pop("limit", ["50"])[0])
    size = min(size, MAX_PAGE)
    fields = query.pop("fields", [""])[0].split(",")
    unknown = query.keys() - {"site_id", "id", "mac_address", "within_include", "parent"}
    assert not unknown, unknown
    sites = netbox.objects["dcim/sites"]
    if any(int(site) not in sites for site in query.get("site_id", ())):
        return 400, {"site_id": ["Select a valid choice."]}
    found = [o for o in netbox.objects[name].values() if netbox.matches(name, o, query)]
    results = [netbox.shown(name, o) for o in found[first : first + size]]
    return 200, {
        "count": len(found),
        "next": asked.url if first + size < len(found) else None,
        "previous": None,
        "results": [{field: o.get(field) for field in fields} for o in results],
    }


def _add(netbox: FakeNetbox, name: str, bodies: list[dict[str, Any]]) -> Answer:
    netbox.writes += 1
    wrong = [netbox.wrong(name, body) for body in bodies]
    if any(wrong):
        return netbox.refusal(name, wrong)
    return 201, [netbox.shown(name, netbox.add(name, body)) for body in bodies]


def _change(netbox: FakeNetbox, name: str, bodies: list[dict[str, Any]]) -> Answer:
    if netbox.refuses_changes:
        return 503, {"detail": "busy"}
    netbox.writes += 1
    for body in bodies:
        netbox.objects[name][body["id"]].update(body)
    return 200, [netbox.shown(name, netbox.objects[name][body["id"]]) for body in bodies]
