"""OpenSM's files of every subnet-manager host, the standby's too, read as OpenSM reads them.

Sources: opensm(8); OpenSM's partition-config.txt and QoS_management_in_OpenSM.txt; the parser of
opensm.conf (`name value`, `#` to the end of the line is a comment, the last of two counts).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from fireflyer.design.routing_order import routing_order
from fireflyer.design.subnets import subnet_fabric
from fireflyer.design.traffic import arbitration, operational_vls, sl_to_vl
from fireflyer.model.fabric import CableRole, Fabric, Layer, NodePort, Role, topmost
from fireflyer.prove.files.opensm_instances import instance_findings
from fireflyer.prove.files.partitions import partition_findings
from fireflyer.prove.files.qos_policy import policy_findings
from fireflyer.prove.files.source import read
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Row, Value, fault, row_findings

INSTALLED, LOGS = "/etc/opensm", "/var/log/opensm"
MASTER_PRIORITY = 14
"""Each standby has one less; 15 is left for an operator's emergency (docs/subnet-manager.md)."""
_NAME = re.compile(r'^(0x[0-9a-fA-F]+)\s+"([^"]*)"$')
_NUMBERS = frozenset(
    {"guid", "subnet_prefix", "sm_priority", "max_op_vls", "qos_max_vls", "qos_high_limit", "lmc"}
)


def opensm(fabric: Fabric, tree: Path) -> tuple[Finding, ...]:
    """Return where the files of any subnet manager, each standby's too, differ from the fabric."""
    findings: list[Finding] = []
    for subnet in fabric.subnets:
        part = subnet_fabric(fabric, subnet)
        for rank, manager in enumerate(subnet.managers):
            folder = f"opensm/{manager.host}/{subnet.folder}".rstrip("/")
            findings += _manager(part, tree, folder, manager.port, MASTER_PRIORITY - rank)
    planes = [subnet.folder for subnet in fabric.subnets]
    if len(planes) > 1:
        for host in fabric.intent.services.subnet_manager:
            findings += instance_findings(tree, f"opensm/{host}", planes)
    return tuple(findings)


def _manager(
    part: Fabric, tree: Path, folder: str, port: NodePort, priority: int
) -> Iterator[Finding]:
    """Yield the findings of one subnet manager; `part` is what it sees of the fabric."""
    path = f"{folder}/opensm.conf"
    plan = _options(part, port, priority)
    yield from read(tree, path, lambda text: _options_findings(path, text, plan))
    roots = {str(switch.guid): switch.name for switch in topmost(part.switches)}
    yield from _guids(tree, f"{folder}/root-guids.conf", roots)
    for name, role in (("cn", Role.COMPUTE), ("io", Role.STORAGE)):
        yield from _guids(tree, f"{folder}/{name}-guids.conf", ports_of(part, (role,)))
    order = {
        str(port.guid): f"{node.name} {port.hca}" for node, port in routing_order(part, part.trees)
    }
    yield from _guids(tree, f"{folder}/guid-routing-order.conf", order, ordered=True)
    names = {str(switch.guid): switch.name for switch in part.switches}
    names |= ports_of(part, tuple(Role))
    path_of_names = f"{folder}/node-name-map.conf"
    yield from read(tree, path_of_names, lambda text: _names(path_of_names, text, names))
    yield from partition_findings(part, tree, f"{folder}/partitions.conf")
    yield from policy_findings(part, tree, f"{folder}/qos-policy.conf")


def ports_of(fabric: Fabric, roles: Iterable[Role]) -> dict[str, str]:
    """Return what the adapters of nodes of these roles are called, by GUID."""
    return {
        str(port.guid): f"{node.name} {port.hca}"
        for role in roles
        for node in fabric.nodes_of(role)
        for port in node.ports
    }


def _options(part: Fabric, port: NodePort, priority: int) -> dict[str, Value]:
    traffic, (subnet,) = part.intent.traffic, part.subnets
    lanes = len({row.vl for row in traffic.classes})
    three_layers = any(switch.layer is Layer.CORE for switch in part.switches)
    leaves = {cable.z.device for cable in part.cables if cable.role is CableRole.HOST}
    ftree = three_layers and len(leaves) >= 2
    installed = f"{INSTALLED}/{subnet.folder}".rstrip("/")
    options: dict[str, Value] = {
        "guid": port.guid.value,
        "subnet_prefix": int(subnet.prefix, 16),
        "sm_priority": priority,
        "routing_engine": "ftree,updn" if ftree else "updn",
        "root_guid_file": f"{installed}/root-guids.conf",
        "guid_routing_order_file": f"{installed}/guid-routing-order.conf",
        "node_name_map_name": f"{installed}/node-name-map.conf",
        "partition_config_file": f"{installed}/partitions.conf",
        "qos_policy_file": f"{installed}/qos-policy.conf",
        "use_ucast_cache": False,
        "congestion_control": False,
        "force_log_flush": True,
        "qos": True,
        "max_op_vls": operational_vls(lanes),
        "qos_max_vls": lanes,
        "qos_high_limit": traffic.high_limit,
        "qos_vlarb_high": _pairs(arbitration(traffic, "high")),
        "qos_vlarb_low": _pairs(arbitration(traffic, "low")),
        "qos_sl2vl": ",".join(str(lane) for lane in sl_to_vl(traffic)),
    }
    if not ftree:  # fat-tree routing counts every adapter alike
        options["cn_guid_file"] = f"{installed}/cn-guids.conf"
        options["io_guid_file"] = f"{installed}/io-guids.conf"
    if subnet.folder:
        options["log_file"] = f"{LOGS}/{subnet.folder}/opensm.log"
        options["dump_files_dir"] = f"{LOGS}/{subnet.folder}"
    return options


def _pairs(entries: Iterable[tuple[int, int]]) -> str:
    return ",".join(f"{lane}:{weight}" for lane, weight in entries)


def _options_findings(path: str, text: str, plan: Mapping[str, Value]) -> Iterator[Finding]:
    seen = []
    for number, line in _lines(text):
        words = line.split(None, 1)
        seen.append(Row(words[0], {"value": _option(words[0], " ".join(words[1:]))}, number))
    yield from row_findings(path, {name: {"value": value} for name, value in plan.items()}, seen)


def _option(name: str, text: str) -> Value:
    """Return an option's value: a number in any base, a truth value in any case, a list."""
    text = text.strip()
    if text.upper() in ("TRUE", "FALSE"):
        return text.upper() == "TRUE"
    if name in _NUMBERS:
        return number_of(text)
    if name == "dump_files_dir":
        return text.rstrip("/")
    return text.replace(" ", "") if name.startswith("qos_") else text


def number_of(text: str) -> Value:
    """Return a number as C's strtoul does with base 0; the text where it is none."""
    try:
        return int(text, 0)
    except ValueError:
        return text


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield every line that holds something, without its comment."""
    for number, line in enumerate(text.splitlines(), start=1):
        if kept := line.partition("#")[0].strip():
            yield number, kept


def _guids(
    tree: Path, path: str, planned: Mapping[str, str], *, ordered: bool = False
) -> Sequence[Finding]:
    """Return where a list of GUIDs differs from the planned one."""
    plan: dict[str, dict[str, Value]] = {f"{guid} ({name})": {} for guid, name in planned.items()}

    def findings(text: str) -> Iterator[Finding]:
        seen = []
        for number, line in _lines(text):
            guid = number_of(line.split()[0])
            if not isinstance(guid, int):
                yield fault(path, f"{line} is no GUID", number)
                continue
            said = f"0x{guid:016x}"
            seen.append(Row(f"{said} ({planned.get(said, 'unknown')})", {}, number))
        yield from row_findings(path, plan, seen, ordered=ordered)

    return read(tree, path, findings)


def _names(path: str, text: str, planned: Mapping[str, str]) -> Iterator[Finding]:
    seen = []
    for number, line in _lines(text):
        match = _NAME.match(line)
        if match is None:
            yield fault(path, f"{line} is no GUID with a name in quotes", number)
            continue
        seen.append(Row(f"0x{int(match[1], 16):016x}", {"name": match[2]}, number))
    yield from row_findings(path, {guid: {"name": name} for guid, name in planned.items()}, seen)
