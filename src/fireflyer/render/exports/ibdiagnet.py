"""Topology and system definitions that ibdiagnet and ibtopodiff read (ibdm-topo-file(1), IBNL).

The arrow carries no width or speed: the tools of ibutils know none past QDR, newer ones take
both from the system definitions.
"""

from __future__ import annotations

from fireflyer.model.fabric import Fabric, Node
from fireflyer.model.hardware import SwitchModel
from fireflyer.render.exports.wiring import Files, Wiring
from fireflyer.render.template import render


def files(wiring: Wiring) -> Files:
    """Yield `<site>.topo` and `ibnl/<system>.ibnl` of every model, on InfiniBand."""
    fabric = wiring.fabric
    if fabric.is_ethernet:
        return
    yield f"{fabric.intent.name}.topo", _topology(wiring)
    for model in {s.model.name: s.model for s in fabric.switches}.values():
        ports = [(number, f"P{number}") for number in range(1, model.ports + 1)]
        yield _ibnl(switch_type(model), [("SW", model.ports, ports)])
    for node in {host_type(node): node for node in fabric.nodes if node.ports}.values():
        adapters = [("CA", 1, [(1, f"{port.hca}/P1")]) for port in node.ports]
        yield _ibnl(host_type(node), adapters)


def _ibnl(system: str, devices: list[tuple[str, int, list[tuple[int, str]]]]) -> tuple[str, str]:
    return f"ibnl/{system}.ibnl", render("ibdiagnet/system.ibnl.j2", system=system, devices=devices)


def switch_type(model: SwitchModel) -> str:
    """Return a switch's system type; NVIDIA's Quantum are ordered, and defined, as MQM."""
    name = model.name.upper().replace("-", "_")
    return f"M{name}" if name.startswith("QM") else name


def host_type(node: Node) -> str:
    """Return a host's system type: its adapters, as nothing else of it is in the fabric."""
    return "_".join(("HCA", *(port.hca for port in node.ports)))


def _topology(wiring: Wiring) -> str:
    fabric = wiring.fabric
    types = {switch.name: switch_type(switch.model) for switch in fabric.switches}
    types |= {node.name: host_type(node) for node in fabric.nodes}
    lines: dict[str, list[tuple[int, str]]] = {switch.name: [] for switch in fabric.switches}
    for link in wiring.links:
        near = f"{link.a_port}/P1" if link.host else f"P{link.a_number}"
        lines[link.z].append((link.z_number, f"{types[link.a]} {link.a} {near}"))
        if not link.host:
            far = f"{types[link.z]} {link.z} P{link.z_number}"
            lines[link.a].append((link.a_number, far))
    return _header(fabric) + "\n".join(
        f"{types[name]} {name}\n" + "".join(f"   P{n} -> {far}\n" for n, far in sorted(ports))
        for name, ports in lines.items()
    )


def _header(fabric: Fabric) -> str:
    return f"# Fabric of {fabric.intent.name}, generated from its intent.\n"
