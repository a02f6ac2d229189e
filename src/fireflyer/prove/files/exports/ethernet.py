"""What LLDP checkers get: the graph of the Prescriptive Topology Manager."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from fireflyer.model.fabric import Fabric
from fireflyer.prove.files.exports.links import Link, pair
from fireflyer.prove.files.source import read
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Row, Value, fault, row_findings

_NODE = re.compile(r'^"([^"]*)"\s*\[role="([^"]*)"\]\s*;?$')
_EDGE = re.compile(r'^"([^"]*)":"([^"]*)"\s*--\s*"([^"]*)":"([^"]*)"\s*;?$')


def ptm(fabric: Fabric, links: list[Link], tree: Path) -> Iterator[Finding]:
    """Yield where the graph differs (DOT, as ptmd reads it); Ethernet only."""
    if not fabric.is_ethernet:
        return
    plan: dict[str, dict[str, Value]] = {
        f"switch {s.name}": {"role": str(s.layer)} for s in fabric.switches
    }
    plan |= {
        pair(f"{link.a.device} {link.a.port}", f"{link.z.device} {link.z.port}"): {}
        for link in links
    }
    path = "exports/ptm/topology.dot"
    yield from read(tree, path, lambda text: _graph(fabric, path, text, plan))


def _graph(
    fabric: Fabric, path: str, text: str, plan: dict[str, dict[str, Value]]
) -> Iterator[Finding]:
    lines = [(n, line.strip()) for n, line in enumerate(text.splitlines(), start=1)]
    lines = [(n, line) for n, line in lines if line and not line.startswith(("//", "#"))]
    if not lines or lines[0][1] != f'graph "{fabric.intent.name}" {{' or lines[-1][1] != "}":
        yield fault(path, f'is no graph "{fabric.intent.name}" {{ ... }}', 1)
    rows = []
    for number, line in lines[1:-1]:
        if match := _NODE.match(line):
            rows.append(Row(f"switch {match[1]}", {"role": match[2]}, number))
        elif match := _EDGE.match(line):
            rows.append(Row(pair(f"{match[1]} {match[2]}", f"{match[3]} {match[4]}"), {}, number))
        else:
            yield fault(path, f"{line} is no switch and no link", number)
    yield from row_findings(path, plan, rows)
