"""A replica's inventory is one that Ansible takes: the same groups, the same variables."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import REPO
from tests.lab.site import BIN, plain
from tests.stacks import EXAMPLES, READY, make_stack

from fireflyer.design.replica import plan_replica
from fireflyer.load.replica import load_replica
from fireflyer.model.replica_plan import ReplicaPlan
from fireflyer.render.replica import exported

CLOUD = REPO / "inventory" / "cloud"


def export(base: str, folder: Path, changes: Mapping[str, Any] | None = None) -> ReplicaPlan:
    """Write what a stack would export, with instances of no provider."""
    plan = plan_replica(load_replica(make_stack(folder, base, {**READY, **(changes or {})})))
    found: Any = json.loads(json.dumps(exported(plan)))
    found["variables"]["replica_jump"] = "203.0.113.9" if plan.bastion else ""
    for number, values in enumerate(found["hosts"].values()):
        values["replica_instance"] = f"i-{number:017x}"
    (folder / "inventory.json").write_text(json.dumps(found))
    return plan


def ansible(program: str, folder: Path | str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run one of Ansible's programs on the replica's inventory."""
    return subprocess.run(
        [BIN / program, "-i", CLOUD, *arguments],
        cwd=REPO,
        env=os.environ | {"FIREFLYER_REPLICA": str(folder), "ANSIBLE_LOCALHOST_WARNING": "false"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("base", EXAMPLES)
def test_validate_accepts_it(base: str, tmp_path: Path) -> None:
    plan = export(base, tmp_path)
    done = ansible("ansible-playbook", tmp_path / "inventory.json", "playbooks/validate.yml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(plan.hosts)} hosts, no mistakes" in done.stdout


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """Return the variables that every host of the pair has, templates done."""
    folder = tmp_path_factory.mktemp("pair")
    export("pair", folder)
    done = ansible("ansible-inventory", folder / "inventory.json", "--list")
    assert done.returncode == 0, done.stderr
    found: Mapping[str, Any] = plain(json.loads(done.stdout))
    return found


def test_groups_are_the_sites(pair: Mapping[str, Any]) -> None:
    assert pair["compute_zone_b"]["hosts"] == ["b-cn0001", "b-cn0002"]
    assert pair["storage_zone_a"]["hosts"] == ["st001"]
    assert pair["slurm_controller"]["hosts"] == ["mg01"]
    assert "hosts" not in pair.get("switches_leaf", {})


def test_roles_are_told_of_the_replicas_network(pair: Mapping[str, Any]) -> None:
    slurm = pair["_meta"]["hostvars"]["mg01"]["fabric_slurm"]
    assert [entry["gres"] for entry in slurm["nodes"]] == ["gpu:a100-sxm4-40gb:8"] * 2
    assert slurm["topology"] == [
        {"name": "a-leaf01", "nodes": "a-cn[0001-0002]", "switches": ""},
        {"name": "a-spines", "nodes": "", "switches": "a-leaf01"},
        {"name": "b-leaf01", "nodes": "b-cn[0001-0002]", "switches": ""},
        {"name": "b-spines", "nodes": "", "switches": "b-leaf01"},
        {"name": "interzone", "nodes": "", "switches": "a-spines,b-spines"},
    ]
    node = pair["_meta"]["hostvars"]["a-cn0001"]
    assert [port["hca"] for port in node["fabric_ports"]] == [f"efa_{n}" for n in range(4)]
    profile = node["fabric_profiles"][node["fabric_model"]]
    assert (len(profile["gpus"]), len(profile["nics"])) == (8, 4)
    positions = [
        pair["_meta"]["hostvars"][name]["fabric_position"]
        for name in pair["compute_zone_b"]["hosts"]
    ]
    assert len(set(map(str, positions))) == 2


def variable(folder: Path, host: str, name: str) -> str:
    """Return a variable of a host as Ansible evaluates it."""
    done = subprocess.run(
        [BIN / "ansible", "-i", CLOUD, host, "-m", "ansible.builtin.debug", "-a", f"var={name}"],
        cwd=REPO,
        env=os.environ | {"FIREFLYER_REPLICA": str(folder / "inventory.json")},
        capture_output=True,
        text=True,
        check=True,
    )
    return " ".join(done.stdout.split())


def test_a_host_is_reached_through_the_bastion(tmp_path: Path) -> None:
    export("pair", tmp_path)
    said = variable(tmp_path, "a-cn0001", "ansible_ssh_common_args")
    assert "-W %h:%p admin@203.0.113.9" in said
    assert f"UserKnownHostsFile={tmp_path}/known_hosts" in said


def test_a_host_is_reached_through_the_session_manager(tmp_path: Path) -> None:
    export("pod", tmp_path)
    said = variable(tmp_path, "a-cn0002", "ansible_ssh_common_args")
    assert "aws ssm start-session --region us-east-1 --target i-00000000000000001" in said


def test_without_a_replica_it_says_so(tmp_path: Path) -> None:
    done = ansible("ansible-inventory", tmp_path / "nothing.json", "--list")
    assert done.returncode != 0
    assert "is no inventory of a replica" in " ".join(done.stderr.split())


def test_hfreduce_is_told_of_infinibands_adapters(tmp_path: Path) -> None:
    export("infiniband", tmp_path)
    said = variable(tmp_path, "b-cn0002", "hfreduce_network")
    assert [f"mlx5_ib{number}:1" in said for number in range(9)] == [True] * 8 + [False]
    assert "numa_node: 0" in said
    assert "hfreduce_gate_ranks: 8" in variable(tmp_path, "b-cn0002", "hfreduce_gate_ranks")
    assert "time.windows.com" in variable(tmp_path, "mg01", "host_base_ntp_servers")
    assert "debian@203.0.113.9" in variable(tmp_path, "st001", "ansible_ssh_common_args")


def test_the_gate_of_hfreduce_takes_the_providers_adapters(tmp_path: Path) -> None:
    export("pair", tmp_path)
    assert "hfreduce_network: {}" in variable(tmp_path, "a-cn0001", "hfreduce_network")
    assert "hfreduce_gate_ranks: 8" in variable(tmp_path, "a-cn0001", "hfreduce_gate_ranks")
    assert "169.254.169.123" in variable(tmp_path, "mg01", "host_base_ntp_servers")
    assert "host_base_ntp_pools: []" in variable(tmp_path, "mg01", "host_base_ntp_pools")
