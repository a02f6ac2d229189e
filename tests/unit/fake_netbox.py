"""A NetBox that knows the fields it requires, its references, and that a port takes one cable."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests import fake_http
from tests.fake_http import Answer, Asked

TOKEN = "0123456789abcdef"
PAGE = 50
REQUIRED: dict[str, set[str]] = {
    "dcim/manufacturers": {"name", "slug"},
    "dcim/device-types": {"manufacturer", "model", "slug"},
    "dcim/device-roles": {"name", "slug"},
    "dcim/sites": {"name", "slug"},
    "dcim/locations": {"site", "name", "slug"},
    "dcim/racks": {"site", "name"},
    "dcim/devices": {"role", "device_type", "site"},
    "dcim/interfaces": {"device", "name", "type"},
    "ipam/prefixes": {"prefix"},
    "ipam/ip-addresses": {"address"},
    "dcim/cables": set(),
}
"""Fields that the API's schema marks as required for writing."""
REFERENCES = {
    "manufacturer": "dcim/manufacturers",
    "role": "dcim/device-roles",
    "device_type": "dcim/device-types",
    "site": "dcim/sites",
    "location": "dcim/locations",
    "rack": "dcim/racks",
    "device": "dcim/devices",
    "primary_ip4": "ipam/ip-addresses",
}
CHOICES = {
    ("dcim/cables", "type"): {"dac-passive", "aoc", "smf-os2", "mmf-om4"},
    ("dcim/cables", "status"): {"planned", "connected", "decommissioning"},
    ("dcim/interfaces", "type"): {
        "1000base-t",
        "virtual",
        "infiniband-hdr-4x",
        "200gbase-x-qsfp56",
        "400gbase-x-osfp",
    },
}

INTERFACE = {"object_type": "dcim.interface"}


class FakeNetbox:
    """Objects by endpoint and id, and how many writes there were."""

    def __init__(self) -> None:
        """Start empty."""
        self.objects: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in REQUIRED}
        self.writes = 0
        self.refuses_changes = False

    def wrong(self, name: str, body: dict[str, Any]) -> str:
        """Return what NetBox would not take of a new object."""
        if missing := sorted(REQUIRED[name] - body.keys()):
            return f"{missing[0]}: This field is required."
        for field, value in body.items():
            target = REFERENCES.get(field)
            if target and value not in self.objects[target]:
                return f"{field}: no object {value} in {target}"
            choices = CHOICES.get((name, field))
            if choices is not None and value not in choices:
                return f"{field}: {value} is not a valid choice."
        for end in [*body.get("a_terminations", []), *body.get("b_terminations", [])]:
            interface = self.objects["dcim/interfaces"].get(end["object_id"])
            if end["object_type"] != "dcim.interface" or interface is None:
                return f"no interface {end['object_id']}"
            if interface.get("cable"):
                return f"{interface['name']} is already cabled"
        return ""

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
                result[field] = {"id": other["id"], "name": other.get("name", "")}
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


@contextmanager
def running() -> Iterator[tuple[FakeNetbox, str]]:
    """Run a server on a free port of the loopback; yield it and its URL."""
    netbox = FakeNetbox()

    def answer(asked: Asked) -> Answer:
        if asked.headers["Authorization"] != f"Token {TOKEN}":
            return 403, {"detail": "Invalid token"}
        name = asked.path.removeprefix("/api/").strip("/")
        if asked.method == "GET":
            return _page(netbox, name, asked)
        if asked.method == "PATCH":
            return _change(netbox, name, asked.body)
        return _add(netbox, name, asked.body)

    with fake_http.serve(answer) as address:
        yield netbox, address


def _page(netbox: FakeNetbox, name: str, asked: Asked) -> Answer:
    found = list(netbox.objects[name].values())
    sites = {site["slug"]: site["id"] for site in netbox.objects["dcim/sites"].values()}
    wanted = asked.query.get("site", "")
    if wanted not in {"", *sites}:
        return 400, {"site": ["Select a valid choice."]}
    if wanted:
        found = [o for o in found if netbox.stands_in(name, o, sites[wanted])]
    first = int(asked.query.get("offset", 0))
    size = int(asked.query.get("limit", PAGE))
    more = f"{asked.origin}/api/{name}/?offset={first + size}&limit={size}"
    more += f"&site={wanted}" if wanted else ""
    return 200, {
        "count": len(found),
        "next": more if first + size < len(found) else None,
        "previous": None,
        "results": [netbox.shown(name, o) for o in found[first : first + size]],
    }


def _add(netbox: FakeNetbox, name: str, bodies: list[dict[str, Any]]) -> Answer:
    netbox.writes += 1
    if wrong := [text for body in bodies if (text := netbox.wrong(name, body))]:
        return 400, wrong
    return 201, [netbox.shown(name, netbox.add(name, body)) for body in bodies]


def _change(netbox: FakeNetbox, name: str, bodies: list[dict[str, Any]]) -> Answer:
    if netbox.refuses_changes:
        return 503, {"detail": "busy"}
    netbox.writes += 1
    for body in bodies:
        netbox.objects[name][body["id"]].update(body)
    return 200, [netbox.shown(name, netbox.objects[name][body["id"]]) for body in bodies]
