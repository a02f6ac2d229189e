"""Plan, raise and remove a replica: `python -m infra.operate plan|rights|up|down STACK`.

Nothing is made before every check has passed. The program is `pulumi/__main__.py`, and the
configuration is the one that it sees: Pulumi's own.
"""

from __future__ import annotations

import argparse
import importlib
import json
import shutil
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from fireflyer.design.replica import plan_replica
from fireflyer.errors import IntentError, OperatingError
from fireflyer.load.replica import PROJECT, configured_replica, load_replica
from fireflyer.model.provider_facts import ProviderFacts, RunningMachine
from fireflyer.model.replica import UTC_FORMAT
from fireflyer.model.replica_plan import ReplicaPlan
from fireflyer.output import quiet_once_unread
from fireflyer.paths import REPOSITORY
from fireflyer.render.replica import as_text, running_as_text
from fireflyer.verify.replica import checks_as_text, preflight
from infra.interrupt import interruptible
from infra.preview import as_text as changes_as_text
from infra.preview import changes
from infra.stack import KEPT, PROGRAM, Open, Stack, open_stack

OK, FAILED, REFUSED = 0, 1, 2
INTERRUPTED = 130
"""Exit code after Ctrl-C or a request to end, as shells have it."""
READING = ("plan", "rights")
"""Verbs that may end quietly where nobody reads on: whoever makes machines is told of them."""

Ask = Callable[[ReplicaPlan], ProviderFacts]
Running = Callable[[ReplicaPlan], "tuple[RunningMachine, ...]"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; return 0, 1 if the provider failed, 2 if refused, 130 if interrupted."""
    options = _parser().parse_args(arguments)
    if options.verb in READING:
        return quiet_once_unread(lambda: _main(options))
    return _main(options)


def _main(options: argparse.Namespace) -> int:
    try:
        status = run(
            options.verb,
            options.stack,
            _ask,
            partial(open_stack, config_file=options.config_file),
            running=_running,
            unlock=options.unlock,
            config_file=options.config_file,
        )
        sys.stdout.flush()
        return status
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
    open_: Open,
    *,
    running: Running | None = None,
    unlock: bool = False,
    config_file: str | None = None,
) -> int:
    """Plan, raise or remove the replica of a stack, or print what that takes of rights."""
    file = Path(config_file) if config_file else stack_file(name)
    if verb == "down":
        return down(name, open_, unlock=unlock)
    stack, why = _opened(name, open_)
    if stack is None and verb == "up":
        raise OperatingError(why)
    configured = stack and configured_replica(name, stack.config(), file)
    plan = plan_replica(configured or load_replica(file))
    if verb == "rights":
        print(importlib.import_module(f"infra.{plan.intent.provider}.policy").as_text(plan))
        return OK
    print(as_text(plan))
    if stack is None:
        print(f"configuration: of {file.name} alone, as it stands: {why}")
    checks = preflight(plan, ask(plan))
    print(checks_as_text(checks))
    problems = [check.problem for check in checks if check.problem is not None]
    if verb == "up":
        # One that is over is set anew; whatever else is wrong keeps the replica from being made.
        problems = [problem for problem in problems if problem.key != "expires"]
    if problems:
        raise IntentError(problems)
    if verb == "up":
        assert stack is not None
        return up(plan, stack, running or _running)
    return preview(plan, stack, why)


def _opened(name: str, open_: Open) -> tuple[Stack | None, str]:
    """Return the stack, or None and why it cannot be opened."""
    try:
        return open_(name), ""
    except OperatingError as error:
        return None, str(error)


def preview(plan: ReplicaPlan, stack: Stack | None, why: str) -> int:
    """Say what `up` would change of a replica that was raised before, replacements marked."""
    if plan.expires is None:
        print("changes: none to show; the replica was never raised, all of it would be made")
        return OK
    if stack is None:
        print(f"changes: not known: {why}")
        return OK
    events: list[Any] = []
    try:
        stack.preview(plan.name, events.append)
    except Exception as error:
        _say(f"error: no preview: {_reason(error)}")
        return FAILED
    print(changes_as_text(changes(events)))
    return OK


def up(plan: ReplicaPlan, stack: Stack, running: Running) -> int:
    """Raise a replica whose checks passed, or make what it lacks; write down its inventory.

    Whoever is left with a part of it is told what runs, what that costs, and when it ends.
    """
    expires = datetime.now(UTC) + timedelta(hours=plan.intent.ttl_hours)
    stack.set(f"{PROJECT}:expires", f"{expires:{UTC_FORMAT}}")
    try:
        with interruptible():
            # What was lost since is in the state: without a look it would never be made again.
            stack.refresh(_tell)
            exported = stack.up(plan.name, _tell)
    except (Exception, KeyboardInterrupt) as error:
        interrupted = isinstance(error, KeyboardInterrupt)
        _say("interrupted" if interrupted else f"error: {_reason(error)}")
        _say(_what_runs(plan, expires, running))
        return INTERRUPTED if interrupted else FAILED
    file = write_inventory(plan.name, exported["inventory"])
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


def down(name: str, open_: Open, *, unlock: bool = False) -> int:
    """Remove whatever a stack has, also what a failed or interrupted `up` left."""
    stack = open_(name)
    try:
        if unlock:
            stack.cancel()
        with interruptible():
            # What was being made when `up` was cut off may or may not be there: ask.
            stack.refresh(_tell)
            stack.destroy(_tell)
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
    from infra.checks import ask

    return ask(plan)


def _running(plan: ReplicaPlan) -> tuple[RunningMachine, ...]:
    provider = importlib.import_module(f"infra.{plan.intent.provider}.running")
    found: tuple[RunningMachine, ...] = provider.running(plan)
    return found


def _reason(error: BaseException) -> str:
    return str(error).strip() or type(error).__name__


def _tell(line: str) -> None:
    print(line.rstrip("\n"), flush=True)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m infra.operate", description=__doc__)
    parser.add_argument("verb", choices=["plan", "rights", "up", "down"])
    parser.add_argument("stack", help="of pulumi/Pulumi.<stack>.yaml")
    parser.add_argument("--unlock", action="store_true", help="down: break a lock that was left")
    parser.add_argument("--config-file", help="in place of pulumi/Pulumi.<stack>.yaml")
    return parser


if __name__ == "__main__":
    sys.exit(main())
