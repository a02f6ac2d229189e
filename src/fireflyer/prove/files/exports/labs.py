"""Virtual labs of the whole fabric: containerlab, netlab and NVIDIA Air.

Nodes, links and addresses are those of the plan. What a lab needs beside it (images, memory) is
no value of the plan: there every switch must have what the other switches have, and every host
what the other hosts have.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from netaddr import IPAddress

from fireflyer.model.fabric import Fabric, Node, Switch
from fireflyer.prove.files import plain_json
from fireflyer.prove.files.exports.links import End, Link, pair
from fireflyer.prove.files.exports.ranks import document_findings
from fireflyer.prove.files.marked_yaml import Marked, Tree, flattened, load
from fireflyer.prove.files.source import read
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Row, Value, fault, row_findings

_WITH_AIR = ("sonic", "nvue", "frr")
_ZERO_BASED = ("sonic",)
"""Systems whose first port netlab counts as 0."""


def containerlab(fabric: Fabric, links: list[Link], tree: Path) -> Iterator[Finding]:
    """Yield where `<site>.clab.yml` differs; Ethernet only."""
    if fabric.is_ethernet and fabric.system is not None:
        path = f"exports/containerlab/{fabric.intent.name}.clab.yml"
        yield from read(tree, path, lambda text: _clab(fabric, links, path, text))
    if fabric.is_ethernet and fabric.system == "eos":
        for model in {switch.model.name: switch.model for switch in fabric.switches}.values():
            names = f"exports/containerlab/EosIntfMapping-{model.name}.json"
            ports = enumerate(model.port_names("eos"), start=1)
            plan: Tree = {
                "ManagementIntf": {"eth0": "Management1"},
                "EthernetIntf": {f"eth{number}": name for number, name in ports},
            }
            yield from read(tree, names, lambda text: document_findings(names, text, plan))  # noqa: B023 - called at once


def _clab(fabric: Fabric, links: list[Link], path: str, text: str) -> Iterator[Finding]:
    findings: list[Finding] = []
    document = _mapping(_plain(load(path, text, findings)))
    yield from findings
    if document.get("name") != fabric.intent.name:
        yield fault(path, f"name is {document.get('name')}, planned {fabric.intent.name}")
    topology = _mapping(document.get("topology"))
    nodes = _mapping(topology.get("nodes"))
    yield from _nodes(fabric, path, nodes)
    yield from _commands(fabric, path, nodes)
    management = _mapping(document.get("mgmt"))
    for key, value in (
        ("network", f"{fabric.intent.name}-mgmt"),
        ("ipv4-subnet", str(fabric.networks["management"])),
        ("ipv4-gw", fabric.intent.addresses.gateway or _free(fabric)),
    ):
        if management.get(key) != value:
            yield fault(path, f"mgmt: {key} is {management.get(key)}, planned {value}")
    kinds = _mapping(topology.get("kinds"))
    used = {str(_mapping(node).get("kind")) for node in nodes.values()}
    for kind in sorted(used ^ set(kinds)):
        where = "has no entry under kinds" if kind in used else "is used by no node"
        yield fault(path, f"kind {kind} {where}")
    seen = []
    for link in _list(topology.get("links")):
        ends = [str(end).partition(":")[::2] for end in _list(_mapping(link).get("endpoints"))]
        seen.append([(device, port) for device, port in ends])
    yield from _links(path, links, seen, _names_in_containerlab)


def _free(fabric: Fabric) -> str:
    """Return the highest address of the management network that no device has."""
    network = fabric.networks["management"]
    taken = {int(device.management) for device in fabric.switches}
    taken |= {int(device.management) for device in fabric.nodes}
    last = network.last - 1
    while last in taken:
        last -= 1
    return str(IPAddress(last, network.version))


def _names_in_containerlab(link: Link, end: End) -> set[str]:
    if link.host and end is link.a:
        return {f"eth{end.number}", end.port}
    names = {f"eth{end.number}", f"swp{end.number}", end.port}
    if "/" in end.port:  # a name of an interface in Linux cannot have it
        names.add(end.port.replace("Ethernet", "eth").replace("/", "_"))
    return names


def netlab(fabric: Fabric, links: list[Link], tree: Path) -> Iterator[Finding]:
    """Yield where `topology.yml` differs; Ethernet only."""
    if fabric.is_ethernet and fabric.system is not None:
        path = "exports/netlab/topology.yml"
        yield from read(tree, path, lambda text: _netlab(fabric, links, path, text))


def _netlab(fabric: Fabric, links: list[Link], path: str, text: str) -> Iterator[Finding]:
    findings: list[Finding] = []
    document = _mapping(_plain(load(path, text, findings)))
    yield from findings
    name = str(document.get("name"))
    if not name or not fabric.intent.name.startswith(name):
        yield fault(path, f"name is {name}, planned the beginning of {fabric.intent.name}")
    addressing = _mapping(document.get("addressing"))
    for pool, network in (("mgmt", "management"), ("loopback", "loopback")):
        said, planned = _mapping(addressing.get(pool)).get("ipv4"), fabric.networks[network]
        if said != str(planned):
            yield fault(path, f"addressing of {pool}: ipv4 is {said}, planned {planned}")
    yield from _nodes(fabric, path, _mapping(document.get("nodes")))
    seen = []
    for link in _list(document.get("links")):
        yield from _addresses(fabric, path, _mapping(link))
        ends = [
            (device, str(_mapping(held).get("ifindex")))
            for device, held in _mapping(link).items()
            if device in fabric.switch or device in fabric.node
        ]
        seen.append(ends)
    shift = 1 if fabric.system in _ZERO_BASED else 0

    def names(link: Link, end: End) -> set[str]:
        return {str(end.number - (0 if link.host and end is link.a else shift))}

    yield from _links(path, links, seen, names)


def _addresses(fabric: Fabric, path: str, link: Mapping[str, Tree]) -> Iterator[Finding]:
    """Yield where a host's port has another address or network in a link than planned."""
    for name, held in link.items():
        node, number = fabric.node.get(name), _mapping(held).get("ifindex")
        port = next((p for p in node.ports if p.number == number), None) if node else None
        if port is None:
            continue
        planned = {
            f"{name} port {number}": (
                _mapping(held).get("ipv4"),
                f"{port.address}/{port.network.prefixlen}",
            ),
            f"prefix at {name} port {number}": (
                _mapping(link.get("prefix")).get("ipv4"),
                str(port.network.cidr),
            ),
        }
        for what, (said, plan) in planned.items():
            if said != plan:
                yield fault(path, f"{what}: ipv4 is {said}, planned {plan}")


def air(fabric: Fabric, links: list[Link], tree: Path) -> Iterator[Finding]:
    """Yield where Air's `topology.json` differs; for the systems that Air has."""
    if fabric.is_ethernet and fabric.system in _WITH_AIR:
        path = "exports/air/topology.json"
        yield from read(tree, path, lambda text: _air(fabric, links, path, text))


def _air(fabric: Fabric, links: list[Link], path: str, text: str) -> Iterator[Finding]:
    findings: list[Finding] = []
    document = _mapping(plain_json.load(path, text, findings))
    yield from findings
    for key, planned in (("format", "JSON"), ("title", fabric.intent.name)):
        if document.get(key) != planned:
            yield fault(path, f"{key} is {document.get(key)}, planned {planned}")
    content = _mapping(document.get("content"))
    yield from _nodes(fabric, path, _mapping(content.get("nodes")))
    seen = []
    for link in _list(content.get("links")):
        ends = [_mapping(end) for end in _list(link)]
        seen.append([(str(end.get("node")), str(end.get("interface"))) for end in ends])
    yield from _links(path, links, seen, lambda link, end: {end.port, f"eth{end.number}"})


def _plain(marked: Marked) -> Tree:
    value = marked.value
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return value  # type: ignore[return-value]


def _mapping(tree: Tree) -> Mapping[str, Tree]:
    return tree if isinstance(tree, Mapping) else {}


def _list(tree: Tree) -> list[Tree]:
    return tree if isinstance(tree, list) else []


def _nodes(fabric: Fabric, path: str, nodes: Mapping[str, Tree]) -> Iterator[Finding]:
    """Yield nodes that are missing, not planned, of another address or unlike all others."""
    planned: dict[str, dict[str, Value]] = {name: {} for name in (*fabric.switch, *fabric.node)}
    yield from row_findings(path, planned, [Row(name, {}) for name in nodes])
    held = {
        name: _general(fabric, name, dict(flattened(node if node is not None else {})))
        for name, node in nodes.items()
        if name in planned
    }
    expected: dict[tuple[bool, str], Counter[Value]] = {}
    for name, fields in held.items():
        for field, value in fields.items():
            expected.setdefault((name in fabric.switch, field), Counter())[value] += 1
    for name, fields in held.items():
        is_switch = name in fabric.switch
        for (of_switches, field), counts in expected.items():
            value = fields.get(field)
            common = counts.most_common(1)[0][0]
            if of_switches is is_switch and counts.total() > 1 and value != common:
                yield fault(path, f"{name}: {field} is {value}, that of the others {common}")


def _general(fabric: Fabric, name: str, fields: Mapping[str, Value]) -> dict[str, Value]:
    """Return a node's fields with its own name, model, addresses and role as what they are."""
    device: Switch | Node = fabric.switch.get(name) or fabric.node[name]
    role = device.layer if isinstance(device, Switch) else device.role
    own = {
        re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])"): "its own name",
        re.compile(rf"(?<!\w){re.escape(device.model.name)}(?![\w-])"): "its model",
        re.compile(rf"(?<![\d.]){re.escape(str(device.management))}(?![\d.])"): "its management",
        re.compile(rf"(?<![\d.]){re.escape(str(device.loopback))}(?![\d.])"): "its loopback",
    }
    general: dict[str, Value] = {}
    for field, value in fields.items():
        if field.startswith(("exec.", "ports")):
            continue  # a list of its own
        if field.endswith((".layer", ".role")) and value == str(role):
            general[field] = "its own"
            continue
        if isinstance(value, str):
            for pattern, said in own.items():
                value = pattern.sub(f"({said})", value)
        general[field] = value
    return general


def _commands(fabric: Fabric, path: str, nodes: Mapping[str, Tree]) -> Iterator[Finding]:
    """Yield hosts whose commands do not give every port its address and its way out."""
    for node in fabric.nodes:
        held = _mapping(nodes.get(node.name)).get("exec")
        planned: dict[str, dict[str, Value]] = {}
        trees = set()
        for port in node.ports:
            address = f"{port.address}/{port.network.prefixlen}"
            planned[f"{node.name}: ip address add {address} dev {port.name}"] = {}
            if port.gateway is not None and port.tree not in trees:
                trees.add(port.tree)
                whole = fabric.networks[f"roce_{port.tree}"]
                way = f"ip route add {whole} via {port.gateway} dev {port.name}"
                planned[f"{node.name}: {way}"] = {}
        rows = [Row(f"{node.name}: {command}", {}) for command in _list(held)]
        yield from row_findings(path, planned, rows, ordered=True)


def _links(
    path: str,
    links: list[Link],
    seen: list[list[tuple[str, str]]],
    names: Callable[[Link, End], set[str]],
) -> Iterator[Finding]:
    """Yield links that are missing, not planned, or in another port than planned."""
    known: dict[tuple[str, str], str] = {}
    planned: dict[str, dict[str, Value]] = {}
    for link in links:
        key = pair(f"{link.a.device}/{link.a.number}", f"{link.z.device}/{link.z.number}")
        planned[key] = {}
        for end in (link.a, link.z):
            for name in names(link, end):
                known.setdefault((end.device, name), f"{end.device}/{end.number}")
    rows = []
    for ends in seen:
        said = [known.get(end, f"{end[0]} {end[1]}") for end in ends]
        if len(said) != 2:
            yield fault(path, f"a link has {len(said)} ends: {', '.join(said)}")
        else:
            rows.append(Row(pair(*said), {}))
    yield from row_findings(path, planned, rows)
