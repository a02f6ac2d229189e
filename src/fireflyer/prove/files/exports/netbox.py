"""NetBox's import files, every reference followed to the name behind it.

The forms themselves are the matter of the check suite `netbox`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from fireflyer.model.fabric import Fabric
from fireflyer.prove.files.exports.inventory_facts import (
    cable_findings,
    facts_of,
    interface_findings,
)
from fireflyer.prove.files.exports.inventory_tables import table_findings
from fireflyer.prove.files.exports.links import Link
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Value


def netbox_places(fabric: Fabric, links: list[Link], tree: Path) -> Iterator[Finding]:
    """Yield where NetBox's places, types, roles and prefixes differ."""
    site, wanted = fabric.intent.name, facts_of(fabric)
    plans: tuple[tuple[str, str, Mapping[str, Mapping[str, Value]]], ...] = (
        ("manufacturers", "name", {m: {"slug": _slug(m)} for m in wanted["makers"]}),
        ("platforms", "name", {p: {"slug": _slug(p)} for p in wanted["platforms"]}),
        ("device-roles", "name", {r: {"slug": r, "vm_role": "false"} for r in wanted["roles"]}),
        ("device-types", "model", wanted["types"]),
        ("rirs", "name", _registry(fabric)),
        ("asns", "asn", {a: {"rir": "RFC 6996"} for a in wanted["asns"]}),
        ("sites", "name", {site: {"slug": site, "status": "planned"}}),
        (
            "locations",
            "name",
            {line: {"site": site, "slug": line, "status": "planned"} for line in wanted["lines"]},
        ),
        (
            "racks",
            "name",
            {
                rack: {"site": site, "status": "planned", "width": "19", **held}
                for rack, held in wanted["racks"].items()
            },
        ),
        (
            "prefixes",
            "prefix",
            {p: {"status": "active", **h} for p, h in wanted["prefixes"].items()},
        ),
        ("devices", "name", {n: {"face": "front", **h} for n, h in wanted["devices"].items()}),
        (
            "ip-addresses",
            "address",
            {a: {"status": "active", **h} for a, h in wanted["addresses"].items()},
        ),
    )
    yield from table_findings(tree, "netbox", plans)
    yield from interface_findings(fabric, tree, "netbox", ("enabled",))
    ends = ("side_a_device", "side_a_name"), ("side_b_device", "side_b_name")
    alike = ("status", "side_a_type", "side_b_type")
    yield from cable_findings(links, tree, "netbox", ends, alike)


def _registry(fabric: Fabric) -> dict[str, dict[str, Value]]:
    """Return the registry of private AS numbers; InfiniBand has none."""
    registry: dict[str, Value] = {"slug": "rfc-6996", "is_private": "true"}
    return {"RFC 6996": registry} if fabric.is_ethernet else {}


def _slug(name: str) -> str:
    return "-".join(name.lower().replace(".", "-").split())
