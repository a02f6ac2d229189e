"""Ask the subnet administrator for path records: does each class get its service level?"""

from __future__ import annotations

import re
from typing import TypeAlias

from fireflyer.model.fabric import Fabric, NodePort, Role
from fireflyer.prove.infiniband.simulator import Simulator
from fireflyer.verify.qos import PathAnswer
from fireflyer.verify.routing import RoutedSubnet

_End: TypeAlias = tuple[str, NodePort]
ATTEMPTS = 3
"""An answer of a busy machine may come after saquery has given up."""
_SL = re.compile(r"^\s*sl\.*\s*(0x[0-9a-fA-F]+|\d+)", re.MULTILINE)


def ask_paths(simulator: Simulator, fabric: Fabric, subnet: RoutedSubnet) -> tuple[PathAnswer, ...]:
    """Ask in every zone: to and from the first and last storage port, and for each class."""
    traffic, default = fabric.intent.traffic, fabric.traffic_default
    planned = fabric.traffic_class(traffic.storage).sl
    answers = []

    def ask(what: str, ends: tuple[_End, _End], sl: int, qos_class: int | None = None) -> None:
        question = f"{ends[0][0]} to {ends[1][0]}{what}"
        answers.append(PathAnswer(question, _ask(simulator, subnet, ends, qos_class), sl))

    for zone in fabric.trees:
        compute, storage = (_ports(fabric, role, zone) for role in (Role.COMPUTE, Role.STORAGE))
        for target in storage[:1] + storage[1:][-1:]:
            for source in compute[:1]:
                ask("", (source, target), planned)
                ask("", (target, source), planned)
        if len(compute) > 1:
            ends = (compute[0], compute[-1])
            ask("", ends, default.sl)
            for row in traffic.classes:
                if row.name not in (traffic.storage, default.name):
                    ask(f" as {row.name}", ends, row.sl, row.sl)
    return tuple(answers)


def _ports(fabric: Fabric, role: Role, zone: str) -> list[_End]:
    return [
        (f"{node.name} {port.hca}", port)
        for node in fabric.nodes_of(role)
        for port in node.ports
        if port.tree == zone
    ]


def _ask(
    simulator: Simulator, subnet: RoutedSubnet, ends: tuple[_End, _End], qos_class: int | None
) -> int | None:
    lids = [subnet.lids.get(port.guid.value, 0) for _, port in ends]
    command = ["saquery", "PR", "--slid", str(lids[0]), "--dlid", str(lids[1])]
    if qos_class is not None:
        command += ["--qos_class", str(qos_class)]
    for _ in range(ATTEMPTS):
        if match := _SL.search(simulator.run(*command, check=False)):
            return int(match[1], 0)
    return None
