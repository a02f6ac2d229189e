"""Ansible inventory plugin: the hosts of a site, computed from its intent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin

DOCUMENTATION = """
name: fireflyer
short_description: The hosts of a site, computed from its intent
description:
  - Reads C(group_vars/all/cluster.yml) beside the inventory file, designs the fabric and gives
    Ansible its hosts, groups and variables. C(fireflyer render) prints the same as
    C(inventory/hosts.yml).
options:
  plugin:
    description: Must be V(fireflyer).
    required: true
    choices: [fireflyer]
"""

EXAMPLES = """
# inventory/<site>/fireflyer.yml
plugin: fireflyer
"""


class InventoryModule(BaseInventoryPlugin):  # type: ignore[misc] # Ansible has no types
    """Give Ansible what `fireflyer` computes."""

    NAME = "fireflyer"

    def verify_file(self, path: str) -> bool:
        """Accept `fireflyer.yml` and nothing else."""
        return bool(super().verify_file(path)) and Path(path).name == "fireflyer.yml"

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        """Fill the inventory from the site that holds the file at `path`."""
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        try:
            from fireflyer.errors import IntentError
            from fireflyer.render.inventory_cache import cached_inventory
        except ImportError as error:
            raise AnsibleParserError(
                f"the fireflyer package is not beside this Ansible ({error}); run make setup and"
                " use .venv/bin/ansible-playbook"
            ) from error
        try:
            found = cached_inventory(Path(path).parent)
        except IntentError as error:
            raise AnsibleParserError(f"the intent cannot be built:\n{error}") from error
        # Ansible would copy every value and mark each part of it with the file it came from: half a
        # million marks at a large site. No value here is a template.
        inventory = getattr(inventory, "__wrapped__", inventory)
        for name, value in found.variables.items():
            inventory.set_variable("all", name, value)
        for group, hosts in found.groups.items():
            inventory.add_group(group)
            for host in hosts:
                inventory.add_host(host, group=group)
        for name, value in found.management_variables.items():
            inventory.set_variable("management", name, value)
        for host, variables in found.hosts.items():
            for name, value in variables.items():
                inventory.set_variable(host, name, value)
