"""The other subnet managers: OpenSM with their files, beside the master that routes the subnet."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from fireflyer.errors import OperatingError
from fireflyer.model.fabric import Manager, Subnet
from fireflyer.prove.infiniband.simulator import Simulator, view
from fireflyer.prove.infiniband.subnet_manager import SubnetManager, subnet_manager
from fireflyer.render.opensm import FILES, directory_of
from fireflyer.verify.finding import Finding
from fireflyer.verify.log import MASTER, STANDBY, log_findings

HANDOVER_S = 1.0
"""What a master takes to hand the subnet over to a standby above it, and a few times that."""


def host_of(manager: Manager) -> str:
    """Return the description of the adapter that a manager's OpenSM attaches to."""
    return f"{manager.host} {manager.port.hca}"


def files_of(tree: Path, subnet: Subnet, manager: Manager) -> Path:
    """Return the folder of a manager's rendered files for a subnet."""
    return tree / "opensm" / manager.host / subnet.folder


def standby_findings(subnet: Subnet, sim: Simulator, tree: Path) -> tuple[Finding, ...]:
    """Start every other manager of a subnet that is up; each must take its files and stand by.

    Args:
        subnet: Its first manager runs.
        sim: The fabric as the first manager sees it.
        tree: The rendered tree.
    """
    findings: list[Finding] = []
    with ExitStack() as stack:  # they all run on: a manager that has gone is a timeout for the next
        running: list[tuple[Manager, SubnetManager]] = []
        for manager in subnet.managers[1:]:
            own = view(sim, host_of(manager), sim.folder / manager.host)
            files = files_of(tree, subnet, manager)
            try:
                opensm = stack.enter_context(
                    subnet_manager(own, files, FILES, directory_of(subnet))
                )
                # One after the other: of several that begin together ibsim may leave one's first
                # question unanswered, and nobody asks again.
                opensm.said_until(STANDBY, MASTER)
            except (OperatingError, OSError) as error:
                findings.append(_unfit(manager, str(error)))
            else:
                running.append((manager, opensm))
        if running:
            time.sleep(HANDOVER_S)
        for manager, opensm in running:
            findings += _said(subnet, manager, opensm)
    return tuple(findings)


def _said(subnet: Subnet, manager: Manager, opensm: SubnetManager) -> Iterator[Finding]:
    said = opensm.said_until(STANDBY, MASTER)
    if any(MASTER in line for line in said):
        first = subnet.managers[0]
        yield _unfit(manager, f"took the subnet over from {first.host}, which runs")
        return
    for found in log_findings(said, STANDBY):
        yield _unfit(manager, f"{found.subject}: {found.message}")


def _unfit(manager: Manager, message: str) -> Finding:
    remedy = f"mend its files, {manager.host} will not stand in for a lost manager as planned"
    return Finding("managers", f"OpenSM on {host_of(manager)}", message, remedy)
