"""Look for secrets in what a role's tasks tell Ansible, which prints it with -v or on failure."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: secrets_shown
type: aggregate
short_description: Which tasks of roles show a secret
description: >-
    Adds the name of each task whose result matches the regular expression in the variable SECRETS
    to the file that the variable SECRETS_SHOWN names. What no_log hides is not there.
"""


class CallbackModule(CallbackBase):  # type: ignore[misc] # Ansible has no types
    """Read results of roles' tasks; a scenario's own may show what they made for it."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "secrets_shown"

    def __init__(self) -> None:
        super().__init__()
        self._secret = re.compile(os.environ.get("SECRETS") or r"(?!)")
        self._file = Path(os.environ["SECRETS_SHOWN"])
        self._file.touch()  # who finds none knows that nobody looked

    def v2_runner_on_ok(self, result: Any) -> None:
        self._read(result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        self._read(result)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        self._read(result)

    def v2_runner_on_skipped(self, result: Any) -> None:
        self._read(result)

    def _read(self, result: Any) -> None:
        if "/molecule/" in (result.task.get_path() or "").partition("/roles/")[2]:
            return
        if any(self._secret.search(text) for text in _strings(result.result)):
            with self._file.open("a") as shown:
                shown.write(f"{result.task.get_path()} {result.task.get_name()}\n")


def _strings(value: Any) -> Iterator[str]:
    """Yield all that is printed of a result."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)
    else:
        yield str(value)
