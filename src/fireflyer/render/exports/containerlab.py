"""The whole fabric as a containerlab topology, on Ethernet.

A link keeps its port, so that a lab made of a part of the file has the same cabling as the site,
and every switch starts with the configuration rendered for it. Paths lead from the topology file
to the rendered tree that it stands in.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from netaddr import IPAddress

from fireflyer.design.switch_config import switch_configs
from fireflyer.model.fabric import Fabric, Node, NodePort, Switch
from fireflyer.model.switch_config import SwitchConfig
from fireflyer.render.exports.wiring import Files, Wiring

_TREE: Final = "../.."
"""The rendered tree, from `exports/containerlab/`."""
_EOS_MANAGEMENT: Final = "Management1"
_DAEMONS: Final = "bgpd=yes\nbfdd=yes\nvtysh_enable=yes\n"
"""What FRR's image starts beside zebra: the configuration has BGP and BFD."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """How containerlab runs a switch system."""

    name: str
    image: str
    port: str
    """What it calls a port; `{number}` counts from 1, `{name}` is as configured."""
    startup: str = ""
    """Configuration that containerlab itself hands over."""
    binds: tuple[str, ...] = ()


_KINDS: Final = {
    "sonic": _Kind(
        "sonic-vs",
        "docker-sonic-vs:latest",
        "eth{number}",
        binds=(f"{_TREE}/sonic/{{switch}}.json:/etc/sonic/config_db.json",),
    ),
    "nvue": _Kind(
        "nvidia_cumulusvx",
        "vrnetlab/nvidia_cumulusvx:latest",
        "swp{number}",
        binds=(f"{_TREE}/nvue/{{switch}}.yaml:/config/startup.yaml:ro",),
    ),
    "eos": _Kind(
        "arista_ceos",
        "ceos:latest",
        "eth{number}",
        startup=f"{_TREE}/eos/{{switch}}.cfg",
        binds=("EosIntfMapping-{model}.json:/mnt/flash/EosIntfMapping.json:ro",),
    ),
    "frr": _Kind(
        "linux",
        "quay.io/frrouting/frr:8.4.4",
        "{name}",
        binds=(f"{_TREE}/frr/{{switch}}.conf:/etc/frr/frr.conf", "daemons:/etc/frr/daemons"),
    ),
}
_HOST_IMAGE: Final = "alpine:3"


def files(wiring: Wiring) -> Files:
    """Yield `<site>.clab.yml` and what its switches need; the environment may replace images."""
    fabric = wiring.fabric
    kind = _KINDS.get(fabric.system or "")
    if not fabric.is_ethernet or kind is None:
        return
    configs = {config.name: config for config in switch_configs(fabric)}
    yield (
        f"{fabric.intent.name}.clab.yml",
        "".join(
            [
                *_head(fabric, kind),
                *(_switch(switch, kind, configs[switch.name]) for switch in fabric.switches),
                *(_host(fabric, node) for node in fabric.nodes),
                "  links:\n",
                *_links(wiring, kind),
            ]
        ),
    )
    if fabric.system == "frr":
        yield "daemons", _DAEMONS
    if fabric.system == "eos":
        for model, ports in wiring.switch_ports.items():
            mapping = {
                "ManagementIntf": {"eth0": _EOS_MANAGEMENT},
                "EthernetIntf": {f"eth{number}": name for number, name in enumerate(ports, 1)},
            }
            yield f"EosIntfMapping-{model}.json", json.dumps(mapping, indent=1) + "\n"


def _head(fabric: Fabric, kind: _Kind) -> Iterator[str]:
    yield f"name: {fabric.intent.name}\n"
    yield (
        f"mgmt: {{network: {fabric.intent.name}-mgmt,"
        f" ipv4-subnet: {fabric.networks['management']}, ipv4-gw: {gateway(fabric)}}}\n"
    )
    yield f"topology:\n  kinds:\n    linux:\n      image: ${{HOST_IMAGE:={_HOST_IMAGE}}}\n"
    if kind.name != "linux":
        yield f"    {kind.name}:\n      image: ${{SWITCH_IMAGE:={kind.image}}}\n"
    yield "  nodes:\n"


def gateway(fabric: Fabric) -> str:
    """Return the management network's gateway; without one, an address that nobody has."""
    if known := fabric.intent.addresses.gateway:
        return known
    network = fabric.networks["management"]
    taken = {int(switch.management) for switch in fabric.switches}
    taken |= {int(node.management) for node in fabric.nodes}
    return str(IPAddress(next(a for a in range(network.last - 1, 0, -1) if a not in taken), 4))


def _links(wiring: Wiring, kind: _Kind) -> Iterator[str]:
    of_model = {
        model: [kind.port.format(number=number, name=name) for number, name in enumerate(names, 1)]
        for model, names in wiring.switch_ports.items()
    }
    ports = {switch.name: of_model[switch.model.name] for switch in wiring.fabric.switches}
    for link in wiring.links:
        a_port = link.a_port if link.host else ports[link.a][link.a_number - 1]
        z_port = ports[link.z][link.z_number - 1]
        yield f'    - endpoints: ["{link.a}:{a_port}", "{link.z}:{z_port}"]\n'


def _switch(switch: Switch, kind: _Kind, config: SwitchConfig) -> str:
    binds = [text.format(switch=switch.name, model=switch.model.name) for text in kind.binds]
    text = f"    {switch.name}:\n      kind: {kind.name}\n"
    if kind.name == "linux":
        text += f"      image: ${{SWITCH_IMAGE:={kind.image}}}\n"
        text += "      sysctls: {net.ipv4.ip_forward: 1}\n"
    text += f"      mgmt-ipv4: {switch.management}\n"
    if kind.startup:
        text += f"      startup-config: {kind.startup.format(switch=switch.name)}\n"
    text += f"      binds: {json.dumps(binds)}\n"
    if kind.name == "linux" and config.hosts is not None:
        text += _commands(_bridge(config))
    return text + f"      labels: {{layer: {switch.layer}}}\n"


def _bridge(config: SwitchConfig) -> Iterator[str]:
    """Yield what joins a leaf's host ports: FRR configures the router, Linux the bridge."""
    assert config.hosts is not None
    name = f"vlan{config.hosts.vlan}"
    yield f"ip link add {name} type bridge"
    yield f"ip link set {name} up"
    for port in config.ports_in_use:
        if port.role == "host":
            yield f"ip link set {port.name} master {name}"


def _host(fabric: Fabric, node: Node) -> str:
    return (
        f"    {node.name}:\n      kind: linux\n      mgmt-ipv4: {node.management}\n"
        + _commands(_addresses(fabric, node.ports))
        + f"      labels: {{role: {node.role}}}\n"
    )


def _addresses(fabric: Fabric, ports: tuple[NodePort, ...]) -> Iterator[str]:
    """Yield a host's addresses, and its first port in each tree as the way into the tree."""
    routed: set[str] = set()
    for port in ports:
        yield f"ip address add {port.address}/{port.network.prefixlen} dev {port.name}"
        if port.gateway is not None and port.tree not in routed:
            routed.add(port.tree)
            whole = fabric.networks[f"roce_{port.tree}"]
            yield f"ip route add {whole} via {port.gateway} dev {port.name}"


def _commands(lines: Iterator[str]) -> str:
    text = "".join(f"        - {line}\n" for line in lines)
    return f"      exec:\n{text}" if text else ""
