"""The fabric as NVIDIA Air imports it (JSON): every node, every link."""

from __future__ import annotations

from typing import Final

from fireflyer.render.exports.wiring import Files, Wiring

_SWITCH: Final = {
    "sonic": "sonic-vs-202305",
    "nvue": "cumulus-vx-5.16.1",
    "frr": "generic/ubuntu2404",
}
"""Images of Air by what the switches run; a system that it does not have gets none."""
_HOST: Final = "generic/ubuntu2404"
_NAMED: Final = frozenset({"nvue"})
"""Systems whose ports have their configured names; others, and hosts, have `eth1` and so on."""


def files(wiring: Wiring) -> Files:
    """Yield `topology.json`, on Ethernet and for a system that Air has."""
    fabric = wiring.fabric
    image = _SWITCH.get(fabric.system or "")
    if not fabric.is_ethernet or image is None:
        return
    nodes = [
        f'      "{switch.name}": {{"os": "{image}", "cpu": 2, "memory": 4096, "storage": 20}}'
        for switch in fabric.switches
    ]
    nodes += [
        f'      "{node.name}": {{"os": "{_HOST}", "cpu": 1, "memory": 1024, "storage": 10}}'
        for node in fabric.nodes
    ]
    named = fabric.system in _NAMED
    links = []
    for link in wiring.links:
        a_port = _port(link.a_number, link.a_port, named and not link.host)
        z_port = _port(link.z_number, link.z_port, named)
        links.append(
            f'      [{{"node": "{link.a}", "interface": "{a_port}"}},'
            f' {{"node": "{link.z}", "interface": "{z_port}"}}]'
        )
    yield (
        "topology.json",
        f'{{\n  "format": "JSON",\n  "title": "{fabric.intent.name}",\n  "content": {{\n'
        f'    "nodes": {{\n{_joined(nodes)}\n    }},\n'
        f'    "links": [\n{_joined(links)}\n    ]\n  }}\n}}\n',
    )


def _port(number: int, name: str, named: bool) -> str:
    """Return a port as NVIDIA's sample topologies have it: `swp1` of Cumulus, else `eth1`."""
    return name if named else f"eth{number}"


def _joined(lines: list[str]) -> str:
    return ",\n".join(lines)
