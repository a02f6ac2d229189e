"""A host with several feet answers from each by that foot, as the kernel's own tables say."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.stacks import make_stack

from fireflyer.design.replica import plan_replica
from fireflyer.load.replica import load_replica
from fireflyer.model.fabric import Role
from fireflyer.model.replica_plan import PlannedHost, ReplicaPlan
from fireflyer.render.replica_routes import routes_unit


@pytest.fixture
def plan(tmp_path: Path) -> ReplicaPlan:
    """Return the plan of the pair: one storage node, with a foot in each of two zones."""
    return plan_replica(load_replica(make_stack(tmp_path, "pair", {})))


def storage(plan: ReplicaPlan) -> PlannedHost:
    (host,) = plan.hosts_of(Role.STORAGE)
    return host


def test_a_host_with_one_foot_needs_none(plan: ReplicaPlan) -> None:
    for host in plan.hosts:
        assert (routes_unit(plan, host) is None) is (host.role is not Role.STORAGE)


def test_the_unit_is_one_that_systemd_takes(plan: ReplicaPlan, tmp_path: Path) -> None:
    file = tmp_path / "replica-routes.service"
    file.write_text(routes_unit(plan, storage(plan)) or "")
    try:
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", file],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    except FileNotFoundError:
        pytest.skip("there is no systemd-analyze")
    assert file.name not in done.stderr


def routed(plan: ReplicaPlan, unit: str, asked: list[tuple[str, str]]) -> list[str]:
    """Return the interface that answers each (from, to), with the unit started twice."""
    feet = [(f, plan.subnet(f.subnet)) for f in storage(plan).interfaces if f.address]
    lines = ["set -e", "ip link set lo up"]
    for number, (foot, subnet) in enumerate(feet):
        name = f"foot{number}"
        lines += [
            f"ip link add {name} type veth peer name far{number}",
            f"ip link set far{number} up",
            f"ip link set {name} up",
            f"ip address add {foot.address}/{subnet.network.prefixlen} dev {name}",
        ]
    lines.append(f"ip route add default via {feet[0][1].router} dev foot0")
    starts = [line.partition("=")[2] for line in unit.splitlines() if line.startswith("ExecStart=")]
    for start in starts * 2:
        lines.append(f"{start[1:]} 2>/dev/null || true" if start.startswith("-") else start)
    lines += [f"ip -4 route get {to} from {source}" for source, to in asked]
    done = subprocess.run(
        ["unshare", "--net", "sh", "-c", "\n".join(lines)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode and "unshare" in done.stderr:
        pytest.skip(f"this machine gives no network namespace: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    answers = [line for line in done.stdout.splitlines() if " from " in line]
    return [shlex.split(line)[shlex.split(line).index("dev") + 1] for line in answers]


def test_each_answer_leaves_by_the_foot_that_was_asked(plan: ReplicaPlan) -> None:
    host = storage(plan)
    unit = routes_unit(plan, host)
    assert unit is not None
    feet = [str(foot.address) for foot in host.interfaces if foot.address]
    others: list[str] = [str(h.address) for h in plan.hosts if h is not host]
    asked: list[tuple[str, Any]] = [(foot, other) for foot in feet for other in others]
    expected = [f"foot{number}" for number in range(len(feet)) for _ in others]
    assert routed(plan, unit, asked) == expected
