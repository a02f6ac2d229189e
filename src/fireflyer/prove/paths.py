"""Ask the subnet administrator for path records: does each class get its service level?"""

from __future__ import annotations

import re

from fireflyer.model.fabric import Fabric, NodePort, Role
from fireflyer.prove.simulator import Simulator
from fireflyer.verify.qos import PathAnswer
from fireflyer.verify.routing import RoutedSubnet

_SL = re.compile(r"^\s*sl\.*\s*(0x[0-9a-fA-F]+|\d+)", re.MULTILINE)


def ask_paths(simulator: Simulator, fabric: Fabric, subnet: RoutedSubnet) -> tuple[PathAnswer, ...]:
    """Ask for a path of each class between nodes of zone a."""
    traffic = fabric.intent.traffic
    zone = fabric.zones[0]
    compute = _ports(fabric, Role.COMPUTE, zone)[:2]
    storage = _ports(fabric, Role.STORAGE, zone)[:1]
    answers = []
    if storage and compute:
        planned = fabric.traffic_class(traffic.storage).sl
        for label, source, target in (
            ("compute to storage", compute[0], storage[0]),
            ("storage to compute", storage[0], compute[0]),
        ):
            sl = _ask(simulator, subnet, source, target, None)
            answers.append(PathAnswer(label, sl, planned))
    if len(compute) == 2:
        default = fabric.traffic_default
        sl = _ask(simulator, subnet, compute[0], compute[1], None)
        answers.append(PathAnswer("compute to compute", sl, default.sl))
        for row in traffic.classes:
            if row.name not in (traffic.storage, default.name):
                sl = _ask(simulator, subnet, compute[0], compute[1], row.sl)
                answers.append(PathAnswer(f"compute to compute as {row.name}", sl, row.sl))
    return tuple(answers)


def _ports(fabric: Fabric, role: Role, zone: str) -> list[NodePort]:
    return [port for node in fabric.nodes_of(role) for port in node.ports if port.zone == zone]


def _ask(
    simulator: Simulator,
    subnet: RoutedSubnet,
    source: NodePort,
    target: NodePort,
    qos_class: int | None,
) -> int | None:
    lids = [subnet.lids.get(port.guid.value, 0) for port in (source, target)]
    command = ["saquery", "PR", "--slid", str(lids[0]), "--dlid", str(lids[1])]
    if qos_class is not None:
        command += ["--qos_class", str(qos_class)]
    match = _SL.search(simulator.run(*command, check=False))
    return int(match[1], 0) if match else None
