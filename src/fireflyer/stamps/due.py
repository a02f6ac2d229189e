"""Which hosts each role of a site is due on, and in which waves it reaches them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fireflyer.stamps.digests import Digests, Groups, RawVariables
from fireflyer.stamps.roles import read_role

STAMP = re.compile(r"^stamp (\w+) ([0-9a-f]{64})\s*$", re.MULTILINE)
"""What a host answers for each role it was brought to."""
KEPT = re.compile(r"^([0-9a-f]{64})  /var/lib/stamps/(\w+)[.]sums\s*$", re.MULTILINE)
"""What a host answers of the files that a role left on it: a digest of their digests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteRole:
    """A role of the site's playbooks."""

    name: str
    groups: tuple[str, ...]
    """Groups of hosts that it is applied to."""
    due_with: tuple[str, str] | None = None
    """A role and a group: once that role is due on one of its hosts, this one is due on all."""
    alike: str = ""
    """A variable that names another host: who does not have that one's files of the role is due."""
    wanted: str = ""
    """A variable that leaves a host out where it is false."""


def hosts_of(role: SiteRole, groups: Groups) -> tuple[str, ...]:
    """Return the hosts of a role, in the inventory's order."""
    members = {host for group in role.groups for host in groups.get(group, ())}
    return tuple(host for host in groups.get("all", ()) if host in members)


def digests(
    roles: Sequence[SiteRole], hostvars: RawVariables, groups: Groups, folder: Path
) -> dict[str, dict[str, str]]:
    """Return the digest of each role on each host that wants it, by role and host."""
    found = Digests(hostvars, groups)
    made: dict[str, dict[str, str]] = {}
    for role in roles:
        read = read_role(folder, role.name)
        made[role.name] = {
            host: found.of(read, host)
            for host in hosts_of(role, groups)
            if wants(role, host, found)
        }
    return made


def wants(role: SiteRole, host: str, variables: Digests) -> bool:
    """Return whether a host has the role at all."""
    value = variables.value(host, role.wanted, True) if role.wanted else True
    return str(value).lower() not in ("false", "no", "off", "0")


def due(
    roles: Sequence[SiteRole],
    wanted: Mapping[str, Mapping[str, str]],
    answers: Mapping[str, str],
    groups: Groups,
    full: Iterable[str] = (),
    value_of: Callable[[str, str], Any] = lambda host, name: None,
) -> dict[str, list[str]]:
    """Return the hosts that each role is due on.

    `wanted` is what `digests` returned, `answers` what each host that could be reached said of its
    stamps, `full` the hosts whose stamps do not count, `value_of` returns a host's variable. A host
    without an answer is due for nothing: it was not reached.
    """
    unstamped = set(full)
    stamps = {host: dict(STAMP.findall(answer)) for host, answer in answers.items()}
    kept = {
        host: {role: digest for digest, role in KEPT.findall(answer)}
        for host, answer in answers.items()
    }
    there: dict[str, list[str]] = {}
    late: dict[str, list[str]] = {}
    for role in roles:
        hosts = [host for host in hosts_of(role, groups) if host in wanted[role.name]]
        there[role.name] = [host for host in hosts if host in stamps]
        late[role.name] = [
            host
            for host in there[role.name]
            if host in unstamped
            or stamps[host].get(role.name) != wanted[role.name][host]
            or (role.alike and _differs(kept, role.name, host, value_of(host, role.alike)))
        ]
    return {
        role.name: there[role.name]
        if role.due_with and set(late[role.due_with[0]]) & set(groups.get(role.due_with[1], ()))
        else late[role.name]
        for role in roles
    }


def _differs(kept: Mapping[str, Mapping[str, str]], role: str, host: str, model: object) -> bool:
    """Return whether a role left a host with other files than the host it shall be like."""
    own, other = (kept.get(str(name), {}).get(role) for name in (host, model))
    return own is not None and other is not None and own != other


def canaries_first(hosts: Sequence[str], groups: Groups) -> tuple[list[str], int]:
    """Return the hosts with one of each group in front, and how many those are."""
    members = set(hosts)
    chosen: dict[str, None] = {}
    for group in sorted(groups):
        if group in ("all", "ungrouped"):
            continue
        there = [host for host in groups[group] if host in members]
        if there and not chosen.keys() & set(there):
            chosen[there[0]] = None
    return [*chosen, *(host for host in hosts if host not in chosen)], len(chosen)
