"""A stack of the engine's: what the engine is asked, by its own command and its Automation API."""

from __future__ import annotations

import json
import os
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from fireflyer.errors import OperatingError
from infra.stack import EngineStack, open_stack


def test_without_an_engine_it_says_so_and_fetches_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    automation = types.ModuleType("pulumi.automation")
    fake = types.ModuleType("pulumi")
    fake.automation = automation  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pulumi", fake)
    with pytest.raises(OperatingError, match=r"engine is not on PATH; install version 3\.272"):
        open_stack("pair")


@pytest.mark.parametrize("config_file", [None, "/elsewhere/mine.yaml"])
def test_the_engine_is_asked_for_the_configuration_and_told_the_end(
    config_file: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program in place of the engine, which writes down what it is asked."""
    asked = tmp_path / "asked"
    engine = tmp_path / "pulumi"
    found = {
        "fireflyer-replica:replica": {"value": '{"of":"lab"}', "objectValue": {}, "secret": False},
        "fireflyer-replica:alarm_email": {"value": "a@example.org", "secret": True},
    }
    engine.write_text(
        f'#!/bin/sh\necho "$PULUMI_BACKEND_URL $*" >> {asked}\n'
        f"cat <<'END'\n{json.dumps(found)}\nEND\n"
    )
    engine.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    stack = EngineStack(
        name="pair",
        automation=None,
        environment={"PULUMI_BACKEND_URL": "file:///kept"},
        config_file=config_file,
    )
    assert stack.config() == {
        "fireflyer-replica:replica": '{"of":"lab"}',
        "fireflyer-replica:alarm_email": "a@example.org",
    }
    stack.set("fireflyer-replica:expires", "2030-01-31T18:00:00Z")
    file = f" --config-file {config_file}" if config_file else ""
    options = f"--stack pair --non-interactive{file}"
    assert asked.read_text().splitlines() == [
        f"file:///kept config --json --show-secrets {options}",
        f"file:///kept config set --plaintext fireflyer-replica:expires {options}"
        " -- 2030-01-31T18:00:00Z",
    ]
    engine.write_text("#!/bin/sh\necho 'error: incorrect passphrase' >&2\nexit 255\n")
    with pytest.raises(OperatingError, match="config --json --show-secrets: error: incorrect pass"):
        stack.config()


def test_the_engine_runs_with_the_file_that_was_named_and_what_was_pending_is_asked_for() -> None:
    """What was being made when a run was cut off may or may not be there."""
    called: list[tuple[str, dict[str, Any]]] = []
    workspace = types.SimpleNamespace(env_vars={})

    class Recorder:
        """As much of `pulumi.automation.Stack` as is used."""

        def __init__(self) -> None:
            self.workspace = workspace

        def __getattr__(self, verb: str) -> Any:
            def call(**more: Any) -> Any:
                called.append((verb, more))
                value = types.SimpleNamespace(value={"hosts": {}})
                return types.SimpleNamespace(outputs={"inventory": value})

            return call

    kept = {"PULUMI_BACKEND_URL": "file:///kept"}
    stack = EngineStack(name="pair", automation=Recorder(), environment=kept, config_file="/a.yaml")
    stack.refresh(print)
    assert workspace.env_vars == {}, "no check has passed"
    assert stack.up("pair", print) == {"inventory": {"hosts": {}}}
    assert workspace.env_vars == {**kept, "FIREFLYER_REPLICA_CHECKED": "pair"}
    stack.preview("other", print)
    assert workspace.env_vars["FIREFLYER_REPLICA_CHECKED"] == "other"
    stack.destroy(print)
    stack.cancel()
    assert [verb for verb, _ in called] == ["refresh", "up", "preview", "destroy", "cancel"]
    for verb, more in called:
        assert more.get("config_file") == (None if verb == "cancel" else "/a.yaml")
        assert more.get("clear_pending_creates", False) is (verb == "refresh")
