"""What Ansible is told of the fabric: hosts, groups and variables.

The inventory plugin gives these values to Ansible, and `inventory/hosts.yml` prints them:
one source, two ways in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TypeAlias

from fireflyer.model.fabric import Fabric, Layer, Node, NodePort, Role, Switch
from fireflyer.model.hardware import System
from fireflyer.render import communication, opensm, slurm
from fireflyer.render.switch_files import file_path

Json: TypeAlias = str | int | bool | Sequence["Json"] | Mapping[str, "Json"]

_CONNECTIONS: Mapping[System, Mapping[str, Json]] = {
    "eos": {
        "ansible_connection": "ansible.netcommon.httpapi",
        "ansible_network_os": "arista.eos.eos",
        "ansible_httpapi_use_ssl": True,
        "ansible_become_method": "ansible.netcommon.enable",
    },
    "mlnxos": {"ansible_become": False},
}
"""How Ansible reaches a switch that is no Linux host to it."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """An Ansible inventory."""

    variables: Mapping[str, Json]
    """Of every host."""
    management_variables: Mapping[str, Json]
    """Of management hosts alone: what is as long as the site, which a copy for every host
    would make quadratic. Others read it through `hostvars`."""
    hosts: Mapping[str, Mapping[str, Json]]
    groups: Mapping[str, tuple[str, ...]]
    """Hosts of each group that has no children; `inventory/groups.yml` has the tree."""


def inventory(fabric: Fabric) -> Inventory:
    """Return the inventory of a site."""
    positions = communication.positions(fabric)
    return Inventory(
        variables={
            "fabric_networks": {name: str(net) for name, net in fabric.networks.items()},
            "fabric_profiles": {
                name: asdict(profile) for name, profile in communication.profiles(fabric).items()
            },
            "fabric_traffic": {
                name: asdict(marking) for name, marking in communication.markings(fabric).items()
            },
        },
        management_variables={
            "fabric_names": _names(fabric),
            "fabric_slurm": {
                "nodes": [asdict(entry) for entry in slurm.nodes(fabric)],
                "topology": [asdict(entry) for entry in slurm.topology(fabric)],
                "gres": [asdict(entry) for entry in slurm.gres(fabric)],
                "partitions": [asdict(entry) for entry in slurm.partitions(fabric)],
            },
            "fabric_opensm": _opensm(fabric),
        },
        hosts={node.name: _variables(node, positions.get(node.name)) for node in fabric.nodes}
        | {switch.name: _switch_variables(fabric.system, switch) for switch in fabric.switches},
        groups=_groups(fabric),
    )


def _opensm(fabric: Fabric) -> Mapping[str, Json]:
    """Return the files of the subnet managers: those that all have, and each host's own."""
    shared, own = opensm.installed_files(fabric)
    return {
        "shared": _contents(shared),
        "hosts": {host: _contents(files) for host, files in own.items()},
    }


def _contents(files: Mapping[str, str]) -> Sequence[Json]:
    return [{"dest": path, "content": text} for path, text in files.items()]


def _groups(fabric: Fabric) -> dict[str, tuple[str, ...]]:
    groups: dict[str, list[str]] = {"management": []}
    for zone in fabric.zones:
        groups |= {f"compute_zone_{zone}": [], f"storage_zone_{zone}": [], f"zone_{zone}": []}
    for node in fabric.nodes:
        role = "management" if node.role is Role.MANAGEMENT else f"{node.role}_zone_{node.zone}"
        groups[role].append(node.name)
        groups[f"zone_{node.zone}"].append(node.name)
    for layer in Layer:
        groups[f"switches_{layer}"] = [switch.name for switch in fabric.switches_of(layer)]
    for tree in fabric.trees:
        groups[f"switches_{fabric.tree_kind}_{tree}"] = []
    for switch in fabric.switches:
        if switch.tree is not None:
            groups[f"switches_{fabric.tree_kind}_{switch.tree}"].append(switch.name)
    services = fabric.intent.services
    groups["slurm_controller"] = list(services.slurm_controller)
    groups["subnet_manager"] = list(services.subnet_manager)
    return {name: tuple(hosts) for name, hosts in groups.items()}


def _names(fabric: Fabric) -> str:
    """Return the lines of /etc/hosts, as hosts(5) has them.

    One text: a list would be copied, and walked, once for every host that takes it.
    """
    domain = fabric.intent.domain
    lines = []
    for node in fabric.nodes:
        lines.append(f"{node.management} {node.name}.{domain} {node.name}\n")
        lines += [f"{port.address} {node.name}-{_alias(port)}\n" for port in node.ports]
    return "".join(lines)


def _variables(node: Node, position: int | None) -> Mapping[str, Json]:
    addresses: dict[str, Json] = {"management": str(node.management)}
    addresses |= {_address_name(port): str(port.address) for port in node.ports}
    addresses["loopback"] = str(node.loopback)
    return {
        "ansible_host": str(node.management),
        "fabric_role": str(node.role),
        "fabric_zone": node.zone,
        **({} if position is None else {"fabric_position": position}),
        "fabric_rack": node.place.rack,
        "fabric_unit": node.place.unit,
        "fabric_model": node.model.name,
        "fabric_asset": {"serial": node.serial, "mac": node.mac, "bmc_mac": node.bmc_mac},
        "fabric_addresses": addresses,
        "fabric_ports": [_port(port) for port in node.ports],
    }


def _switch_variables(system: System | None, switch: Switch) -> Mapping[str, Json]:
    return {
        "ansible_host": str(switch.management),
        "fabric_role": "switch",
        "fabric_layer": str(switch.layer),
        "fabric_tree": switch.tree or "",
        "fabric_rack": switch.place.rack,
        "fabric_unit": switch.place.unit,
        "fabric_model": switch.model.name,
        "fabric_asset": {"serial": switch.serial},
        "fabric_addresses": {
            "management": str(switch.management),
            "loopback": str(switch.loopback),
        },
        "fabric_system": system or "",
        "fabric_config": file_path(system, switch.name) if system else "",
        **(_CONNECTIONS.get(system, {}) if system else {}),
    }


def _network(port: NodePort) -> str:
    """Return the name of a port's network in `fabric_networks`.

    On Ethernet the adapters that a node has in one tree share its network.
    """
    return f"roce_{port.tree}" if port.gateway else f"ipoib_{_tree_and_rail(port)}"


def _address_name(port: NodePort) -> str:
    """Return what `fabric_addresses` calls a port's address."""
    return f"{'roce' if port.gateway else 'ipoib'}_{_tree_and_rail(port)}"


def _tree_and_rail(port: NodePort) -> str:
    return f"{port.tree}{port.rail + 1 if port.rail else ''}"


def _alias(port: NodePort) -> str:
    """Return what the port's name adds to its host's, such as `ib-a` or `roce-p2`."""
    return _address_name(port).replace("ipoib", "ib").replace("_", "-")


def _port(port: NodePort) -> Mapping[str, Json]:
    return {
        "name": port.name,
        "hca": port.hca,
        "tree": port.tree,
        "network": _network(port),
        "leaf": port.leaf.device,
        "leaf_port": port.leaf.number,
        "guid": str(port.guid),
        "guid_placeholder": port.guid.placeholder,
        "address": str(port.address),
        "prefix_length": port.network.prefixlen,
        "gateway": str(port.gateway) if port.gateway else "",
        "link_gbps": port.gbps,
    }
