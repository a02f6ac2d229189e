"""The lab's hosts and networks, as the inventory has them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REPO = Path(__file__).parents[2]
INVENTORY = REPO / "inventory" / "lab"
BIN = Path(sys.executable).parent
"""Where Ansible's programs are: beside the Python that runs this."""
MANAGEMENT = "management"


class LabError(RuntimeError):
    """Something went wrong that the reader can mend; the message says how."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where Ansible has the hosts from; what a later inventory says goes before an earlier one."""

    inventories: tuple[Path, ...]
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def options(self) -> list[str]:
        """What each of Ansible's programs is given."""
        return [f"--inventory={path}" for path in self.inventories]

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment that they run in."""
        return os.environ | self.environment


LAB_SOURCE = Source(inventories=(INVENTORY,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """One foot of a host in a network."""

    name: str
    network: str
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LabHost:
    """One host, to become one container."""

    name: str
    role: str
    interfaces: tuple[Interface, ...]
    devices: tuple[str, ...] = ()
    """Files that stand for devices: they are there, and nothing is behind them."""

    @property
    def address(self) -> str:
        """The address it is managed at: the first interface's."""
        return self.interfaces[0].address


@dataclass(frozen=True, slots=True, kw_only=True)
class LabSite:
    """Everything the lab is made from."""

    hosts: tuple[LabHost, ...]
    networks: Mapping[str, str]
    """Subnet of each network that has an interface in it."""
    controllers: tuple[str, ...]
    job_hosts: tuple[str, ...]
    leaves: Mapping[str, str]
    """Nodes of each leaf that has any, as Slurm shall know them."""
    user: str
    """Whom Ansible logs in as."""
    routed: str | None = None
    """Addresses that this machine routes between networks as they are, as a router would; without
    it, the management network alone leads out."""


def read_site(source: Source = LAB_SOURCE) -> LabSite:
    """Ask Ansible for the inventory, so that the lab is what Ansible will manage."""
    done = subprocess.run(
        [BIN / "ansible-inventory", *source.options, "--list"],
        cwd=REPO,
        env=source.variables,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise LabError(f"the inventory {source} cannot be read: {done.stderr.strip()}")
    return site_from(plain(json.loads(done.stdout)))


def site_from(inventory: Mapping[str, Any]) -> LabSite:
    """Return the site of an inventory in the form `ansible-inventory --list` prints."""
    variables = inventory["_meta"]["hostvars"]
    controllers = _members(inventory, "slurm_controller")
    job_hosts = _members(inventory, "slurm_node")
    slurm = variables[controllers[0]]["fabric_slurm"]
    devices = tuple(file for entry in slurm["gres"] for file in expanded(entry["file"]))
    # Switches are in the inventory and not in the lab: nothing stands for them.
    hosts = tuple(
        _host(name, variables[name], devices if name in job_hosts else ())
        for name in sorted(variables)
        if variables[name]["fabric_role"] != "switch"
    )
    used = {interface.network for host in hosts for interface in host.interfaces}
    networks = variables[hosts[0].name]["fabric_networks"]
    return LabSite(
        hosts=hosts,
        networks={name: networks[name] for name in networks if name in used},
        controllers=controllers,
        job_hosts=job_hosts,
        leaves={entry["name"]: entry["nodes"] for entry in slurm["topology"] if entry["nodes"]},
        user=variables[hosts[0].name]["ansible_user"],
    )


def expanded(files: str) -> tuple[str, ...]:
    """Return the files that Slurm's `gres.conf` means.

    >>> expanded("/dev/nvidia[0-1]"), expanded("/dev/null")
    (('/dev/nvidia0', '/dev/nvidia1'), ('/dev/null',))
    """
    found = re.fullmatch(r"(.*)\[(\d+)-(\d+)\]", files)
    if found is None:
        return (files,)
    name, first, last = found.groups()
    return tuple(f"{name}{number}" for number in range(int(first), int(last) + 1))


def _host(name: str, variables: Mapping[str, Any], devices: tuple[str, ...]) -> LabHost:
    management = Interface(
        name="eth0", network=MANAGEMENT, address=variables["fabric_addresses"][MANAGEMENT]
    )
    ports = tuple(
        Interface(name=port["name"], network=port["network"], address=port["address"])
        for port in variables["fabric_ports"]
    )
    return LabHost(
        name=name,
        role=variables["fabric_role"],
        interfaces=(management, *ports),
        devices=devices,
    )


def _members(inventory: Mapping[str, Any], group: str) -> tuple[str, ...]:
    """Return a group's hosts, its children's among them.

    A group with neither hosts nor children is named by its parent and has no entry of its own.
    """
    entry = inventory.get(group, {})
    found = set(entry.get("hosts", ()))
    for child in entry.get("children", ()):
        found.update(_members(inventory, child))
    return tuple(sorted(found))


def plain(value: Any) -> Any:
    """Drop the marks that Ansible puts around text it did not write itself."""
    if isinstance(value, dict):
        if set(value) == {"__ansible_unsafe"}:
            return value["__ansible_unsafe"]
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value
