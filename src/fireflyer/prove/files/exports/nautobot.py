"""Nautobot's import files; an id stands for the name of its row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from fireflyer.model.fabric import Fabric
from fireflyer.prove.files.exports.inventory_facts import (
    cable_findings,
    facts_of,
    interface_findings,
)
from fireflyer.prove.files.exports.inventory_tables import table_findings, tables
from fireflyer.prove.files.exports.links import Link
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Value

_PLACES = "dcim.device,dcim.rack,ipam.prefix,ipam.vlan"


def nautobot(fabric: Fabric, links: list[Link], tree: Path) -> Iterator[Finding]:
    """Yield where Nautobot's files differ; an id stands for the name of its row."""
    site, wanted = fabric.intent.name, facts_of(fabric)
    names, devices, ports = _identities(tree)
    within = {"namespace__name": site, "status__name": "Active"}
    placed = {"content_types": _PLACES}
    site_row = {"location_type__name": "Site", "status__name": "Planned"}
    plans: tuple[tuple[str, str, Mapping[str, Mapping[str, Value]]], ...] = (
        ("manufacturers", "name", {m: {} for m in wanted["makers"]}),
        ("platforms", "name", {p: {} for p in wanted["platforms"]}),
        (
            "device-types",
            "model",
            {
                model: {"manufacturer__name": held["manufacturer"], "u_height": held["u_height"]}
                for model, held in wanted["types"].items()
            },
        ),
        ("roles", "name", {role: {"content_types": "dcim.device"} for role in wanted["roles"]}),
        ("location-types", "name", {"Site": placed}),
        ("location-types--rows", "name", {"Row": {**placed, "parent__name": "Site"}}),
        ("namespaces", "name", {site: {}}),
        ("locations", "name", {site: site_row}),
        (
            "locations--rows",
            "name",
            {
                line: {**site_row, "location_type__name": "Row", "parent": site}
                for line in wanted["lines"]
            },
        ),
        (
            "racks",
            "name",
            {
                rack: {"status__name": "Planned", "width": "19", **held}
                for rack, held in wanted["racks"].items()
            },
        ),
        (
            "vlans",
            "vid",
            {
                v: {"name": f"hosts-{v}", "status__name": "Active", "locations": site}
                for v in wanted["vlans"]
            },
        ),
        ("prefixes", "prefix", {p: {**within, **h} for p, h in wanted["prefixes"].items()}),
        ("devices", "name", {n: _nautobot_device(h) for n, h in wanted["devices"].items()}),
        (
            "ip-addresses",
            "address",
            {a: {**within, "dns_name": h["dns_name"]} for a, h in wanted["addresses"].items()},
        ),
        (
            "ip-address-to-interface",
            "ip_address",
            {
                a: {"interface": f"{h['device']} {h['interface']}"}
                for a, h in wanted["addresses"].items()
            },
        ),
    )
    yield from table_findings(tree, "nautobot", plans, {**names, **devices, **ports})
    alike = ("enabled", "status__name")
    yield from interface_findings(fabric, tree, "nautobot", alike, devices)
    ends = ("termination_a_id",), ("termination_b_id",)
    alike_cables = ("status__name", "termination_a_type", "termination_b_type")
    yield from cable_findings(links, tree, "nautobot", ends, alike_cables, ports)


def _identities(tree: Path) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Return what ids of places and addresses, of devices and of interfaces stand for."""
    names: dict[str, str] = {}
    for sheet, key in (
        ("locations", "name"),
        ("locations--rows", "name"),
        ("racks", "name"),
        ("ip-addresses", "address"),
    ):
        for _, rows in tables(tree, "nautobot", sheet):
            names |= {row.get("id", ""): row.get(key, "") for row in rows}
    devices: dict[str, str] = {}
    for _, rows in tables(tree, "nautobot", "devices"):
        devices |= {row.get("id", ""): row.get("name", "") for row in rows}
    ports: dict[str, str] = {}
    for _, rows in tables(tree, "nautobot", "interfaces", devices):
        ports |= {row.get("id", ""): f"{row.get('device')} {row.get('name')}" for row in rows}
    return names, devices, ports


def _nautobot_device(held: Mapping[str, Value]) -> dict[str, Value]:
    return {
        "device_type__manufacturer__name": held["manufacturer"],
        "device_type__model": held["device_type"],
        "role__name": held["role"],
        "platform__name": held["platform"] or "NoObject",
        "status__name": "Planned",
        "location": held["location"],
        "rack": held["rack"],
        "serial": held["serial"],
        "position": held["position"],
        "face": "front",
        "comments": held["description"],
    }
