"""Topology and system definitions of ibdiagnet, as ibdm-topo-file(1) and ibdm-ibnl-file(1)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from fireflyer.model.fabric import Fabric
from fireflyer.prove.files.exports.links import End, Link
from fireflyer.prove.files.source import read
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Row, Value, fault, row_findings

_LINK = re.compile(r"^\s+(\S+)\s+->\s+(\S+)\s+(\S+)\s+(\S+)$")
_PORT = re.compile(r"^\s+(\d+)\s+-(\w+)-(\w+)->\s+(\S+)$")
_NODE = re.compile(r"^NODE\s+(SW|CA)\s+(\d+)\s+(\S+)\s+(\S+)$")


def ibdiagnet(fabric: Fabric, links: list[Link], tree: Path) -> Iterator[Finding]:
    """Yield where the topology or a system's definition differs; InfiniBand only."""
    if fabric.is_ethernet:
        return
    types = _types(fabric)
    plan: dict[str, dict[str, Value]] = {s.name: {"type": types[s.name]} for s in fabric.switches}
    for link in links:
        near, far = _port(link.a, host=link.host), _port(link.z, host=False)
        plan[f"{link.z.device} {far}"] = {"far": f"{types[link.a.device]} {link.a.device} {near}"}
        if not link.host:
            plan[f"{link.a.device} {near}"] = {
                "far": f"{types[link.z.device]} {link.z.device} {far}"
            }
    path = f"exports/ibdiagnet/{fabric.intent.name}.topo"
    yield from read(tree, path, lambda text: _topology(path, text, plan))
    for system, nodes in _systems(fabric).items():
        file = f"exports/ibdiagnet/ibnl/{system}.ibnl"
        yield from read(tree, file, lambda text: _definition(file, text, nodes))  # noqa: B023 - called at once


def _port(end: End, *, host: bool) -> str:
    return f"{end.port}/P1" if host else f"P{end.number}"


def _types(fabric: Fabric) -> dict[str, str]:
    """Return the system type of each device: a switch's model, a host's adapters."""
    types = {}
    for switch in fabric.switches:
        name = switch.model.name.upper().replace("-", "_")
        types[switch.name] = f"M{name}" if name.startswith("QM") else name
    for node in fabric.nodes:
        types[node.name] = "HCA_" + "_".join(port.hca for port in node.ports)
    return types


def _topology(path: str, text: str, plan: Mapping[str, Mapping[str, Value]]) -> Iterator[Finding]:
    rows, here = [], ""
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        if match := _LINK.match(line):
            row = Row(f"{here} {match[1]}", {"far": f"{match[2]} {match[3]} {match[4]}"}, number)
            rows.append(row)
        elif len(words := line.split()) == 2 and not line.startswith(" "):
            here = words[1]
            rows.append(Row(here, {"type": words[0]}, number))
        else:
            yield fault(path, f"{line.strip()} is no system and no link", number)
    yield from row_findings(path, plan, rows)


def _systems(fabric: Fabric) -> dict[str, dict[str, dict[str, Value]]]:
    """Return the planned rows of each system's definition: itself, its nodes, their ports."""
    types, systems = _types(fabric), {}
    for switch in fabric.switches:
        name, ports = types[switch.name], switch.model.ports
        rows: dict[str, dict[str, Value]] = {
            f"TOPSYSTEM {name}": {},
            "U1": {"kind": "SW", "ports": ports, "model": name},
        }
        for n in range(1, ports + 1):
            rows[f"U1 {n}"] = {"width": "4x", "speed": "10G", "name": f"P{n}"}
        systems[name] = rows
    for node in fabric.nodes:
        name = types[node.name]
        rows = {f"TOPSYSTEM {name}": {}}
        for n, port in enumerate(node.ports, start=1):
            rows[f"U{n}"] = {"kind": "CA", "ports": 1, "model": name}
            rows[f"U{n} 1"] = {"width": "4x", "speed": "10G", "name": f"{port.hca}/P1"}
        if node.ports:
            systems[name] = rows
    return systems


def _definition(path: str, text: str, plan: Mapping[str, Mapping[str, Value]]) -> Iterator[Finding]:
    rows, here = [], ""
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        if match := _NODE.match(line):
            here = match[4]
            held: dict[str, Value] = {"kind": match[1], "ports": int(match[2]), "model": match[3]}
            rows.append(Row(here, held, number))
        elif match := _PORT.match(line):
            held = {"width": match[2], "speed": match[3], "name": match[4]}
            rows.append(Row(f"{here} {match[1]}", held, number))
        elif line.startswith("TOPSYSTEM "):
            rows.append(Row(" ".join(line.split()), {}, number))
        else:
            yield fault(path, f"{line.strip()} is no line of a system's definition", number)
    yield from row_findings(path, plan, rows)
