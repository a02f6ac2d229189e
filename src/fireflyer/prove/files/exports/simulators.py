"""What network simulators get: htsim, SimGrid and ASTRA-sim's files against the cables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree

from fireflyer.model.fabric import CableRole, Fabric, Layer
from fireflyer.prove.files.exports.links import Link, delay_ns
from fireflyer.prove.files.source import read, read_xml
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Row, Value, fault, row_findings


def htsim(fabric: Fabric, links: list[Link], tree: Path) -> Iterator[Finding]:
    """Yield where the numbers of a zone's or plane's fat tree differ; htsim knows two layers."""
    for name in fabric.trees:
        plan = _fat_tree(fabric, name)
        path = f"exports/htsim/{name}.topo"
        if plan:
            yield from read(tree, path, lambda text: _topo(path, text, plan))  # noqa: B023 - called at once


def _fat_tree(fabric: Fabric, name: str) -> dict[str, dict[str, Value]]:
    """Return the numbers of each tier; none where htsim cannot describe the tree."""
    tier = {s.name: s.layer for s in fabric.switches if s.tree == name}
    up = Counter(
        c.a.device
        for c in fabric.cables
        if tier.get(c.a.device) is Layer.LEAF and tier.get(c.z.device) is Layer.SPINE
    )
    leaves = list(fabric.switches_of(Layer.LEAF, name))
    hosting = [leaf for leaf in leaves if leaf.name not in fabric.gateways]
    leaf_up = max(up.values())
    leaf_down = leaves[0].model.ports - leaf_up
    if fabric.intent.fabric.layers != 2 or leaf_down % leaf_up:
        return {}
    spines = sum(layer is Layer.SPINE for layer in tier.values())
    trunk = leaf_up // spines
    gbps = leaves[0].model.port_gbps
    delays = {
        role: max((delay_ns(c.length_m) for c in fabric.cables if c.role is role), default=1)
        for role in (CableRole.HOST, CableRole.TREE)
    }
    both = {"Downlink_speed_Gbps": gbps, "Switch_Latency_ns": 0}
    hosts = len(hosting) * leaf_down
    spine: dict[str, Value] = {
        **both,
        "Radix_Down": len(hosting) * trunk,
        "Downlink_Latency_ns": delays[CableRole.TREE],
        "Bundle": trunk,
    }
    return {
        "network": {"Nodes": hosts, "Tiers": 2, "Podsize": hosts},
        "Tier 0": {
            **both,
            "Radix_Down": leaf_down,
            "Radix_Up": leaf_up,
            "Downlink_Latency_ns": delays[CableRole.HOST],
            "Oversubscribed": leaf_down // leaf_up,
        },
        "Tier 1": spine,
    }


def _topo(path: str, text: str, plan: Mapping[str, Mapping[str, Value]]) -> Iterator[Finding]:
    rows: list[tuple[str, int, dict[str, Value]]] = [("network", 1, {})]
    for number, raw in enumerate(text.splitlines(), start=1):
        words = raw.partition("#")[0].split()
        if not words:
            continue
        if len(words) != 2 or not words[1].isdigit():
            yield fault(path, f"{raw} is no name with a number", number)
        elif words[0] == "Tier":
            rows.append((f"Tier {words[1]}", number, {}))
        elif words[0] in rows[-1][2]:
            yield fault(path, f"{rows[-1][0]}: {words[0]} is there twice", number)
        else:
            rows[-1][2][words[0]] = int(words[1])
    yield from row_findings(path, plan, [Row(key, held, line) for key, line, held in rows])


def simgrid(fabric: Fabric, links: list[Link], tree: Path) -> Iterator[Finding]:
    """Yield where a platform's hosts, routers, links and routes differ (simgrid.dtd 4.1)."""
    joined = any(c.role is CableRole.INTERZONE for c in fabric.cables) or len(fabric.trees) == 1
    site = fabric.intent.name
    for name in ["platform"] if joined else fabric.trees:
        switches = {s.name for s in fabric.switches if joined or s.tree == name}
        zone = site if joined else f"{site}-{name}"
        own = [link for link in links if link.z.device in switches]
        path = f"exports/simgrid/{name}.xml"
        plan = _platform(zone, switches, own)
        yield from read_xml(tree, path, lambda root: _simgrid(path, root, plan))  # noqa: B023 - called at once


def _platform(zone: str, switches: set[str], links: list[Link]) -> dict[str, dict[str, Value]]:
    plan: dict[str, dict[str, Value]] = {
        "platform": {"version": "4.1"},
        f"zone {zone}": {"routing": "Dijkstra"},
    }
    plan |= {f"router {name}": {} for name in switches}
    trunks: dict[tuple[str, str], list[Link]] = {}
    for link in links:
        if link.host:
            plan[f"host {link.cable.id}"] = {"speed": "1Gf"}
        trunks.setdefault(
            (link.cable.id if link.host else link.a.device, link.z.device), []
        ).append(link)
    for (a, z), trunk in trunks.items():
        name = "+".join(link.cable.id for link in trunk)
        plan[f"link {name}"] = {
            "bandwidth": f"{sum(link.cable.gbps for link in trunk)}Gbps",
            "latency": f"{max(delay_ns(link.cable.length_m) for link in trunk)}ns",
            "sharing_policy": "SPLITDUPLEX",
        }
        plan[f"route {a} to {z}"] = {"over": name, "direction": "UP"}
    return plan


def _simgrid(
    path: str, root: ElementTree.Element, plan: Mapping[str, Mapping[str, Value]]
) -> Iterator[Finding]:
    rows = [Row(root.tag, dict(root.attrib))]
    for zone in root:
        rows.append(_named(zone))
        for part in zone:
            if part.tag == "route":
                over = [child for child in part if child.tag == "link_ctn"]
                key = f"route {part.get('src')} to {part.get('dst')}"
                held = {
                    "over": ", ".join(str(child.get("id")) for child in over),
                    "direction": ", ".join(str(child.get("direction")) for child in over),
                }
                others = {k: v for k, v in part.attrib.items() if k not in ("src", "dst")}
                rows.append(Row(key, held | others))
            else:
                rows.append(_named(part))
    yield from row_findings(path, plan, rows)


def _named(element: ElementTree.Element) -> Row:
    held: dict[str, Value] = {key: value for key, value in element.attrib.items() if key != "id"}
    return Row(f"{element.tag} {element.get('id')}", held)
