"""Ansible's static inventory against the fabric: hosts, variables and groups.

Read as Ansible's YAML inventory plugin reads it: `all` with `vars`, `hosts` and `children`, of
which each may have the same. Of two equal keys the last counts, so each is a finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from fireflyer.design.rank_order import tree_order
from fireflyer.model.fabric import Fabric, Layer, Node, NodePort, Role, Switch
from fireflyer.prove.files.manager_files import planned_manager_files, seen_manager_files
from fireflyer.prove.files.marked_yaml import Marked, Tree, flattened, load
from fireflyer.prove.files.scheduler import planned_slurm, with_names
from fireflyer.prove.files.source import read
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Row, Value, fault, row_findings

PATH = "inventory/hosts.yml"
_BY_PRIORITY = ("slurm_controller", "subnet_manager")
"""Groups whose order has a meaning."""
_SUFFIX = {"mlnxos": ".cfg", "sonic": ".json", "nvue": ".yaml", "eos": ".cfg", "frr": ".conf"}
_API: Mapping[str, Mapping[str, Value]] = {
    "eos": {
        "ansible_connection": "ansible.netcommon.httpapi",
        "ansible_network_os": "arista.eos.eos",
        "ansible_httpapi_use_ssl": True,
        "ansible_become_method": "ansible.netcommon.enable",
    },
    "mlnxos": {"ansible_become": False},
}
"""How Ansible reaches a switch that is no Linux host (arista.eos and ansible.builtin)."""


def inventory(fabric: Fabric, tree: Path) -> tuple[Finding, ...]:
    """Return where `hosts.yml` differs from the fabric."""
    return read(tree, PATH, lambda text: _findings(fabric, tree, text))


def _findings(fabric: Fabric, tree: Path, text: str) -> Iterator[Finding]:
    findings: list[Finding] = []
    document = load(PATH, text, findings)
    yield from findings
    if findings and not document.mapping:
        return
    top = document.at("all")
    for name in (*document.mapping.keys() - {"all"}, *top.mapping.keys() - _OF_A_GROUP):
        yield fault(PATH, f"{name}: is no part of an inventory that is planned")
    yield from row_findings(PATH, *_compared("vars", _variables(fabric), top.at("vars")))
    hosts = {node.name: _node(fabric, node, at) for node, at in _positions(fabric)}
    hosts |= {switch.name: _switch(fabric, switch) for switch in fabric.switches}
    yield from row_findings(PATH, *_compared("", hosts, top.at("hosts")))
    yield from _groups(fabric, top.at("children"))
    held = top.at("children", "management", "vars")
    rest = Marked({k: v for k, v in held.mapping.items() if k not in _AS_LONG_AS_A_SITE}, held.line)
    yield from row_findings(PATH, *_compared("vars of management", {}, rest))
    named = dict(name for node in fabric.nodes for name in _names(fabric.intent.domain, node))
    yield from row_findings(PATH, named, _seen_names(held.at("fabric_names")))
    planned, seen = planned_slurm(fabric), with_names(held.at("fabric_slurm"))
    yield from row_findings(PATH, planned, seen)
    managers = fabric.intent.services.subnet_manager
    files, given = planned_manager_files(managers, tree), held.at("fabric_opensm")
    yield from row_findings(PATH, files, seen_manager_files(managers, given))


_OF_A_GROUP = {"vars", "hosts", "children"}
_AS_LONG_AS_A_SITE = ("fabric_names", "fabric_opensm", "fabric_slurm")


def _compared(
    what: str, planned: Mapping[str, Tree], seen: Marked
) -> tuple[dict[str, dict[str, Value]], list[Row]]:
    """Return planned and seen rows: a key each, with all that is below it."""
    start = f"{what} " if what else ""
    return (
        {f"{start}{name}": dict(flattened(value)) for name, value in planned.items()},
        [
            Row(f"{start}{name}", dict(flattened(value)), value.line)
            for name, value in seen.mapping.items()
        ],
    )


def _groups(fabric: Fabric, children: Marked) -> Iterator[Finding]:
    planned: dict[str, dict[str, Value]] = {}
    for name, hosts in _members(fabric).items():
        planned[f"group {name}"] = {"hosts": hosts if name in _BY_PRIORITY else _sorted(hosts)}
    seen = []
    for name, group in children.mapping.items():
        hosts = tuple(group.at("hosts").mapping)
        values: dict[str, Value] = {"hosts": hosts if name in _BY_PRIORITY else _sorted(hosts)}
        for host, value in group.at("hosts").mapping.items():
            if value.value is not None:
                values[f"variables of {host}"] = tuple(str(v) for _, v in flattened(value))
        allowed = _OF_A_GROUP - {"children"} if name == "management" else {"hosts"}
        for key in group.mapping.keys() - allowed:
            values[key] = "there"
        seen.append(Row(f"group {name}", values, group.line))
    yield from row_findings(PATH, planned, seen)


def _sorted(hosts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(hosts))


def _members(fabric: Fabric) -> dict[str, tuple[str, ...]]:
    """Return the hosts of every group, the empty groups of the site's zones and layers too."""
    names = {
        "management": [node.name for node in fabric.nodes_of(Role.MANAGEMENT)],
        "slurm_controller": list(fabric.intent.services.slurm_controller),
        "subnet_manager": list(fabric.intent.services.subnet_manager),
    }
    for zone in fabric.zones:
        stand = [node for node in fabric.nodes if node.zone == zone]
        names[f"zone_{zone}"] = [node.name for node in stand]
        for role in (Role.COMPUTE, Role.STORAGE):
            names[f"{role}_zone_{zone}"] = [node.name for node in stand if node.role is role]
    for layer in Layer:
        names[f"switches_{layer}"] = [s.name for s in fabric.switches if s.layer is layer]
    for tree in fabric.trees:
        group = f"switches_{fabric.tree_kind}_{tree}"
        names[group] = [s.name for s in fabric.switches if s.tree == tree]
    return {name: tuple(hosts) for name, hosts in names.items()}


def _positions(fabric: Fabric) -> Iterator[tuple[Node, int | None]]:
    """Yield every node with its place among its zone's compute nodes, in rank order."""
    counts: dict[str, int] = {}
    positions: dict[str, int] = {}
    for node in tree_order(list(fabric.nodes_of(Role.COMPUTE))).nodes:
        positions[node.name] = counts.get(node.zone, 0)
        counts[node.zone] = positions[node.name] + 1
    yield from ((node, positions.get(node.name)) for node in fabric.nodes)


def _variables(fabric: Fabric) -> dict[str, Tree]:
    """Return the variables of every host."""
    models = {node.model.name: node.model for node in fabric.nodes_of(Role.COMPUTE)}
    return {
        "fabric_networks": {name: str(network) for name, network in fabric.networks.items()},
        "fabric_profiles": {
            name: {
                "name": name,
                "gpus": [{"numa": g.numa, "root_port": g.root_port} for g in model.gpus],
                "nvlink_pairs": [list(pair) for pair in model.nvlink_pairs],
                "nics": [
                    {"gbit_per_s": nic.gbps, "numa": nic.numa, "root_port": nic.root_port}
                    for nic in model.nics
                ],
                "memory_gbytes_per_s": model.memory_gbytes_per_s,
                "root_port_gbytes_per_s": model.root_port_gbytes_per_s,
            }
            for name, model in models.items()
        },
        "fabric_traffic": {
            row.name: {
                "service_level": None if fabric.is_ethernet else row.sl,
                # The DSCP is the upper six of the eight bits (RFC 2474).
                "traffic_class": 4 * row.dscp[0] if fabric.is_ethernet and row.dscp else None,
            }
            for row in fabric.intent.traffic.classes
        },
    }


def _node(fabric: Fabric, node: Node, position: int | None) -> dict[str, Tree]:
    kind = "roce" if fabric.is_ethernet else "ipoib"
    addresses: dict[str, Tree] = {f"{kind}_{rail(port)}": str(port.address) for port in node.ports}
    return {
        "ansible_host": str(node.management),
        "fabric_role": str(node.role),
        "fabric_zone": node.zone,
        **({} if position is None else {"fabric_position": position}),
        "fabric_rack": node.place.rack,
        "fabric_unit": node.place.unit,
        "fabric_model": node.model.name,
        "fabric_asset": {"serial": node.serial, "mac": node.mac, "bmc_mac": node.bmc_mac},
        "fabric_addresses": {
            "management": str(node.management),
            "loopback": str(node.loopback),
            **addresses,
        },
        "fabric_ports": [_port(fabric, port) for port in node.ports],
    }


def rail(port: NodePort) -> str:
    """Return a port's zone or plane; from its second adapter there on, with its number."""
    return port.tree if port.rail == 0 else f"{port.tree}{port.rail + 1}"


def _port(fabric: Fabric, port: NodePort) -> dict[str, Tree]:
    return {
        "name": port.name,
        "hca": port.hca,
        "tree": port.tree,
        "network": _network(fabric, port),
        "leaf": port.leaf.device,
        "leaf_port": port.leaf.number,
        "guid": str(port.guid),
        "guid_placeholder": port.guid.placeholder,
        "address": str(port.address),
        "prefix_length": port.network.prefixlen,
        "gateway": "" if port.gateway is None else str(port.gateway),
        "link_gbps": port.gbps,
    }


def _network(fabric: Fabric, port: NodePort) -> str:
    """Return the smallest network of the plan that has a port's address."""
    holding = [
        (net.prefixlen, name) for name, net in fabric.networks.items() if port.address in net
    ]
    return max(holding)[1]


def _switch(fabric: Fabric, switch: Switch) -> dict[str, Tree]:
    system = fabric.system
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
        "fabric_config": f"{system}/{switch.name}{_SUFFIX[system]}" if system else "",
        **_API.get(system or "", {}),
    }


def _names(domain: str, node: Node) -> Iterator[tuple[str, dict[str, Value]]]:
    """Yield what each line of hosts(5) says, by its first name."""
    own = f"{node.name}.{domain}"
    yield f"name {own}", {"address": str(node.management), "also": (node.name,)}
    for port in node.ports:
        name = f"{node.name}-{'ib' if port.gateway is None else 'roce'}-{rail(port)}"
        yield f"name {name}", {"address": str(port.address), "also": ()}


def _seen_names(names: Marked) -> Iterator[Row]:
    for line in str(names.value or "").splitlines():
        address, name, *also = [*line.split(), "", ""][: max(2, len(line.split()))]
        yield Row(f"name {name}", {"address": address, "also": tuple(also)}, names.line)
