"""What LibreNMS and Oxidized are given: every device with its address, switches by protocol."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fireflyer.model.fabric import Fabric
from fireflyer.prove.files import plain_json
from fireflyer.prove.files.exports.links import Link
from fireflyer.prove.files.marked_yaml import Tree, flattened, load
from fireflyer.prove.files.source import read
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Row, Value, fault, row_findings

_BY_SYSTEM = {
    "mlnxos": "mlnxos",
    "eos": "eos",
    "nvue": "cumulus",
    "sonic": "linuxgeneric",
    "frr": "linuxgeneric",
}
"""The model of Oxidized's sources (lib/oxidized/model) that a system's prompt and commands fit."""
_COLUMNS = ("name", "ip", "model", "group")


def librenms(fabric: Fabric, links: list[Link], tree: Path) -> Iterator[Finding]:
    """Yield where LibreNMS' list differs."""
    path = "exports/librenms/devices.json"
    yield from read(tree, path, lambda text: _bodies(fabric, path, text))


def _bodies(fabric: Fabric, path: str, text: str) -> Iterator[Finding]:
    plan: dict[str, dict[str, Value]] = {}
    answers = fabric.intent.switch_management.monitoring == "snmpv3"
    for switch in fabric.switches:
        row: dict[str, Value] = {"hostname": str(switch.management), "display": switch.name}
        if answers and fabric.system in ("mlnxos", "sonic", "nvue", "eos"):
            row |= {"snmpver": "v3", "port": 161, "transport": "udp", "authlevel": "authPriv"}
            row["port_association_mode"] = "ifName"
        else:
            row |= _pinged(switch.name, switch.model.name)
        plan[switch.name] = row
    for node in fabric.nodes:
        row = {"hostname": str(node.management), "display": node.name}
        plan[node.name] = row | _pinged(node.name, node.model.name)
    findings: list[Finding] = []
    document: Tree = plain_json.load(path, text, findings)
    yield from findings
    rows = [dict(flattened(body)) for body in document] if isinstance(document, list) else []
    yield from row_findings(path, plan, [Row(str(row.get("display")), row) for row in rows])


def _pinged(name: str, model: str) -> dict[str, Value]:
    return {"snmp_disable": True, "os": "ping", "sysName": name, "hardware": model}


def oxidized(fabric: Fabric, links: list[Link], tree: Path) -> Iterator[Finding]:
    """Yield where Oxidized's list or its description differs."""
    if fabric.system is None:
        return
    path, settings = "exports/oxidized/router.db", "exports/oxidized/source.yml"
    yield from read(tree, path, lambda text: _router_db(fabric, path, text))
    yield from read(tree, settings, lambda text: _settings(fabric, settings, text))


def _router_db(fabric: Fabric, path: str, text: str) -> Iterator[Finding]:
    assert fabric.system is not None, "its caller has asked"
    plan: dict[str, dict[str, Value]] = {
        switch.name: {
            "name": switch.name,
            "ip": str(switch.management),
            "model": _BY_SYSTEM[fabric.system],
            "group": switch.tree or str(switch.layer),
        }
        for switch in fabric.switches
    }
    rows = []
    for number, line in enumerate(text.splitlines(), start=1):
        fields = line.split(":")
        if len(fields) != len(_COLUMNS):
            yield fault(path, f"{line} has {len(fields)} fields, planned {len(_COLUMNS)}", number)
            continue
        rows.append(Row(fields[0], dict(zip(_COLUMNS, fields, strict=True)), number))
    yield from row_findings(path, plan, rows)


def _settings(fabric: Fabric, path: str, text: str) -> Iterator[Finding]:
    csv: dict[str, Tree] = {
        "file": "~/.config/oxidized/router.db",
        "delimiter": "!ruby/regexp /:/",
        "map": {name: column for column, name in enumerate(_COLUMNS)},
    }
    planned: dict[str, Tree] = {"source": {"default": "csv", "csv": csv}}
    if fabric.system == "nvue":
        planned["models"] = {"cumulus": {"vars": {"cumulus_use_nvue": True}}}
    findings: list[Finding] = []
    quoted = text.replace("!ruby/regexp /:/", '"!ruby/regexp /:/"')
    seen = load(path, quoted, findings)
    yield from findings
    plan = {name: {"value": value} for name, value in flattened(planned)}
    rows = [Row(name, {"value": value}) for name, value in flattened(seen)]
    yield from row_findings(path, plan, rows)
