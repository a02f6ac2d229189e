"""The network description table (NDT) that UFM compares an InfiniBand fabric with."""

from __future__ import annotations

from fireflyer.render.exports.wiring import Files, Wiring

HEADER = "#Fields:StartDevice,StartPort,EndDevice,EndPort,LinkType"


def files(wiring: Wiring) -> Files:
    """Yield `switches.ndt.csv` and `hosts.ndt.csv`, on InfiniBand.

    UFM reads the two kinds apart. A host is its node description: name and adapter.
    """
    if wiring.fabric.is_ethernet:
        return
    for name, host in (("switches", False), ("hosts", True)):
        rows = [
            f"{link.a} {link.a_port},Port 1,{link.z},Port {link.z_number},Data\n"
            if host
            else f"{link.a},Port {link.a_number},{link.z},Port {link.z_number},Data\n"
            for link in wiring.links
            if link.host is host
        ]
        yield f"{name}.ndt.csv", HEADER + "\n" + "".join(rows)
