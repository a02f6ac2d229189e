"""ASTRA-sim's files: numbers of its end points and switches, and the links between them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from fireflyer.model.fabric import CableRole, Fabric, Role
from fireflyer.prove.files.exports.links import Link, delay_ns
from fireflyer.prove.files.marked_yaml import flattened, load
from fireflyer.prove.files.source import read
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Row, Value, fault, row_findings

_LINK = re.compile(r"^(\d+) (\d+) (\d+)Gbps (\d+)ns (\S+)$")


def astra_sim(fabric: Fabric, links: list[Link], tree: Path) -> Iterator[Finding]:
    """Yield where the numbering or the links of the ns-3 back end differ."""
    ends = [f"{node.name}:{port.number}" for node in fabric.nodes for port in node.ports]
    names = [*ends, *(switch.name for switch in fabric.switches)]
    path = "exports/astra-sim/nodes.txt"
    plan: dict[str, dict[str, Value]] = {str(n): {"name": name} for n, name in enumerate(names)}
    yield from read(tree, path, lambda text: _nodes(path, text, plan))
    path_of_links = "exports/astra-sim/ns3-topology.txt"
    yield from read(
        tree, path_of_links, lambda text: _topology(path_of_links, text, names, len(ends), links)
    )
    for name, dimensions in _dimensions(fabric, links).items():
        file = f"exports/astra-sim/{name}.yml"
        yield from read(tree, file, lambda text: _analytical(file, text, dimensions))  # noqa: B023 - called at once


def _nodes(path: str, text: str, plan: dict[str, dict[str, Value]]) -> Iterator[Finding]:
    rows = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if len(words) == 2:
            rows.append(Row(words[0], {"name": words[1]}, number))
        elif words:
            yield fault(path, f"{line} is no number with a name", number)
    yield from row_findings(path, plan, rows)


def _topology(
    path: str, text: str, names: list[str], hosts: int, links: list[Link]
) -> Iterator[Finding]:
    """Yield the differences of head and links."""
    lines = text.splitlines()
    if len(lines) < 2:
        yield fault(path, "has no head")
        return
    rows = []
    for number, line in enumerate(lines[2:], start=3):
        match = _LINK.match(line.strip())
        if match is None:
            yield fault(path, f"{line} is no link", number)
            continue
        ends = [int(match[1]), int(match[2])]
        named = [names[end] if end < len(names) else f"node {end}" for end in ends]
        rows.append((number, f"{named[0]} to {named[1]}", int(match[3]), int(match[4]), match[5]))
    head = f"{len(names)} {len(names) - hosts} {len(rows)}"
    if " ".join(lines[0].split()) != head:
        yield fault(path, f"the head is {lines[0]}, planned {head}", 1)
    if lines[1].split() != [str(n) for n in range(hosts, len(names))]:
        yield fault(path, f"the switches are not {hosts} to {len(names) - 1}", 2)
    yield from _compared(path, links, rows)


def _compared(
    path: str, links: list[Link], rows: list[tuple[int, str, int, int, str]]
) -> Iterator[Finding]:
    """Yield the differences of the links; a trunk is one, for ns-3 keeps one of parallel links."""
    trunks: dict[str, list[Link]] = {}
    for link in links:
        near = link.cable.id if link.host else link.a.device
        trunks.setdefault(f"{near} to {link.z.device}", []).append(link)
    plan: dict[str, dict[str, Value]] = {
        key: {
            "gbps": sum(link.cable.gbps for link in trunk),
            "delay_ns": max(delay_ns(link.cable.length_m) for link in trunk),
            "errors": "0",
        }
        for key, trunk in trunks.items()
    }
    seen = [
        Row(key, {"gbps": gbps, "delay_ns": delay, "errors": errors}, number)
        for number, key, gbps, delay, errors in rows
    ]
    yield from row_findings(path, plan, seen)


def _dimensions(fabric: Fabric, links: list[Link]) -> dict[str, list[tuple[int, float, int]]]:
    """Return end points, GB/s and ns of each dimension, by the file of the analytical back end.

    A dimension has two end points at least: the back end refuses less.
    """
    compute = [p for node in fabric.nodes_of(Role.COMPUTE) for p in node.ports]
    count = Counter(port.tree for port in compute)
    hosts = [delay_ns(link.cable.length_m) for link in links if link.host]
    between = [link.cable for link in links if link.cable.role is CableRole.INTERZONE]
    speed, delay = links[0].cable.gbps / 8, 2 * max(hosts, default=0)
    smallest = min(count[tree] for tree in fabric.trees)
    inside = {tree: [(count[tree], speed, delay)] for tree in fabric.trees if count[tree] > 1}
    files = {"analytical": [(smallest, speed, delay)] if smallest > 1 else []}
    if between and smallest:
        out = sum(fabric.switch[c.a.device].tree == fabric.trees[0] for c in between)
        longest = 2 * max(delay_ns(cable.length_m) for cable in between)
        share = speed * out / smallest
        files["analytical"].append((len(fabric.zones), float(f"{share:.6g}"), longest))
        files |= {f"analytical-{tree}": dimensions for tree, dimensions in inside.items()}
    return {name: dimensions for name, dimensions in files.items() if dimensions}


def _analytical(path: str, text: str, plan: list[tuple[int, float, int]]) -> Iterator[Finding]:
    findings: list[Finding] = []
    seen = load(path, text, findings)
    yield from findings
    planned: dict[str, dict[str, Value]] = {
        "topology": {"each": ("Switch",) * len(plan)},
        "npus_count": {"each": tuple(count for count, _, _ in plan)},
        "bandwidth": {"each": tuple(speed for _, speed, _ in plan)},
        "latency": {"each": tuple(delay for _, _, delay in plan)},
    }
    rows = [
        Row(name, {"each": tuple(v for _, v in flattened(value))}, value.line)
        for name, value in seen.mapping.items()
    ]
    yield from row_findings(path, planned, rows)
