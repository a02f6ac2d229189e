"""OpenSM's QoS policy: port groups, levels and match rules, as its QoS_management text has it.

Sections are opened and closed by lines of their own; within one, `key: value`. The first rule
that matches a request counts, so the order of rules has a meaning; that of levels has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fireflyer.model.fabric import Fabric, Role
from fireflyer.prove.files.source import read
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Row, Value, fault, row_findings

_PARTS = {
    "port-group": "port-groups",
    "qos-level": "qos-levels",
    "qos-match-rule": "qos-match-rules",
}
"""The section that each part must stand in."""


@dataclass(slots=True)
class _Part:
    kind: str
    line: int
    values: dict[str, list[str]] = field(default_factory=dict)


def policy_findings(fabric: Fabric, tree: Path, path: str) -> tuple[Finding, ...]:
    """Return where the policy differs from the intent's traffic classes."""
    return read(tree, path, lambda text: _findings(fabric, path, text))


def _findings(fabric: Fabric, path: str, text: str) -> Iterator[Finding]:
    parts: list[_Part] = []
    yield from _parse(path, text, parts)
    levels, rules = _planned(fabric)
    rows: dict[str, list[Row]] = {kind: [] for kind in _PARTS}
    for part in parts:
        rows[part.kind].append(_row(part))
    yield from _groups(fabric, path, rows["port-group"])
    yield from row_findings(path, levels, rows["qos-level"])
    yield from row_findings(path, rules, rows["qos-match-rule"], ordered=True)


def _parse(path: str, text: str, parts: list[_Part]) -> Iterator[Finding]:
    """Fill `parts`; yield what is not of the grammar."""
    section, part = "", None
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.partition("#")[0].strip()
        if not line:
            continue
        key, colon, value = (word.strip() for word in line.partition(":"))
        if not section and line in _PARTS.values():
            section = line
        elif part is None and section and line == f"end-{section}":
            section = ""
        elif part is None and _PARTS.get(line) == section != "":
            part = _Part(line, number)
        elif part is not None and line == f"end-{part.kind}":
            parts.append(part)
            part = None
        elif part is not None and colon and value:
            part.values.setdefault(key, []).append(value)
        else:
            yield fault(path, f"{line} does not belong here", number)
    if section or part:
        yield fault(path, f"{part.kind if part else section} is not closed")


def _planned(fabric: Fabric) -> tuple[dict[str, dict[str, Value]], dict[str, dict[str, Value]]]:
    traffic = fabric.intent.traffic
    levels: dict[str, dict[str, Value]] = {
        "level DEFAULT": {"sl": fabric.traffic_default.sl},
        f"level {traffic.storage}": {"sl": fabric.traffic_class(traffic.storage).sl},
    }
    rules: dict[str, dict[str, Value]] = {
        "rule source storage": {"level": traffic.storage},
        "rule destination storage": {"level": traffic.storage},
    }
    for row in traffic.classes:
        if row.name not in (traffic.default, traffic.storage):
            levels[f"level {row.name}"] = {"sl": row.sl}
            rules[f"rule qos-class {row.sl}"] = {"level": row.name}
    return levels, rules


def _row(part: _Part) -> Row:
    values = {key: found for key, found in part.values.items() if key != "use"}
    if part.kind == "qos-level":
        name = " ".join(values.pop("name", ["without a name"]))
        return Row(
            f"level {name}", {key: _value(found) for key, found in values.items()}, part.line
        )
    if part.kind == "qos-match-rule":
        level = _value(values.pop("qos-level-name", ["none"]))
        asked = " ".join(f"{key} {' '.join(found)}" for key, found in values.items())
        return Row(f"rule {asked}", {"level": level}, part.line)
    name = " ".join(values.pop("name", ["without a name"]))
    return Row(name, {key: tuple(found) for key, found in values.items()}, part.line)


def _value(found: list[str]) -> Value:
    text = " and ".join(found)
    return int(text, 0) if text.isdigit() or text.startswith("0x") else text


def _groups(fabric: Fabric, path: str, rows: list[Row]) -> Iterator[Finding]:
    """Yield where the group of storage ports has other ports than the fabric."""
    names = {
        port.guid.value: f"{node.name} {port.hca}" for node in fabric.nodes for port in node.ports
    }
    if [row.key for row in rows] != ["storage"]:
        said = ", ".join(row.key for row in rows) or "none"
        yield fault(path, f"has the port groups {said}, planned storage")
    for row in rows[:1]:
        if other := sorted(row.values.keys() - {"port-guid"}):
            yield fault(
                path, f"port group {row.key} has {', '.join(other)}, none planned", row.line
            )
        guids = row.values.get("port-guid", ())
        assert isinstance(guids, tuple)
        seen = []
        for text in (each.strip() for line in guids for each in str(line).split(",")):
            try:
                guid = int(text, 0)
            except ValueError:
                yield fault(path, f"port group {row.key}: {text} is no GUID", row.line)
                continue
            seen.append(Row(f"storage port 0x{guid:016x} ({names.get(guid, 'unknown')})", {}))
        plan: dict[str, dict[str, Value]] = {
            f"storage port {port.guid} ({node.name} {port.hca})": {}
            for node in fabric.nodes_of(Role.STORAGE)
            for port in node.ports
        }
        yield from row_findings(path, plan, seen)
