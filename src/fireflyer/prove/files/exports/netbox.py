"""NetBox's import files, every reference followed to the name behind it.

The forms themselves are the matter of the check suite `netbox`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fireflyer.model.fabric import Fabric
from fireflyer.prove.files.exports.inventory_facts import (
    cables,
    facts_of,
    interfaces,
    kinds,
    media,
)
from fireflyer.prove.files.exports.inventory_tables import alike, compared_rows, tables
from fireflyer.prove.files.exports.links import Link
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Value, bounded, row_findings


def netbox_places(fabric: Fabric, links: list[Link], tree: Path) -> Iterator[Finding]:
    """Yield where NetBox's places, types, roles and prefixes differ."""
    site, wanted = fabric.intent.name, facts_of(fabric)
    for name, key, plan in (
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
    ):
        for path, rows in tables(tree, "netbox", name, needed=bool(plan)):
            yield from rows.faults
            if rows or not rows.faults:
                yield from bounded(path, row_findings(path, plan, compared_rows(rows, key, plan)))
            yield from alike(path, rows, key, ("color",))
    for path, rows in tables(tree, "netbox", "interfaces"):
        if not rows:
            yield from rows.faults
            continue
        yield from rows.faults
        yield from bounded(path, row_findings(path, *interfaces(fabric, rows, "device")))
        yield from alike(path, rows, "name", ("enabled",))
        yield from kinds(fabric, path, rows, "device")
    for path, rows in tables(tree, "netbox", "cables"):
        if not rows:
            yield from rows.faults
            continue
        yield from rows.faults
        plan, seen = cables(
            links, rows, ("side_a_device", "side_a_name"), ("side_b_device", "side_b_name")
        )
        yield from bounded(path, row_findings(path, plan, seen))
        yield from alike(path, rows, "label", ("status", "side_a_type", "side_b_type"))
        yield from media(links, path, rows)


def _registry(fabric: Fabric) -> dict[str, dict[str, Value]]:
    """Return the registry of private AS numbers; InfiniBand has none."""
    registry: dict[str, Value] = {"slug": "rfc-6996", "is_private": "true"}
    return {"RFC 6996": registry} if fabric.is_ethernet else {}


def _slug(name: str) -> str:
    return "-".join(name.lower().replace(".", "-").split())
