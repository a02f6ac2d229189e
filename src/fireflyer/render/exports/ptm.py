"""`topology.dot` of the Prescriptive Topology Manager: who should be at each port, for LLDP."""

from __future__ import annotations

from fireflyer.render.exports.wiring import Files, Wiring


def files(wiring: Wiring) -> Files:
    """Yield the graph, on Ethernet: PTM compares it with what LLDP says."""
    fabric = wiring.fabric
    if not fabric.is_ethernet:
        return
    nodes = "".join(f'  "{s.name}" [role="{s.layer}"];\n' for s in fabric.switches)
    edges = "".join(
        f'  "{link.a}":"{link.a_port}" -- "{link.z}":"{link.z_port}";\n' for link in wiring.links
    )
    yield "topology.dot", f'graph "{fabric.intent.name}" {{\n{nodes}{edges}}}\n'
