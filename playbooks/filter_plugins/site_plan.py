"""Jinja filters of `playbooks/`: what a role is made of, who is due, and in which waves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleFilterError

try:
    from fireflyer.stamps import due
    from fireflyer.stamps.digests import Groups, RawVariables
except ImportError as error:
    raise AnsibleFilterError(
        f"the fireflyer package is not beside this Ansible ({error}); run make setup and use"
        " .venv/bin/ansible-playbook"
    ) from error

ROLES = Path(__file__).resolve().parents[2] / "roles"
CANARIES = "canaries"


def site_digests(
    roles: Sequence[Mapping[str, Any]], hostvars: RawVariables, groups: Groups
) -> dict[str, dict[str, str]]:
    """Return the digest of each role on each host that wants it, by role and host."""
    return due.digests(_roles(roles), hostvars, groups, ROLES)


def site_due(
    roles: Sequence[Mapping[str, Any]],
    digests: Mapping[str, Mapping[str, str]],
    hostvars: RawVariables,
    groups: Groups,
    full: object = False,
) -> dict[str, list[str]]:
    """Return the hosts that each role is due on, from what each host answered in `site_stamps`.

    `full` is true for every host, or the name of a group of hosts, whose stamps do not count;
    `digests.yml` refuses anything else.
    """
    answers = {}
    for host in groups["all"]:
        answer = hostvars.raw_get(host).get("site_stamps", {})
        if "stdout" in answer and not answer.get("unreachable") and not answer.get("failed"):
            answers[host] = str(answer["stdout"])
    forced = groups["all"] if str(full).lower() == "true" else groups.get(str(full), ())
    return due.due(_roles(roles), digests, answers, groups, forced)


def site_plan(
    roles: Sequence[Mapping[str, Any]],
    groups: Groups,
    found: Mapping[str, Sequence[str]] | None,
    waves: Sequence[str | int],
) -> dict[str, dict[str, Any]]:
    """Return each role's hosts, one of each group in front, and the sizes of its waves.

    `found` is what `site_due` returned; without it every host of the role is due.
    """
    plan = {}
    for role in _roles(roles):
        hosts = list(due.hosts_of(role, groups) if found is None else found.get(role.name, ()))
        canaries = 0
        if CANARIES in waves:
            hosts, canaries = due.canaries_first(hosts, groups)
        sizes = [canaries or 1 if size == CANARIES else size for size in waves]
        plan[role.name] = {"hosts": hosts or "localhost,!localhost", "waves": sizes}
    return plan


def _roles(roles: Sequence[Mapping[str, Any]]) -> list[due.SiteRole]:
    return [
        due.SiteRole(
            name=str(role["name"]),
            groups=tuple(str(group) for group in role["groups"]),
            due_with=_role_and_group(role.get("due_with")),
            wanted=str(role.get("wanted", "")),
        )
        for role in roles
    ]


def _role_and_group(value: Mapping[str, str] | None) -> tuple[str, str] | None:
    return (str(value["role"]), str(value["group"])) if value else None


class FilterModule:
    """What Ansible looks for in this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"site_digests": site_digests, "site_due": site_due, "site_plan": site_plan}
