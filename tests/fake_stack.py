"""A stack of Pulumi's: its configuration as the engine has it, and what it was asked to do."""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

INSTANCE = "aws:ec2/instance:Instance"
STEPS: tuple[tuple[str, str, str, list[str]], ...] = (
    ("same", "aws:ec2/vpc:Vpc", "vpc", []),
    ("update", "aws:scheduler/schedule:Schedule", "stop", ["startDate"]),
    ("delete-replaced", INSTANCE, "mg01", []),
    ("replace", INSTANCE, "mg01", ["launchTemplate"]),
    ("create-replacement", INSTANCE, "mg01", ["launchTemplate"]),
    ("create", INSTANCE, "a-cn0002", []),
    ("create", "fireflyer:replica:Host", "a-cn0002", []),
)
"""Of a preview: as the engine tells them."""


def configuration(file: Path) -> dict[str, str]:
    """Return a stack's file as the engine reads it: text as it is, whatever else as JSON.

    A secret's value is `opened`.
    """
    config = (yaml.safe_load(file.read_text()) or {}).get("config") or {}
    return {key: _text(value) for key, value in config.items()}


def _text(value: object) -> str:
    if isinstance(value, dict) and set(value) == {"secure"}:
        return "opened"
    return value if isinstance(value, str) else json.dumps(value)


class FakeStack:
    """As much of `infra.stack.EngineStack` as is used; it keeps what it was told."""

    def __init__(
        self,
        file: Path,
        fail: str = "",
        error: BaseException | None = None,
        more: Mapping[str, str] | None = None,
    ) -> None:
        self.file, self.fail, self.error = file, fail, error
        self.more = more or {}
        """Values that are not in the file, of an environment for instance."""
        self.calls: list[str] = []
        self.written: dict[str, str] = {}
        self.checked: list[str] = []

    def config(self) -> Mapping[str, str]:
        return {**self.more, **configuration(self.file)}

    def set(self, key: str, value: str) -> None:
        self.written[key] = value

    def _do(self, verb: str) -> None:
        self.calls.append(verb)
        if verb == self.fail:
            raise self.error or RuntimeError(f"{verb}: InsufficientInstanceCapacity")

    def up(self, checked: str, on_output: Callable[[str], object]) -> Mapping[str, Any]:
        self.checked.append(checked)
        self._do("up")
        return {"inventory": {"hosts": {"mg01": {}}}}

    def preview(self, checked: str, on_event: Callable[[Any], object]) -> None:
        self.checked.append(checked)
        self._do("preview")
        for op, kind, name, why in STEPS:
            step = types.SimpleNamespace(
                op=op, type=kind, urn=f"urn:pulumi:x::y::{kind}::{name}", keys=why, diffs=why
            )
            told = types.SimpleNamespace(metadata=step)
            on_event(types.SimpleNamespace(resource_pre_event=told))
        on_event(types.SimpleNamespace(resource_pre_event=None))

    def refresh(self, on_output: Callable[[str], object]) -> None:
        self._do("refresh")

    def destroy(self, on_output: Callable[[str], object]) -> None:
        self._do("destroy")

    def cancel(self) -> None:
        self._do("cancel")
