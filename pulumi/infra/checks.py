"""The checks of a replica's plan, of whoever runs the program: nothing is made before all pass."""

from __future__ import annotations

import importlib
import os

import pulumi

from fireflyer.errors import IntentError
from fireflyer.model.provider_facts import ProviderFacts
from fireflyer.model.replica_plan import ReplicaPlan
from fireflyer.verify.replica import checks_as_text, preflight
from infra.stack import CHECKED


def ask(plan: ReplicaPlan) -> ProviderFacts:
    """Return what a plan's provider says about it.

    Raises:
        OperatingError: the provider cannot be asked.
    """
    provider = importlib.import_module(f"infra.{plan.intent.provider}.ask")
    facts: ProviderFacts = provider.ask(plan)
    return facts


def checked(name: str) -> bool:
    """Say whether `make replica-up` runs the program, and has made the checks."""
    return os.environ.get(CHECKED) == name


def refuse_unless_in_order(plan: ReplicaPlan) -> None:
    """Make the checks inside the program, for `pulumi up` and `pulumi preview` as such.

    Raises:
        IntentError: with what is wrong.
        OperatingError: the provider cannot be asked.
    """
    checks = preflight(plan, ask(plan))
    pulumi.log.info(checks_as_text(checks))
    for check in checks:
        if check.notice:
            pulumi.log.warn(f"{check.what}: {check.said}")
    if problems := [check.problem for check in checks if check.problem is not None]:
        raise IntentError(problems)
