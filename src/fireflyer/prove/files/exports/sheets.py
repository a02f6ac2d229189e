"""Tables of links: UFM's network description and the point-to-point sheet of NVIDIA's CVT."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fireflyer.model.fabric import Fabric
from fireflyer.prove.files.exports.links import Link
from fireflyer.prove.files.source import read
from fireflyer.prove.files.tables import Planned, table_findings
from fireflyer.prove.files.workbook import workbook_findings
from fireflyer.verify.finding import Finding


def ufm(fabric: Fabric, links: list[Link], tree: Path) -> Iterator[Finding]:
    """Yield where UFM's tables of hosts and of switches differ; InfiniBand only."""
    if fabric.is_ethernet:
        return
    for name, host in (("hosts", True), ("switches", False)):
        rows: list[Planned] = [
            {
                "#Fields:StartDevice": f"{link.a.device} {link.a.port}" if host else link.a.device,
                "StartPort": f"Port {1 if host else link.a.number}",
                "EndDevice": link.z.device,
                "EndPort": f"Port {link.z.number}",
                "LinkType": "Data",
            }
            for link in links
            if link.host is host
        ]
        path = f"exports/ufm/{name}.ndt.csv"
        key = ("#Fields:StartDevice", "StartPort")
        yield from read(tree, path, lambda text: table_findings(path, text, rows, key))  # noqa: B023 - called at once


def cvt(fabric: Fabric, links: list[Link], tree: Path) -> Iterator[Finding]:
    """Yield where the point-to-point sheet differs, as CSV and as a workbook."""
    by_name = fabric.is_ethernet
    rows: list[Planned] = [
        {
            "A-Node Name": link.a.device,
            "A-Type": "Host" if link.host else "Switch",
            "A-Port": link.a.port if by_name else str(link.a.number),
            "Z-Node Name": link.z.device,
            "Z-Type": "Switch",
            "Z-Port": link.z.port if by_name else str(link.z.number),
        }
        for link in links
    ]
    key = ("A-Node Name", "A-Port")
    path = "exports/cvt/p2p.csv"
    yield from read(tree, path, lambda text: table_findings(path, text, rows, key))
    yield from workbook_findings(tree, "exports/cvt/p2p.xlsx", {"P2P": (rows, key)})
    if not by_name:
        adapters = {port.number: port.hca for port in fabric.node_port.values()}
        names: list[Planned] = [
            {"port": number, "hca-name": hca} for number, hca in adapters.items()
        ]
        mapping = "exports/cvt/hca-mapping.csv"
        yield from read(tree, mapping, lambda text: table_findings(mapping, text, names, ("port",)))
