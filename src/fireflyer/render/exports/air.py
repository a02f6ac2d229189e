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
    # Air's switches have their ports under the names their system gives them.
    links = [
        f'      [{{"node": "{link.a}", "interface": "{link.a_port}"}},'
        f' {{"node": "{link.z}", "interface": "{link.z_port}"}}]'
        for link in wiring.links
    ]
    yield (
        "topology.json",
        f'{{\n  "format": "JSON",\n  "title": "{fabric.intent.name}",\n  "content": {{\n'
        f'    "nodes": {{\n{_joined(nodes)}\n    }},\n'
        f'    "links": [\n{_joined(links)}\n    ]\n  }}\n}}\n',
    )


def _joined(lines: list[str]) -> str:
    return ",\n".join(lines)
