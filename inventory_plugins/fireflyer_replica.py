"""Ansible inventory plugin: the hosts of a replica, as its stack exported them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin

DOCUMENTATION = """
name: fireflyer_replica
short_description: The hosts of a cloud replica, as its stack exported them
description:
  - Reads C(.replica/stacks/<stack>/inventory.json), which C(make replica-up) writes; C(pulumi stack
    output inventory --json) prints the same. FIREFLYER_REPLICA names the stack, or the file; it may
    be left out while one replica stands.
options:
  plugin:
    description: Must be V(fireflyer_replica).
    required: true
    choices: [fireflyer_replica]
"""

EXAMPLES = """
# inventory/cloud/replica.yml
plugin: fireflyer_replica
"""

REPLICAS = Path(__file__).resolve().parents[1] / ".replica" / "stacks"


class InventoryModule(BaseInventoryPlugin):  # type: ignore[misc] # Ansible has no types
    """Give Ansible what the stack exported."""

    NAME = "fireflyer_replica"

    def verify_file(self, path: str) -> bool:
        """Accept `replica.yml` and nothing else."""
        return bool(super().verify_file(path)) and Path(path).name == "replica.yml"

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        """Fill the inventory from the replica's file."""
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        file = _file(os.environ.get("FIREFLYER_REPLICA", ""))
        try:
            found = json.loads(file.read_text())
            groups, hosts = found["groups"], found["hosts"]
            variables, lists = found["variables"], found["management_variables"]
        except (OSError, ValueError, KeyError) as error:
            raise AnsibleParserError(
                f"{file} is no inventory of a replica ({error}); make replica-up writes one"
            ) from error
        for name, value in {**variables, "replica_directory": str(file.parent)}.items():
            inventory.set_variable("all", name, value)
        for group, members in groups.items():
            inventory.add_group(group)
            for host in members:
                inventory.add_host(host, group=group)
        for name, value in lists.items():
            inventory.set_variable("management", name, value)
        for host, values in hosts.items():
            for name, value in values.items():
                inventory.set_variable(host, name, value)


def _file(named: str) -> Path:
    """Return the replica's file, or say which there are."""
    if named.endswith(".json"):
        return Path(named).resolve()
    if named:
        return REPLICAS / named / "inventory.json"
    there = sorted(REPLICAS.glob("*/inventory.json"))
    if len(there) == 1:
        return there[0]
    names = ", ".join(file.parent.name for file in there)
    raise AnsibleParserError(
        f"several replicas stand; set FIREFLYER_REPLICA to one of {names}"
        if there
        else "no replica stands; make replica-up STACK=<name> raises one"
    )
