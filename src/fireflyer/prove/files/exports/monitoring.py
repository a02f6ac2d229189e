"""What Prometheus is told: targets (file_sd) and the links that must be up (text format)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from fireflyer.model.fabric import Fabric
from fireflyer.prove.files import plain_json
from fireflyer.prove.files.exports.links import Link
from fireflyer.prove.files.marked_yaml import Tree, flattened
from fireflyer.prove.files.source import read
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Row, Value, fault, row_findings

METRIC = "fireflyer_expected_link"
NODE_EXPORTER, SNMP = 9100, 161
GNMI = {"sonic": 8080, "nvue": 9339, "eos": 6030}
"""The port in `GNMI` of SONiC's file; the vendors' defaults, which the others leave."""
PREFIX = "fabric_"
"""Of a target's labels: a label of the same name in a metric would hide one without it."""
_SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)\{([^}]*)\}\s+(\S+)$")
_LABEL = re.compile(r'([a-zA-Z_]\w*)="([^"]*)"(?:,|$)')


def prometheus(fabric: Fabric, links: list[Link], tree: Path) -> Iterator[Finding]:
    """Yield where targets or expected links differ."""
    kind, port = fabric.tree_kind, _port(fabric)
    nodes = {
        f"{node.management}:{NODE_EXPORTER}": {
            f"{PREFIX}device": node.name,
            f"{PREFIX}role": str(node.role),
            f"{PREFIX}zone": node.zone,
            f"{PREFIX}rack": node.place.rack,
        }
        for node in fabric.nodes
    }
    switches = {
        f"{switch.management}:{port}": {
            f"{PREFIX}device": switch.name,
            f"{PREFIX}role": str(switch.layer),
            f"{PREFIX}{kind}": switch.tree or "",
            f"{PREFIX}rack": switch.place.rack,
        }
        for switch in (fabric.switches if port else ())
    }
    for name, targets in (("nodes", nodes), ("switches", switches)):
        path = f"exports/prometheus/{name}.json"
        plan: dict[str, dict[str, Value]] = {
            target: dict(labels) for target, labels in targets.items()
        }
        yield from read(tree, path, lambda text: _targets(path, text, plan))  # noqa: B023 - called at once
    path = "exports/prometheus/expected.prom"
    yield from read(tree, path, lambda text: _samples(links, path, text))


def _port(fabric: Fabric) -> int | None:
    """Return where a switch answers; None where its configuration turns monitoring off."""
    how, system = fabric.intent.switch_management.monitoring, fabric.system
    if how == "none":
        return None
    if system == "frr":  # a Linux host, like a node
        return NODE_EXPORTER
    return GNMI[system] if how == "gnmi" and system in GNMI else SNMP


def _targets(path: str, text: str, plan: dict[str, dict[str, Value]]) -> Iterator[Finding]:
    findings: list[Finding] = []
    document: Tree = plain_json.load(path, text, findings)
    yield from findings
    rows = []
    for group in document if isinstance(document, list) else []:
        held = dict(flattened(group))
        labels = {
            key.removeprefix("labels."): value
            for key, value in held.items()
            if key.startswith("labels.")
        }
        others = {k: v for k, v in held.items() if not k.startswith(("labels.", "targets."))}
        for key, value in held.items():
            if key.startswith("targets."):
                rows.append(Row(str(value), labels | others))
    yield from row_findings(path, plan, rows)


def _samples(links: list[Link], path: str, text: str) -> Iterator[Finding]:
    plan: dict[str, dict[str, Value]] = {f"type of {METRIC}": {"type": "gauge"}}
    for link in links:
        for near, far in ((link.a, link.z), (link.z, link.a)):
            plan[f"{near.device} {near.port}"] = {
                "metric": METRIC,
                "peer": far.device,
                "peer_port": far.port,
                "value": float(link.cable.gbps),
            }
    rows = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("# TYPE "):
            rows.append(Row(f"type of {line.split()[2]}", {"type": line.split()[-1]}, number))
        elif match := _SAMPLE.match(line):
            labels = dict(_LABEL.findall(match[2]))
            key = f"{labels.pop('device', 'none')} {labels.pop('port', 'none')}"
            held: dict[str, Value] = {"metric": match[1], **labels, "value": _float(match[3])}
            rows.append(Row(key, held, number))
        elif line.strip() and not line.startswith("#"):
            yield fault(path, f"{line} is no sample", number)
    yield from row_findings(path, plan, rows)


def _float(text: str) -> Value:
    try:
        return float(text)
    except ValueError:
        return text
