"""The lab's site of a replica: the hosts of its inventory, with the plan's subnets."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.lab.site import REPO, Interface, LabError, LabHost, LabSite, Source, read_site
from tests.stacks import READY, make_stack

from fireflyer.design.replica import plan_replica
from fireflyer.load.replica import load_replica
from fireflyer.model.replica_plan import PlannedHost, ReplicaPlan

CLOUD = REPO / "inventory" / "cloud"
CONTAINERS = Path(__file__).parent / "inventory"
"""What containers need otherwise: the lab's own files, and the way in."""
PYTHON = REPO / ".venv-pulumi" / "bin" / "python"

STACK: Mapping[str, Any] = {
    **READY,
    "replica.of": "lab",
    "replica.scale": "1",
    "replica.storage.instance": "i4i.xlarge",
    "replica.network": {"cidr": "10.91.0.0/20"},
    "replica.usd_per_day_ceiling": 100_000.0,
}
"""The pair's GPU nodes and bastion, in the lab's shape, with a network that this machine lacks."""


def make_replica(folder: Path) -> tuple[ReplicaPlan, Source]:
    """Run the Pulumi program; return the plan, and where Ansible finds what it exported."""
    stack = make_stack(folder, "pair", STACK, name="lab")
    if not PYTHON.exists():
        raise LabError(f"there is no {PYTHON.relative_to(REPO)}; run: scripts/setup-pulumi test")
    paths = os.pathsep.join(str(path) for path in (REPO, REPO / "src", REPO / "pulumi"))
    done = subprocess.run(
        [PYTHON, "-m", "tests.replica.export", stack, folder],
        cwd=REPO,
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise LabError(f"the program of {stack} failed:\n{done.stderr[-3000:]}")
    found = {"FIREFLYER_REPLICA": done.stdout.strip()}
    return plan_replica(load_replica(stack)), Source(
        inventories=(CLOUD, CONTAINERS), environment=found
    )


def replica_site(plan: ReplicaPlan, source: Source) -> LabSite:
    """Return the site of an exported inventory, with each foot that the plan gives a host.

    An adapter for RDMA alone has no address, and nothing stands for it. This machine is the
    subnets' router, at the address where the provider has its own.
    """
    found = read_site(source)
    planned = {host.name: host for host in plan.hosts}
    if set(planned) != {host.name for host in found.hosts}:
        raise LabError(f"the inventory has {found.hosts}, the plan {sorted(planned)}")
    subnets = {foot.subnet for host in plan.hosts for foot in host.interfaces}
    return replace(
        found,
        hosts=tuple(replace(host, interfaces=_feet(planned[host.name])) for host in found.hosts),
        networks={s.name: str(s.network) for s in plan.subnets if s.name in subnets},
        routed=str(plan.network),
    )


def _feet(host: PlannedHost) -> tuple[Interface, ...]:
    return tuple(
        Interface(name=f"eth{number}", network=foot.subnet, address=str(foot.address))
        for number, foot in enumerate(host.interfaces)
        if foot.address is not None
    )


def role_of(site: LabSite, role: str) -> list[LabHost]:
    """Return the hosts of a role."""
    return [host for host in site.hosts if host.role == role]
