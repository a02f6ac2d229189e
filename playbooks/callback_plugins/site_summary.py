"""Callback `site_summary`: how a run over many hosts ended, in a few lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible import context
from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: site_summary
type: aggregate
short_description: How a run over many hosts ended
description:
  - Says how many hosts were current, changed, failed and unreachable, on how many a role is still
    due since the run ended before, and what went wrong where, with hosts that had the same trouble
    named together.
"""
NO_WORDS = "non-zero return code"
"""What Ansible says of a command that failed; the command may say more."""
STAMPED = "Check the host and stamp it"
"""The task that ends a role on a host; `site_role` of its play says which."""
SHOWN = 8
"""Hosts of one trouble that are named."""


class CallbackModule(CallbackBase):  # type: ignore[misc] # Ansible has no types
    """Collects the troubles of a run."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "site_summary"

    def __init__(self) -> None:
        """Begin without a trouble."""
        super().__init__()
        self._troubles: dict[tuple[str, str], dict[str, None]] = {}
        self._due: dict[str, set[str]] = {}
        self._role = ""

    def v2_playbook_on_play_start(self, play: Any) -> None:
        """Remember which role the play applies."""
        self._role = str(play.get_vars().get("site_role", ""))

    def v2_runner_on_ok(self, result: Any) -> None:
        """Remember on which hosts a role is due, and that it was applied to one."""
        if found := (result.result.get("ansible_facts") or {}).get("site_due"):
            self._due = {str(role): {str(host) for host in found[role]} for role in found}
        if result.task.get_name() == STAMPED:
            self._due.get(self._role, set()).discard(result.host.get_name())

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """Remember a failure that nobody dealt with."""
        if not ignore_errors:
            self._keep(result)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """Remember a host that could not be reached."""
        self._keep(result)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """Print the summary."""
        hosts = sorted(set(stats.processed) - {"localhost"})
        if not hosts:
            return
        unreachable = {host for host in hosts if stats.dark.get(host)}
        failed = {host for host in hosts if stats.failures.get(host)} - unreachable
        late = set[str]() if context.CLIARGS.get("check") else set().union(*self._due.values())
        late = (late & set(hosts)) - unreachable - failed
        changed = {host for host in hosts if stats.changed.get(host)} - unreachable - failed - late
        current = len(hosts) - len(unreachable) - len(failed) - len(changed) - len(late)
        self._display.banner("SITE")
        self._display.display(
            f"{len(hosts)} hosts: {current} current, {len(changed)} changed, {len(failed)} failed,"
            f" {len(unreachable)} unreachable" + (f", {len(late)} still due" if late else "")
        )
        for (task, message), there in self._troubles.items():
            left = [host for host in there if host in failed | unreachable]
            if left:
                self._display.display(f"{_named(left)}: {task}: {message}", color="red")

    def _keep(self, result: Any) -> None:
        outcome: Mapping[str, Any] = result.result
        message = str(outcome.get("msg") or "no message")
        if message == NO_WORDS:
            message = f"{outcome.get('stdout', '')} {outcome.get('stderr', '')}"
        host = result.host.get_name()
        # The same trouble of two hosts differs by their names.
        lines = " ".join(message.replace(host, "HOST").split())
        self._troubles.setdefault((result.task.get_name(), lines[:300]), {})[host] = None


def _named(hosts: Iterable[str]) -> str:
    """Return the first hosts by name, and how many more there are.

    >>> _named(["a-cn0001", "a-cn0002"]), _named(f"n{i}" for i in range(10))
    ('a-cn0001, a-cn0002', 'n0, n1, n2, n3, n4, n5, n6, n7 and 2 more')
    """
    names = list(hosts)
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
