"""playbooks/validate.yml finds every mistake of an inventory at once, and contacts no host."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from playbooks.filter_plugins.site_findings import site_findings
from tests.lab.site import BIN, REPO


def host(number: int, role: str) -> dict[str, Any]:
    """Return the variables of a host that is in order."""
    return {
        "ansible_host": f"192.0.2.{number}",
        "fabric_role": role,
        "fabric_zone": "a",
        "fabric_rack": "r1",
        "fabric_unit": number,
        "fabric_addresses": {"management": f"192.0.2.{number}", "ipoib_a": f"198.51.100.{number}"},
        "fabric_ports": [
            {
                "name": "ib0", "network": "ipoib_a", "leaf": "a-leaf01", "leaf_port": number,
                "guid": f"0x{number}", "address": f"198.51.100.{number}",
            }
        ],
    }  # fmt: skip


def switch(number: int) -> dict[str, Any]:
    """Return the variables of a leaf that is in order."""
    return {
        "ansible_host": f"192.0.2.{number}",
        "fabric_role": "switch",
        "fabric_layer": "leaf",
        "fabric_tree": "a",
        "fabric_rack": "r1",
        "fabric_unit": number,
        "fabric_addresses": {"management": f"192.0.2.{number}"},
        "fabric_system": "frr",
        "fabric_config": "frr/leaf.conf",
    }


def good_inventory() -> dict[str, Any]:
    """Return a static inventory of three hosts and a switch without a mistake."""
    head, store, node = host(1, "management"), host(2, "storage"), host(3, "compute")
    head["fabric_names"] = "".join(
        f"192.0.2.{number} {name}.example.internal {name}\n198.51.100.{number} {name}-ib-a\n"
        for number, name in enumerate(("head", "store", "node"), 1)
    )
    return {
        "all": {
            "vars": {
                "fabric_networks": {"management": "192.0.2.0/24", "ipoib_a": "198.51.100.0/24"}
            },
            "children": {
                "management": {"hosts": {"head": head}},
                "storage": {"hosts": {"store": store}},
                "compute": {"hosts": {"node": node}},
                "slurm_controller": {"hosts": {"head": {}}},
                "subnet_manager": {"hosts": {"head": {}}},
                "slurm_node": {"children": {"compute": {}}},
                "switches": {"hosts": {"leaf": switch(4)}},
                "switches_leaf": {"hosts": {"leaf": {}}},
            },
        }
    }


def validate(inventory: dict[str, Any], folder: Path) -> tuple[int, str]:
    """Return the exit code of the playbook and the message it ends with."""
    file = folder / "hosts.yml"
    file.write_text(yaml.safe_dump(inventory))
    done = subprocess.run(
        [BIN / "ansible-playbook", "-i", file, "playbooks/validate.yml"],
        cwd=REPO,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, " ".join(done.stdout.split())


def test_an_inventory_in_order_passes(tmp_path: Path) -> None:
    code, printed = validate(good_inventory(), tmp_path)
    assert (code, "4 hosts, no mistakes" in printed) == (0, True), printed


def test_all_mistakes_are_told_together(tmp_path: Path) -> None:
    inventory = good_inventory()
    groups = inventory["all"]["children"]
    groups["slurm_controller"]["hosts"] = {"node": {}}
    groups["storage"]["hosts"]["store"]["fabric_addresses"]["management"] = "203.0.113.2"
    del groups["management"]["hosts"]["head"]["fabric_rack"]
    code, printed = validate(inventory, tmp_path)
    assert code == 2
    assert "3 mistakes in the inventory" in printed
    assert "node: is in group slurm_controller and not in management" in printed
    assert "store: fabric_addresses.management is 203.0.113.2, outside of" in printed
    assert "head: fabric_rack is not set" in printed


NODE = "compute.hosts.node"
LEAF = "switches.hosts.leaf"
ME = "192.0.2.1 head.x head\n192.0.2.2 store.x store\n192.0.2.3 me.x me\n"


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        (f"{NODE}.fabric_role", "gpu", "node: fabric_role is 'gpu'; it must be one of"),
        (f"{NODE}.fabric_role", "storage", "node: fabric_role is storage and the host is not in"),
        (f"{NODE}.ansible_host", "192.0.2.1", "head, node: ansible_host is 192.0.2.1 on each"),
        (
            f"{NODE}.fabric_addresses.ipoib_a",
            "x",
            "node: fabric_addresses.ipoib_a is x, which is no",
        ),
        (f"{NODE}.fabric_addresses.ipoib_z", "192.0.2.9", "and fabric_networks has no ipoib_z"),
        (f"{NODE}.fabric_ports.0.address", "198.51.100.9", "has 198.51.100.9 on ib0, and"),
        (f"{NODE}.fabric_ports.0.guid", "0x1", "head, node: fabric_ports guid is 0x1 on each"),
        (f"{NODE}.fabric_ports.0.leaf_port", 1, "leaf and leaf_port is a-leaf01/1 on each"),
        ("management.hosts.head.fabric_names", ME, "node: is not in fabric_names of head"),
        ("management.hosts.head.fabric_names", ME, "me: is in fabric_names of head and"),
        (
            f"{LEAF}.fabric_role",
            "compute",
            "leaf: is in group switches and fabric_role is 'c",
        ),
        (f"{LEAF}.fabric_layer", "access", "leaf: fabric_layer is 'access'; it must be one of"),
        (f"{LEAF}.fabric_layer", "spine", "and the switch is not in group switches_spine"),
        (f"{LEAF}.fabric_config", "", "leaf: fabric_system is 'frr' and fabric_config is ''"),
        (f"{LEAF}.ansible_host", "192.0.2.1", "head, leaf: ansible_host is 192.0.2.1 on each"),
        ("compute.hosts.leaf", {}, "leaf: is a switch and in group compute; plays for servers"),
        ("subnet_manager.hosts", {}, "group subnet_manager: has no host"),
    ],
)
def test_a_mistake_is_named_with_its_place(path: str, value: object, complaint: str) -> None:
    inventory = good_inventory()
    *way, last = path.split(".")
    target = inventory["all"]["children"]
    for step in way:
        target = target[int(step) if step.isdigit() else step]
    target[last] = value
    findings = site_findings(*as_ansible_sees(inventory))
    assert [finding for finding in findings if complaint in finding], findings


def as_ansible_sees(
    inventory: dict[str, Any],
) -> tuple[dict[str, dict[str, Any]], dict[str, list[str]]]:
    """Return the variables of each host and the hosts of each group, as in a play."""
    hostvars: dict[str, dict[str, Any]] = {}
    groups: dict[str, list[str]] = {}
    for name, group in inventory["all"]["children"].items():
        groups[name] = list(group.get("hosts", {}))
        for member, variables in group.get("hosts", {}).items():
            hostvars.setdefault(member, dict(inventory["all"]["vars"])).update(variables)
    groups["slurm_node"] = groups["compute"]
    return hostvars, {**groups, "all": list(hostvars)}
