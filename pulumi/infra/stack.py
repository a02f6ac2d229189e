"""A stack of Pulumi's, by its Automation API and its engine, which this never downloads."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from fireflyer.errors import OperatingError
from fireflyer.paths import REPOSITORY

if TYPE_CHECKING:
    from pulumi import automation

PROGRAM = REPOSITORY / "pulumi"
KEPT = REPOSITORY / ".replica"
"""State and inventories. `make clean` leaves it alone: who loses the state pays on."""
BACKEND = "file://../.replica/state"
"""Where the state is, as pulumi/Pulumi.yaml has it, from that folder."""
ENGINE = "3.272"
"""The SDK's version in pulumi/requirements.txt; an engine of another may not know its calls."""
CHECKED = "FIREFLYER_REPLICA_CHECKED"
"""Environment variable of the program: the replica whose checks have passed a moment ago."""
Told = Callable[[str], object]


class Stack(Protocol):
    """A stack, with the configuration that its program sees."""

    def config(self) -> Mapping[str, str]: ...
    def set(self, key: str, value: str) -> None: ...
    def up(self, checked: str, on_output: Told) -> Mapping[str, Any]: ...
    def preview(self, checked: str, on_event: Callable[[Any], object]) -> None: ...
    def refresh(self, on_output: Told) -> None: ...
    def destroy(self, on_output: Told) -> None: ...
    def cancel(self) -> None: ...


Open = Callable[[str], Stack]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineStack:
    """A stack that Pulumi's engine has. Its methods raise what the engine refuses."""

    name: str
    automation: automation.Stack
    environment: Mapping[str, str]
    config_file: str | None
    """In place of Pulumi.<stack>.yaml."""

    def config(self) -> Mapping[str, str]:
        """Return every value: of the stack's file, of environments, of the project; in the clear.

        Raises:
            OperatingError: the engine cannot tell.
        """
        found = json.loads(self._run("config", "--json", "--show-secrets"))
        return {key: one["value"] for key, one in found.items() if "value" in one}

    def set(self, key: str, value: str) -> None:
        """Write a value into the stack's file."""
        self._run("config", "set", "--plaintext", key, "--", value)

    def up(self, checked: str, on_output: Told) -> Mapping[str, Any]:
        """Make what is missing of the replica whose checks passed; return what is exported."""
        self._passed(checked)
        done = self.automation.up(on_output=on_output, config_file=self.config_file)
        return {key: output.value for key, output in done.outputs.items()}

    def preview(self, checked: str, on_event: Callable[[Any], object]) -> None:
        """Have the engine say what it would do."""
        self._passed(checked)
        self.automation.preview(
            on_output=lambda line: None, on_event=on_event, config_file=self.config_file
        )

    def refresh(self, on_output: Told) -> None:
        """Bring the state to what the provider has."""
        self.automation.refresh(
            on_output=on_output, clear_pending_creates=True, config_file=self.config_file
        )

    def destroy(self, on_output: Told) -> None:
        """Remove all that the state has."""
        self.automation.destroy(on_output=on_output, config_file=self.config_file)

    def cancel(self) -> None:
        """Break the lock."""
        self.automation.cancel()

    def _passed(self, name: str) -> None:
        """Tell the program that the checks were made, so that it does not make them again."""
        workspace = self.automation.workspace
        workspace.env_vars = {**self.environment, CHECKED: name}

    def _run(self, *arguments: str) -> str:
        file = ["--config-file", self.config_file] if self.config_file else []
        # Options end where a value begins.
        end = arguments.index("--") if "--" in arguments else len(arguments)
        options = ["--stack", self.name, "--non-interactive", *file]
        done = subprocess.run(  # noqa: S603 - the engine, on PATH
            ["pulumi", *arguments[:end], *options, *arguments[end:]],  # noqa: S607
            cwd=PROGRAM,
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip()
            raise OperatingError(f"pulumi {' '.join(arguments[:end])}: {said}")
        return done.stdout


def open_stack(name: str, config_file: str | None = None) -> EngineStack:
    """Open or make the stack, with its state where PULUMI_BACKEND_URL says, or in .replica/.

    Raises:
        OperatingError: there is no engine, or no passphrase for the secrets.
    """
    from pulumi import automation

    if shutil.which("pulumi") is None:
        raise OperatingError(
            f"Pulumi's engine is not on PATH; install version {ENGINE} or later of the same major"
            " version and the provider's plugin (docs/replica.md), nothing here downloads them"
        )
    given = ("PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE")
    if not any(os.environ.get(name) for name in given):
        raise OperatingError(
            "no passphrase for the stack's secrets; set PULUMI_CONFIG_PASSPHRASE_FILE to a file"
            " that only you can read"
        )
    backend = os.environ.get("PULUMI_BACKEND_URL")
    if backend is None:
        state = KEPT / "state"
        state.mkdir(parents=True, exist_ok=True)
        backend = state.as_uri()
    environment = {
        "PULUMI_BACKEND_URL": backend,
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
    }
    found = automation.create_or_select_stack(
        stack_name=name,
        work_dir=str(PROGRAM),
        opts=automation.LocalWorkspaceOptions(env_vars=environment),
    )
    return EngineStack(
        name=name,
        automation=found,
        environment=environment,
        config_file=str(Path(config_file).resolve()) if config_file else None,
    )
