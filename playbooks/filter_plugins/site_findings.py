"""Jinja filter `site_findings`: what is wrong with an inventory, in words, all at once.

It judges what the inventory says, wherever that came from: the fabric, a file of variables that
overrides it, or a static list of hosts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any, TypeAlias

Hostvars: TypeAlias = Mapping[str, Mapping[str, Any]]
Groups: TypeAlias = Mapping[str, Sequence[str]]

ROLES = ("compute", "storage", "management")
SWITCH = "switch"
SWITCHES = "switches"
FILLED_GROUPS = (*ROLES, "slurm_controller", "slurm_node", "subnet_manager")
SERVICES_ON_MANAGEMENT = ("slurm_controller", "subnet_manager")
HOST_VARIABLES = (
    "ansible_host", "fabric_role", "fabric_zone", "fabric_rack", "fabric_unit",
    "fabric_addresses", "fabric_ports", "fabric_networks",
)  # fmt: skip
SWITCH_VARIABLES = (
    "ansible_host", "fabric_role", "fabric_layer", "fabric_tree", "fabric_rack", "fabric_unit",
    "fabric_addresses", "fabric_networks", "fabric_system", "fabric_config",
)  # fmt: skip
JUDGED = (*HOST_VARIABLES, *SWITCH_VARIABLES, "fabric_names", "cluster")
LAYERS = ("leaf", "spine", "core", "interzone")
INTENT = "group_vars/all/cluster.yml"


def site_findings(hostvars: Hostvars, groups: Groups) -> list[str]:
    """Return one line for each mistake: where, which value, what to do."""
    # Plain lists: Ansible's look for a template at each step through them.
    groups = {str(name): [str(host) for host in hosts] for name, hosts in groups.items()}
    hostvars = {host: _filled(hostvars, host) for host in groups.get("all", ())}
    findings = list(_groups(hostvars, groups))
    complete = []
    switches = set(groups.get(SWITCHES, ()))
    for host in groups.get("all", ()):
        known = SWITCH_VARIABLES if host in switches else HOST_VARIABLES
        missing = [name for name in known if name not in hostvars[host]]
        findings += [
            f"{host}: {name} is not set; hosts come from inventory/<site>/fireflyer.yml, and a host"
            f" added by hand needs it in host_vars/{host}.yml"
            for name in missing
        ]
        if not missing:
            complete.append(host)
    values = {host: hostvars[host] for host in complete}
    servers = {host: values[host] for host in complete if host not in switches}
    findings += _membership(servers, groups)
    findings += _switches({host: values[host] for host in complete if host in switches}, groups)
    findings += _addresses(values)
    findings += _ports(servers)
    findings += _shared(values)
    findings += _names(hostvars, groups)
    return findings


def _filled(hostvars: Hostvars, host: str) -> Mapping[str, Any]:
    """Return the variables of a host that are judged, with their templates filled in.

    Ansible gathers a host's variables anew each time that it is asked for them, and walks through
    each value in search of templates: that is done once, and where there is one.
    """
    if not hasattr(hostvars, "raw_get"):
        return hostvars[host]
    raw = hostvars.raw_get(host)
    found = {name: raw[name] for name in JUDGED if name in raw}
    templates = [name for name, value in found.items() if "{{" in repr(value)]
    if templates:
        variables = hostvars[host]
        found |= {name: variables[name] for name in templates}
    return found


def _groups(hostvars: Hostvars, groups: Groups) -> Iterator[str]:
    # An Ethernet fabric has no subnet manager; its hosts' networks say what it is.
    everyone = groups.get("all", ())
    networks = hostvars[everyone[0]].get("fabric_networks", {}) if everyone else {}
    needless = {"subnet_manager"} if any(name.startswith("roce") for name in networks) else set()
    # A site may do without a role; its intent says so.
    intent = hostvars[everyone[0]].get("cluster", {}) if everyone else {}
    needless |= {role for role in ROLES if intent.get(role, {}).get("nodes") == 0}
    for group in FILLED_GROUPS:
        if not groups.get(group) and group not in needless:
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
    members = {role: set(groups.get(role, ())) for role in ROLES}
    for host, variables in values.items():
        role = variables["fabric_role"]
        if role not in ROLES:
            yield f"{host}: fabric_role is {role!r}; it must be one of {', '.join(ROLES)}"
        elif host not in members[role]:
            yield (
                f"{host}: fabric_role is {role} and the host is not in group {role};"
                " correct fabric_role in its host_vars or the group in groups.yml"
            )


def _switches(values: Hostvars, groups: Groups) -> Iterator[str]:
    """Yield what would let a play reach a switch unasked, or miss it."""
    for host, variables in values.items():
        if variables["fabric_role"] != SWITCH:
            yield (
                f"{host}: is in group {SWITCHES} and fabric_role is {variables['fabric_role']!r};"
                f" set it to {SWITCH} or take the host out of the group"
            )
        for group in (*ROLES, *SERVICES_ON_MANAGEMENT, "slurm_node"):
            if host in groups.get(group, ()):
                yield (
                    f"{host}: is a switch and in group {group}; plays for servers would change it,"
                    f" so take it out of {group}"
                )
        layer = variables["fabric_layer"]
        if layer not in LAYERS:
            yield f"{host}: fabric_layer is {layer!r}; it must be one of {', '.join(LAYERS)}"
        elif host not in groups.get(group := f"{SWITCHES}_{layer}", ()):
            yield (
                f"{host}: fabric_layer is {layer} and the switch is not in group {group};"
                " correct fabric_layer in its host_vars or the group in groups.yml"
            )
        if bool(variables["fabric_system"]) != bool(variables["fabric_config"]):
            yield (
                f"{host}: fabric_system is {variables['fabric_system']!r} and fabric_config is"
                f" {variables['fabric_config']!r}; give both or neither"
            )


def _addresses(values: Hostvars) -> Iterator[str]:
    for host, variables in values.items():
        networks = variables["fabric_networks"]
        # A node's second adapter in a tree has an address of another name in the same network.
        of_port = {port["address"]: port["network"] for port in variables.get("fabric_ports", ())}
        for name, text in variables["fabric_addresses"].items():
            where = f"{host}: fabric_addresses.{name} is {text}"
            network = name if name in networks else of_port.get(text, name)
            try:
                address = ip_address(str(text))
            except ValueError:
                yield f"{where}, which is no IP address; correct it in host_vars/{host}.yml"
                continue
            if network not in networks:
                yield f"{where}, and fabric_networks has no {name} ({', '.join(networks)})"
            elif address not in _parsed(str(networks[network])):
                yield (
                    f"{where}, outside of fabric_networks.{network} ({networks[network]});"
                    f" correct the address in host_vars/{host}.yml or cluster.addresses in {INTENT}"
                )


@cache
def _parsed(network: str) -> IPv4Network | IPv6Network:
    return ip_network(network)


def _ports(values: Hostvars) -> Iterator[str]:
    for host, variables in values.items():
        for port in variables["fabric_ports"]:
            if port["address"] not in variables["fabric_addresses"].values():
                yield (
                    f"{host}: fabric_ports has {port['address']} on {port['name']}, and"
                    " fabric_addresses has it under no name; override neither or both"
                )


def _shared(values: Hostvars) -> Iterator[str]:
    """Yield what two hosts have and one alone may have."""
    owners: dict[tuple[str, str], list[str]] = {}
    for host, variables in values.items():
        unique = [("ansible_host", variables["ansible_host"])]
        unique += [(f"fabric_addresses.{k}", v) for k, v in variables["fabric_addresses"].items()]
        for port in variables.get("fabric_ports", ()):
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
    there = set(groups.get("all", ())) - set(groups.get(SWITCHES, ()))
    for host in groups.get("management", ())[:1]:
        if "fabric_names" not in hostvars[host]:
            yield f"{host}: fabric_names is not set; no host could resolve the others' names"
            continue
        # ADDRESS NAME.DOMAIN NAME of each host; a line of one name is a further address's.
        lines = [line.split() for line in hostvars[host]["fabric_names"].splitlines()]
        named = {line[2] for line in lines if len(line) > 2}
        for name in sorted(there - named):
            yield f"{name}: is not in fabric_names of {host}; nobody could resolve its name"
        for name in sorted(named - there):
            yield f"{name}: is in fabric_names of {host} and not in the inventory; add or drop it"


class FilterModule:
    """What Ansible looks for in this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"site_findings": site_findings}
