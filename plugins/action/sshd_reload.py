"""Load sshd's configuration on a host, which takes it back unless Ansible logs in anew."""

from __future__ import annotations

import shlex
import time
from typing import Any

from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

UNIT = "sshd-reload-undo"
RETRY_S = 1.0
ARGUMENTS: dict[str, dict[str, Any]] = {
    "undo": {"type": "str", "required": True},
    "undo_after_s": {"type": "int", "required": True},
    "fail_msg": {"type": "str", "required": True},
}


class ActionModule(ActionBase):  # type: ignore[misc] # Ansible has no types
    """Arm the timer, reload, log in, disarm: one task, as the host's timer runs meanwhile.

    Each of several tasks would be done on all hosts before the next one: with a hundred hosts and
    a few forks the first timer is over before its host is logged in to.

    Arguments:
        undo: shell command that puts the former configuration back.
        undo_after_s: seconds after which the host runs it and reloads; the login has half of it.
        fail_msg: what to say where nobody can log in.
    """

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return that the host changed; AnsibleActionFail if it did not take it."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, given = self.validate_argument_spec(ARGUMENTS)
        after_s = given["undo_after_s"]
        undo = shlex.quote(f"{given['undo']} && systemctl reload ssh")
        self._do("sshd -t")
        self._do(f"systemd-run --collect --unit={UNIT} --on-active={after_s} /bin/sh -c {undo}")
        self._do("systemctl reload ssh")
        if why := self._login_fails(after_s / 2):
            raise AnsibleActionFail(f"{given['fail_msg']} ({why})")
        self._do(f"systemctl stop {UNIT}.timer")
        return result | {"changed": True}

    def _do(self, command: str) -> None:
        done = self._low_level_execute_command(command)
        if done["rc"] != 0:
            said = f"{done['stdout']}{done['stderr']}".strip()
            raise AnsibleActionFail(f"{command}: {said or done['rc']}")

    def _login_fails(self, within_s: float) -> str:
        """Return why no new connection can be made in time; nothing if one can."""
        deadline = time.monotonic() + within_s
        while True:
            try:
                self._connection.reset()  # the one there is was let in by the former configuration
                if (done := self._low_level_execute_command("true"))["rc"] == 0:
                    return ""
                why = f"{done['stdout']}{done['stderr']}".strip()
            except AnsibleConnectionFailure as error:
                why = str(error).strip()
            if time.monotonic() > deadline:
                return why or "no answer"
            time.sleep(RETRY_S)
