"""Count what a playbook ran on hosts, and add it to the file that MODULE_RUNS names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: module_runs
type: aggregate
short_description: How many modules a playbook ran
description: Adds a line with the number of results to the file that the variable MODULE_RUNS names.
"""
ON_THE_CONTROLLER = {"assert", "debug", "fail", "include_role", "include_tasks", "meta", "set_fact"}
"""Actions that ask no host."""


class CallbackModule(CallbackBase):  # type: ignore[misc] # Ansible has no types
    """Count results; a loop is as many runs as it has items."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "module_runs"

    def __init__(self) -> None:
        super().__init__()
        self._runs = 0

    def v2_runner_on_ok(self, result: Any) -> None:
        self._count(result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        self._count(result)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        if file := os.environ.get("MODULE_RUNS"):
            with Path(file).open("a") as runs:
                runs.write(f"{self._runs}\n")

    def _count(self, result: Any) -> None:
        if result.task.action.rpartition(".")[2] not in ON_THE_CONTROLLER:
            results = result.result.get("results")
            items = results if isinstance(results, list) else [result.result]
            looped = all("ansible_loop_var" in item for item in items)
            self._runs += len(items) if looped else 1
