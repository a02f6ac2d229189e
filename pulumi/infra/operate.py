"""Plan, raise and remove a replica: `python -m infra.operate plan|up|down STACK`.

Nothing is made before every check has passed. The program is `pulumi/__main__.py`; Pulumi's
Automation API runs it, and needs Pulumi's own engine, which this never downloads.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from fireflyer.design.replica import plan_replica
from fireflyer.errors import IntentError, OperatingError
from fireflyer.load.replica import PROJECT, load_replica
from fireflyer.model.provider_facts import ProviderFacts, RunningMachine
from fireflyer.model.replica import UTC_FORMAT
from fireflyer.model.replica_plan import ReplicaPlan
from fireflyer.paths import REPOSITORY
from fireflyer.render.replica import as_text, running_as_text
from fireflyer.verify.replica import checks_as_text, preflight
from infra.interrupt import interruptible
from infra.preview import as_text as changes_as_text
from infra.preview import changes

OK, FAILED, REFUSED = 0, 1, 2
PROGRAM = REPOSITORY / "pulumi"
KEPT = REPOSITORY / ".replica"
"""State and inventories. `make clean` leaves it alone: who loses the state pays on."""
ENGINE = "3.272"
"""The SDK's version in pulumi/requirements.txt; an engine of another may not know its calls."""

INTERRUPTED = 130
"""Exit code after Ctrl-C or a request to end, as shells have it."""

Ask = Callable[[ReplicaPlan], ProviderFacts]
Running = Callable[[ReplicaPlan], "tuple[RunningMachine, ...]"]


class Stack(Protocol):
    """As much of `pulumi.automation.Stack` as is used."""

    def set_config(self, key: str, value: Any) -> object: ...
    def up(self, *, on_output: Callable[[str], object]) -> Any: ...
    def preview(
        self, *, on_output: Callable[[str], object], on_event: Callable[[Any], object]
    ) -> Any: ...
    def refresh(self, *, on_output: Callable[[str], object], **more: Any) -> object: ...
    def destroy(self, *, on_output: Callable[[str], object]) -> object: ...
    def cancel(self) -> object: ...


Open = Callable[[str], Stack]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; return 0, 1 if the provider failed, 2 if refused, 130 if interrupted."""
    options = _parser().parse_args(arguments)
    try:
        return run(
            options.verb, options.stack, _ask, _open, running=_running, unlock=options.unlock
        )
    except IntentError as error:
        for problem in error.problems:
            _say(f"error: {problem}")
        _say(f"{len(error.problems)} problem(s); nothing was created")
    except OperatingError as error:
        _say(f"error: {error}")
    return REFUSED


def run(
    verb: str,
    name: str,
    ask: Ask,
    open_stack: Open,
    *,
    running: Running | None = None,
    unlock: bool = False,
) -> int:
    """Plan, raise or remove the replica of a stack's file."""
    if verb == "down":
        return down(name, open_stack, unlock=unlock)
    plan = plan_replica(load_replica(stack_file(name)))
    print(as_text(plan))
    checks = preflight(plan, ask(plan))
    print(checks_as_text(checks))
    problems = [check.problem for check in checks if check.problem is not None]
    if verb == "up":
        # One that is over is set anew; whatever else is wrong keeps the replica from being made.
        problems = [problem for problem in problems if problem.key != "expires"]
    if problems:
        raise IntentError(problems)
    return up(plan, open_stack, running or _running) if verb == "up" else preview(plan, open_stack)


def preview(plan: ReplicaPlan, open_stack: Open) -> int:
    """Say what `up` would change of a replica that was raised before, replacements marked."""
    if plan.expires is None:
        print("changes: none to show; the replica was never raised, all of it would be made")
        return OK
    try:
        stack = open_stack(plan.name)
    except OperatingError as error:
        print(f"changes: not known: {error}")
        return OK
    events: list[Any] = []
    try:
        stack.preview(on_output=lambda line: None, on_event=events.append)
    except Exception as error:
        _say(f"error: no preview: {_reason(error)}")
        return FAILED
    print(changes_as_text(changes(events)))
    return OK


def up(plan: ReplicaPlan, open_stack: Open, running: Running) -> int:
    """Raise a replica whose checks passed, or make what it lacks; write down its inventory.

    Whoever is left with a part of it is told what runs, what that costs, and when it ends.
    """
    stack = open_stack(plan.name)
    expires = datetime.now(UTC) + timedelta(hours=plan.intent.ttl_hours)
    stack.set_config(f"{PROJECT}:expires", _plain(f"{expires:{UTC_FORMAT}}"))
    try:
        with interruptible():
            # What was lost since is in the state: without a look it would never be made again.
            stack.refresh(on_output=_tell, clear_pending_creates=True)
            result = stack.up(on_output=_tell)
    except (Exception, KeyboardInterrupt) as error:
        interrupted = isinstance(error, KeyboardInterrupt)
        _say("interrupted" if interrupted else f"error: {_reason(error)}")
        _say(_what_runs(plan, expires, running))
        return INTERRUPTED if interrupted else FAILED
    file = write_inventory(plan.name, result.outputs["inventory"].value)
    print(f"the replica stands until {expires:%Y-%m-%d %H:%M} UTC; its inventory: {file}")
    print(f"next: FIREFLYER_REPLICA={plan.name} .venv/bin/ansible-playbook -i inventory/cloud"
          " playbooks/site.yml")  # fmt: skip
    return OK


def _what_runs(plan: ReplicaPlan, expires: datetime, running: Running) -> str:
    """Return what a run that was cut short leaves, as the provider has it."""
    try:
        said = running_as_text(plan, running(plan))
    except (OperatingError, KeyboardInterrupt) as error:
        said = (
            f"what runs is not known: {_reason(error)}\nat most all of it, which costs"
            f" {plan.usd_per_hour:,.2f} $/h"
        )
    return (
        f"{said}\nits end, if machines run, is there: {expires:%Y-%m-%d %H:%M} UTC at the latest;"
        f" disks and addresses cost until it is removed: make replica-down STACK={plan.name}\n"
        f"to go on with it: make replica-up STACK={plan.name}"
    )


def down(name: str, open_stack: Open, *, unlock: bool = False) -> int:
    """Remove whatever a stack has, also what a failed or interrupted `up` left."""
    stack_file(name)
    stack = open_stack(name)
    try:
        if unlock:
            stack.cancel()
        with interruptible():
            # What was being made when `up` was cut off may or may not be there: ask.
            stack.refresh(on_output=_tell, clear_pending_creates=True)
            stack.destroy(on_output=_tell)
    except (Exception, KeyboardInterrupt) as error:
        interrupted = isinstance(error, KeyboardInterrupt)
        _say("interrupted" if interrupted else f"error: {_reason(error)}")
        _say(
            "something is left and costs money; run this again. If another run holds the lock and"
            f" none is under way: make replica-down STACK={name} UNLOCK=1"
        )
        return INTERRUPTED if interrupted else FAILED
    shutil.rmtree(KEPT / "stacks" / name, ignore_errors=True)
    print(f"replica {name} is gone; its (empty) state is kept")
    return OK


def write_inventory(name: str, inventory: object) -> Path:
    """Write what the stack exported where the inventory plugin finds it."""
    file = KEPT / "stacks" / name / "inventory.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(inventory, indent=1) + "\n")
    return file.relative_to(REPOSITORY)


def stack_file(name: str) -> Path:
    """Return a stack's file.

    Raises:
        OperatingError: there is none.
    """
    file = PROGRAM / f"Pulumi.{name}.yaml"
    if not file.is_file():
        known = sorted(path.stem.removeprefix("Pulumi.") for path in PROGRAM.glob("Pulumi.*.yaml"))
        raise OperatingError(
            f"stack {name!r} has no {file.relative_to(REPOSITORY)}; copy one of"
            f" {', '.join(known)} and change it"
        )
    return file


def _ask(plan: ReplicaPlan) -> ProviderFacts:
    provider = importlib.import_module(f"infra.{plan.intent.provider}.ask")
    facts: ProviderFacts = provider.ask(plan)
    return facts


def _running(plan: ReplicaPlan) -> tuple[RunningMachine, ...]:
    provider = importlib.import_module(f"infra.{plan.intent.provider}.running")
    found: tuple[RunningMachine, ...] = provider.running(plan)
    return found


def _open(name: str) -> Stack:
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
    state = KEPT / "state"
    backend = os.environ.get("PULUMI_BACKEND_URL")
    if backend is None:
        state.mkdir(parents=True, exist_ok=True)
        backend = state.as_uri()
    stack: Stack = automation.create_or_select_stack(
        stack_name=name,
        work_dir=str(PROGRAM),
        opts=automation.LocalWorkspaceOptions(
            env_vars={
                "PULUMI_BACKEND_URL": backend,
                "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
                "PULUMI_SKIP_UPDATE_CHECK": "true",
            }
        ),
    )
    return stack


def _plain(value: str) -> object:
    from pulumi import automation

    return automation.ConfigValue(value=value)


def _reason(error: BaseException) -> str:
    return str(error).strip() or type(error).__name__


def _tell(line: str) -> None:
    print(line.rstrip("\n"), flush=True)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m infra.operate", description=__doc__)
    parser.add_argument("verb", choices=["plan", "up", "down"])
    parser.add_argument("stack", help="of pulumi/Pulumi.<stack>.yaml")
    parser.add_argument("--unlock", action="store_true", help="down: break a lock that was left")
    return parser


if __name__ == "__main__":
    sys.exit(main())
