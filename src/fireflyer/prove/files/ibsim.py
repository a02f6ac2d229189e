"""The netfile of ibsim against the fabric: every node, its GUID, its ports and their far ends.

The grammar is that of ibnetdiscover(8), which ibsim reads. ibsim numbers an adapter's port GUID
one above its node GUID, and a switch has one GUID.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from fireflyer.model.fabric import Fabric, Port
from fireflyer.prove.files.source import read
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Row, Value, fault, row_findings

PATH = "ibsim/fabric.net"
VENDOR = 0x2C9
"""Mellanox (IEEE OUI 00:02:c9)."""
RATE = "w=3 s=7 e=7"
"""Up to four lanes of up to HDR: the fastest link that ibsim knows."""
_NODE = re.compile(r'^(Switch|Ca)\s+(\d+)\s+"([^"]*)"\s*#\s*"([^"]*)"(.*)$')
_PORT = re.compile(r'^\[(\d+)\](?:\([0-9a-f]+\))?\s+"([^"]*)"\[(\d+)\](?:\([0-9a-f]+\))?\s*([^#]*)')
_NUMBER = re.compile(
    r"^(vendid|devid|sysimgguid|switchguid|caguid)=(0x[0-9a-fA-F]+)(?:\([^)]*\))?$"
)


def ibsim(fabric: Fabric, tree: Path) -> tuple[Finding, ...]:
    """Return where the netfile differs from the fabric."""
    if fabric.is_ethernet:
        return ()
    return read(tree, PATH, lambda text: _findings(fabric, text))


def _findings(fabric: Fabric, text: str) -> Iterator[Finding]:
    rows: list[Row] = []
    yield from _parse(text, rows)
    yield from row_findings(PATH, _planned(fabric), rows)


def _parse(text: str, rows: list[Row]) -> Iterator[Finding]:
    """Fill `rows`, a node or a port each; yield what is not of the grammar."""
    head: dict[str, Value] = {}
    here = ""
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if match := _NUMBER.match(line):
            head[match[1]] = int(match[2], 16)
        elif match := _NODE.match(line):
            here = match[3]
            tail = match[5].split()
            head |= {"kind": match[1], "ports": int(match[2]), "description": match[4]}
            if match[1] == "Switch":
                head["port 0"] = " ".join(tail)
            rows.append(Row(here, head, number))
            head = {}
        elif match := _PORT.match(line):
            values = {"far": f"{match[2]}[{match[3]}]", "rate": " ".join(match[4].split())}
            rows.append(Row(f"{here}[{match[1]}]", values, number))
        else:
            yield fault(PATH, f"{line} is no line of a netfile", number)
    if head:
        yield fault(PATH, f"{', '.join(head)} at the end belongs to no node")


def _planned(fabric: Fabric) -> dict[str, dict[str, Value]]:
    planned: dict[str, dict[str, Value]] = {}
    for switch in fabric.switches:
        planned[f"S-{switch.guid.value:016x}"] = {
            "vendid": VENDOR,
            "switchguid": switch.guid.value,
            "kind": "Switch",
            "ports": switch.model.ports,
            "description": switch.name,
            "port 0": "enhanced port 0 lid 0 lmc 0",
        }
    for node in fabric.nodes:
        for port in node.ports:
            planned[f"H-{port.guid.value - 1:016x}"] = {
                "vendid": VENDOR,
                "caguid": port.guid.value - 1,
                "kind": "Ca",
                "ports": 1,
                "description": f"{node.name} {port.hca}",
            }
    for cable in fabric.cables:
        a, z = _plug(fabric, cable.a), _plug(fabric, cable.z)
        planned[a] = {"far": z, "rate": RATE}
        planned[z] = {"far": a, "rate": RATE}
    return planned


def _plug(fabric: Fabric, port: Port) -> str:
    """Return a port as the netfile names it; an adapter's port is its first."""
    if port.device in fabric.switch:
        return f"S-{fabric.switch[port.device].guid.value:016x}[{port.number}]"
    return f"H-{fabric.node_port[port].guid.value - 1:016x}[1]"
