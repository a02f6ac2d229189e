"""Jinja filter `site_findings`: what is wrong with an inventory, in words, all at once.

It judges what the inventory says, wherever that came from: the fabric, a file of variables that
overrides it, or a static list of hosts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from ipaddress import ip_address, ip_network
from typing import Any, TypeAlias

Hostvars: TypeAlias = Mapping[str, Mapping[str, Any]]
Groups: TypeAlias = Mapping[str, Sequence[str]]

ROLES = ("compute", "storage", "management")
FILLED_GROUPS = (*ROLES, "slurm_controller", "slurm_node", "subnet_manager")
SERVICES_ON_MANAGEMENT = ("slurm_controller", "subnet_manager")
HOST_VARIABLES = (
    "ansible_host", "fabric_role", "fabric_zone", "fabric_rack", "fabric_unit",
    "fabric_addresses", "fabric_ports", "fabric_networks",
)  # fmt: skip
INTENT = "group_vars/all/cluster.yml"


def site_findings(hostvars: Hostvars, groups: Groups) -> list[str]:
    """Return one line for each mistake: where, which value, what to do."""
    findings = list(_groups(groups))
    complete = []
    for host in groups.get("all", ()):
        missing = [name for name in HOST_VARIABLES if name not in hostvars[host]]
        findings += [
            f"{host}: {name} is not set; hosts come from inventory/<site>/fireflyer.yml, and a host"
            f" added by hand needs it in host_vars/{host}.yml"
            for name in missing
        ]
        if not missing:
            complete.append(host)
    values = {host: hostvars[host] for host in complete}
    findings += _membership(values, groups)
    findings += _addresses(values)
    findings += _shared(values)
    findings += _names(hostvars, groups)
    return findings


def _groups(groups: Groups) -> Iterator[str]:
    for group in FILLED_GROUPS:
        if not groups.get(group):
            yield (
                f"group {group}: has no host; name some in cluster.services or give cluster."
                f"{group if group in ROLES else 'services'} nodes in {INTENT}"
            )
    management = groups.get("management", ())
    for group in SERVICES_ON_MANAGEMENT:
        for host in groups.get(group, ()):
            if host not in management:
                yield (
                    f"{host}: is in group {group} and not in management; a service host must be a"
                    f" management host, so change cluster.services.{group} in {INTENT}"
                )


def _membership(values: Hostvars, groups: Groups) -> Iterator[str]:
    for host, variables in values.items():
        role = variables["fabric_role"]
        if role not in ROLES:
            yield f"{host}: fabric_role is {role!r}; it must be one of {', '.join(ROLES)}"
        elif host not in groups.get(role, ()):
            yield (
                f"{host}: fabric_role is {role} and the host is not in group {role};"
                " correct fabric_role in its host_vars or the group in groups.yml"
            )


def _addresses(values: Hostvars) -> Iterator[str]:
    for host, variables in values.items():
        networks = variables["fabric_networks"]
        for name, text in variables["fabric_addresses"].items():
            where = f"{host}: fabric_addresses.{name} is {text}"
            try:
                address = ip_address(str(text))
            except ValueError:
                yield f"{where}, which is no IP address; correct it in host_vars/{host}.yml"
                continue
            if name not in networks:
                yield f"{where}, and fabric_networks has no {name} ({', '.join(networks)})"
            elif address not in ip_network(str(networks[name])):
                yield (
                    f"{where}, outside of fabric_networks.{name} ({networks[name]});"
                    f" correct the address in host_vars/{host}.yml or cluster.addresses in {INTENT}"
                )
        for port in variables["fabric_ports"]:
            network = f"ipoib_{port['zone']}"
            if variables["fabric_addresses"].get(network) != port["address"]:
                yield (
                    f"{host}: fabric_ports has {port['address']} on {port['name']}, and"
                    f" fabric_addresses.{network} is {variables['fabric_addresses'].get(network)};"
                    " they must be equal, so override neither or both"
                )


def _shared(values: Hostvars) -> Iterator[str]:
    """Yield what two hosts have and one alone may have."""
    owners: dict[tuple[str, str], list[str]] = {}
    for host, variables in values.items():
        unique = [("ansible_host", variables["ansible_host"])]
        unique += [(f"fabric_addresses.{k}", v) for k, v in variables["fabric_addresses"].items()]
        for port in variables["fabric_ports"]:
            unique.append(("fabric_ports guid", port["guid"]))
            unique.append(
                ("fabric_ports leaf and leaf_port", f"{port['leaf']}/{port['leaf_port']}")
            )
        for name, value in unique:
            owners.setdefault((name, str(value)), []).append(host)
    for (name, value), hosts in owners.items():
        if len(hosts) > 1:
            yield (
                f"{', '.join(sorted(hosts))}: {name} is {value} on each; only one may have it,"
                " so correct the others in their host_vars"
            )


def _names(hostvars: Hostvars, groups: Groups) -> Iterator[str]:
    """Compare what the management hosts tell everyone with who is there."""
    there = set(groups.get("all", ()))
    for host in groups.get("management", ())[:1]:
        if "fabric_hosts" not in hostvars[host]:
            yield f"{host}: fabric_hosts is not set; no host could resolve the others' names"
            continue
        named = {entry["name"] for entry in hostvars[host]["fabric_hosts"]}
        for name in sorted(there - named):
            yield f"{name}: is not in fabric_hosts of {host}; nobody could resolve its name"
        for name in sorted(named - there):
            yield f"{name}: is in fabric_hosts of {host} and not in the inventory; add or drop it"


class FilterModule:
    """What Ansible looks for in this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"site_findings": site_findings}
