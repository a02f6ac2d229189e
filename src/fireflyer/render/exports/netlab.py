"""The whole fabric as a netlab topology, on Ethernet.

netlab wires the lab and gives management ports, loopbacks and hosts the site's addresses. It
numbers no port of a switch: those are in the rendered configuration.
"""

from __future__ import annotations

from typing import Final

from fireflyer.model.fabric import Node, Switch
from fireflyer.render.exports.wiring import Files, Link, Wiring

_DEVICES: Final = {"sonic": "sonic", "nvue": "cumulus_nvue", "eos": "eos", "frr": "frr"}
"""netlab's names of the systems."""
_FIRST: Final = {"sonic": 0}
"""netlab's index of a system's first port, where it is not 1."""
_MOST_NODES: Final = 150
"""Nodes that netlab takes without being told of more."""
_NAME_LETTERS: Final = 16
"""Letters of a lab's name that netlab takes."""


def files(wiring: Wiring) -> Files:
    """Yield `topology.yml`: `ifindex` keeps each link in its port."""
    fabric = wiring.fabric
    device = _DEVICES.get(fabric.system or "")
    if not fabric.is_ethernet or device is None:
        return
    count = len(fabric.switches) + len(fabric.nodes)
    name = fabric.intent.name[:_NAME_LETTERS].rstrip("-")
    lines = [f"name: {name}\nprovider: clab\ndefaults:\n  device: {device}\n"]
    if count > _MOST_NODES:
        lines.append(f"  const: {{MAX_NODE_ID: {count}}}\n")
    lines.append("addressing:\n")
    lines.append(f"  mgmt: {{ipv4: {fabric.networks['management']}, start: 0}}\n")
    lines.append(f"  loopback: {{ipv4: {fabric.networks['loopback']}}}\n")
    lines.append("nodes:\n")
    lines += [f"  {switch.name}: {{{_addresses(switch)}}}\n" for switch in fabric.switches]
    lines += [
        f"  {node.name}: {{device: linux, mgmt: {{ipv4: {node.management}}}}}\n"
        for node in fabric.nodes
    ]
    lines.append("links:\n")
    shift = _FIRST.get(fabric.system or "", 1) - 1
    hosts = fabric.node
    lines += [_link(link, shift, hosts[link.a] if link.host else None) for link in wiring.links]
    yield "topology.yml", "".join(lines)


def _addresses(switch: Switch) -> str:
    return f"mgmt: {{ipv4: {switch.management}}}, loopback: {{ipv4: {switch.loopback}/32}}"


def _link(link: Link, shift: int, host: Node | None) -> str:
    far = f"{link.z}: {{ifindex: {link.z_number + shift}"
    if host is None:
        return f"- {{{link.a}: {{ifindex: {link.a_number + shift}}}, {far}}}, prefix: false}}\n"
    port = host.ports[link.a_number - 1]
    near = f"{link.a}: {{ifindex: {link.a_number}, ipv4: {port.address}/{port.network.prefixlen}}}"
    return f"- {{{near}, {far}, ipv4: false}}, prefix: {{ipv4: {port.network}}}}}\n"
