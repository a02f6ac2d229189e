"""Jinja filters of `playbooks/`: what a role is made of, who is due, and in which waves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from ansible.errors import AnsibleFilterError

try:
    from fireflyer.stamps import due
    from fireflyer.stamps.digests import Digests, Groups, RawVariables
except ImportError as error:
    raise AnsibleFilterError(
        f"the fireflyer package is not beside this Ansible ({error}); run make setup and use"
        " .venv/bin/ansible-playbook"
    ) from error

ROLES = Path(__file__).resolve().parents[2] / "roles"
SITE = Path(__file__).resolve().parents[1] / "vars/site.yml"
CANARIES = "canaries"


def site_digests(hostvars: RawVariables, groups: Groups) -> dict[str, dict[str, str]]:
    """Return the digest of each role on each host that wants it, by role and host."""
    return due.digests(_roles(), hostvars, _plain(groups), ROLES)


def site_due(
    digests: Mapping[str, Mapping[str, str]],
    hostvars: RawVariables,
    groups: Groups,
    full: object = False,
) -> dict[str, list[str]]:
    """Return the hosts that each role is due on, from what each host answered in `site_stamps`.

    `full` is true for every host, or the name of a group of hosts, whose stamps do not count;
    `digests.yml` refuses anything else.
    """
    groups = _plain(groups)
    wanted = {str(role): {str(h): str(d) for h, d in of.items()} for role, of in digests.items()}
    answers = {}
    for host in groups["all"]:
        answer = hostvars.raw_get(host).get("site_stamps", {})
        if "stdout" in answer and not answer.get("unreachable") and not answer.get("failed"):
            answers[host] = str(answer["stdout"])
    forced = groups["all"] if str(full).lower() == "true" else groups.get(str(full), ())
    return due.due(_roles(), wanted, answers, groups, forced, Digests(hostvars, groups).value)


def site_layer(name: str, groups: Groups, hostvars: Any) -> dict[str, Any]:
    """Return a role's hosts, one of each group in front, its waves, and how many may fail.

    Where `site_due` found nothing yet, or Ansible only lists hosts and has no `hostvars`, every
    host of the role is due.
    """
    groups = _plain(groups)
    [role] = (role for role in _roles() if role.name == name)
    of_the_run = hostvars["localhost"] if hostvars else {}
    of_the_site = hostvars[groups["all"][0]] if hostvars and groups["all"] else {}
    found = of_the_run.get("site_due")
    if found is None:
        variables = Digests(hostvars, groups)
        hosts = [
            host
            for host in due.hosts_of(role, groups)
            if not hostvars or due.wants(role, host, variables)
        ]
    else:
        hosts = [str(host) for host in found.get(role.name, ())]
    waves = of_the_site.get("site_waves", _site()["site_waves_default"])
    waves = waves if isinstance(waves, list) else [waves]
    canaries = 0
    if CANARIES in waves:
        hosts, canaries = due.canaries_first(hosts, groups)
    return {
        "hosts": hosts or "localhost,!localhost",
        "waves": [canaries or 1 if size == CANARIES else size for size in waves],
        "max_fail": of_the_site.get("site_max_fail_percentage", _site()["site_max_fail_default"]),
    }


@cache
def _site() -> Mapping[str, Any]:
    """Return what `vars/site.yml` says.

    Ansible would read a `vars_files` anew for each task of each host.
    """
    found: Mapping[str, Any] = yaml.safe_load(SITE.read_text())
    return found


def _plain(groups: Groups) -> dict[str, list[str]]:
    """Return the groups as plain lists; Ansible's look for a template at each step through them."""
    return {str(name): [str(host) for host in hosts] for name, hosts in groups.items()}


def _roles() -> list[due.SiteRole]:
    return [
        due.SiteRole(
            name=str(role["name"]),
            groups=tuple(str(group) for group in role["groups"]),
            due_with=_role_and_group(role.get("due_with")),
            alike=str(role.get("alike", "")),
            wanted=str(role.get("wanted", "")),
        )
        for role in _site()["site_roles"]
    ]


def _role_and_group(value: Mapping[str, str] | None) -> tuple[str, str] | None:
    return (str(value["role"]), str(value["group"])) if value else None


class FilterModule:
    """What Ansible looks for in this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"site_digests": site_digests, "site_due": site_due, "site_layer": site_layer}
