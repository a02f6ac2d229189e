"""Virtual labs of the whole fabric: containerlab and netlab, on Ethernet.

A link keeps its port: a lab made of a part of the file has the same cabling as the site.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fireflyer.render.exports.wiring import Files, Link, Wiring


@dataclass(frozen=True, slots=True)
class _Kind:
    """How the labs name a switch system, and its ports."""

    containerlab: str
    image: str
    netlab: str
    numbered: bool
    """Whether containerlab counts its ports as eth1, eth2 and so on."""
    first: int
    """netlab's index of the first port."""


_KINDS: Final = {
    "sonic": _Kind("sonic-vs", "docker-sonic-vs:latest", "sonic", True, 0),
    "nvue": _Kind("cvx", "cumulus-vx:latest", "cumulus_nvue", False, 1),
    "eos": _Kind("arista_ceos", "ceos:latest", "eos", True, 1),
    "frr": _Kind("linux", "quay.io/frrouting/frr:8.4.4", "frr", False, 1),
}
_HOST_IMAGE: Final = "debian:12"
_NETLAB_NODES: Final = 150
"""Nodes that netlab takes without being told of more."""
_NETLAB_NAME: Final = 16
"""Letters of a lab's name that netlab takes."""


def containerlab(wiring: Wiring) -> Files:
    """Yield `<site>.clab.yml`; images may be replaced through the environment."""
    fabric = wiring.fabric
    kind = _KINDS.get(fabric.system or "")
    if not fabric.is_ethernet or kind is None:
        return
    lines = [
        f"name: {fabric.intent.name}\n",
        "topology:\n  kinds:\n    linux:\n",
        f"      image: ${{HOST_IMAGE:={_HOST_IMAGE}}}\n",
        "" if kind.containerlab == "linux" else f"    {kind.containerlab}:\n",
        "" if kind.containerlab == "linux" else f"      image: ${{SWITCH_IMAGE:={kind.image}}}\n",
        "  nodes:\n",
    ]
    own = f", image: '${{SWITCH_IMAGE:={kind.image}}}'" if kind.containerlab == "linux" else ""
    lines += [
        f"    {s.name}: {{kind: {kind.containerlab}{own}, labels: {{layer: {s.layer}}}}}\n"
        for s in fabric.switches
    ]
    lines += [
        f"    {node.name}: {{kind: linux, labels: {{role: {node.role}}}}}\n"
        for node in fabric.nodes
    ]
    lines.append("  links:\n")
    if kind.numbered:
        lines += [_numbered(link) for link in wiring.links]
    else:
        lines += [_named(link) for link in wiring.links]
    yield f"{fabric.intent.name}.clab.yml", "".join(lines)


def _numbered(link: Link) -> str:
    near = f"{link.a}:eth{link.a_number}"
    return f'    - endpoints: ["{near}", "{link.z}:eth{link.z_number}"]\n'


def _named(link: Link) -> str:
    near = f"eth{link.a_number}" if link.host else link.a_port
    return f'    - endpoints: ["{link.a}:{near}", "{link.z}:{link.z_port}"]\n'


def netlab(wiring: Wiring) -> Files:
    """Yield `topology.yml`: `ifindex` keeps each link in its port."""
    fabric = wiring.fabric
    kind = _KINDS.get(fabric.system or "")
    if not fabric.is_ethernet or kind is None:
        return
    count = len(fabric.switches) + len(fabric.nodes)
    lines = [f"name: {fabric.intent.name[:_NETLAB_NAME].rstrip('-')}\nprovider: clab\n"]
    lines.append(f"defaults:\n  device: {kind.netlab}\n")
    if count > _NETLAB_NODES:
        lines.append(f"  const: {{MAX_NODE_ID: {count}}}\n")
    lines.append("addressing:\n")
    lines.append(f"  mgmt: {{ipv4: {fabric.networks['management']}, start: 0}}\n")
    lines.append(f"  loopback: {{ipv4: {fabric.networks['loopback']}}}\n")
    lines.append("nodes:\n")
    lines += [f"  {switch.name}:\n" for switch in fabric.switches]
    lines += [f"  {node.name}: {{device: linux}}\n" for node in fabric.nodes]
    lines.append("links:\n")
    shift = kind.first - 1
    lines += [
        f"- {{{link.a}: {{ifindex: {link.a_number + (0 if link.host else shift)}}},"
        f" {link.z}: {{ifindex: {link.z_number + shift}}}}}\n"
        for link in wiring.links
    ]
    yield "topology.yml", "".join(lines)
