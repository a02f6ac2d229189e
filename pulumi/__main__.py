"""A replica of a site: `pulumi preview` and `pulumi up` run this, and so does `make replica-up`."""

from __future__ import annotations

import sys
from pathlib import Path

import pulumi

HERE = Path(__file__).parent
# An environment that `pulumi install` made has what this needs, but not the blueprint itself.
sys.path.append(str(HERE.parent / "src"))

from fireflyer.errors import IntentError, OperatingError  # noqa: E402 - after the path
from fireflyer.load.replica import PROJECT, configured_replica  # noqa: E402
from infra.checks import checked, refuse_unless_in_order  # noqa: E402
from infra.replica import Replica, ReplicaArgs, planned  # noqa: E402


def main() -> None:
    """Check the stack's plan, declare every resource of it, and export its inventory."""
    config, stack = pulumi.Config(), pulumi.get_stack()
    keys = ("replica", "expires", "alarm_email")
    values = {f"{PROJECT}:{key}": value for key in keys if (value := config.get(key)) is not None}
    try:
        args = ReplicaArgs(
            replica=configured_replica(stack, values, HERE / f"Pulumi.{stack}.yaml"),
            # A secret: its value is encrypted in the stack's file and in its state.
            mail=config.get_secret("alarm_email"),
        )
        if not checked(stack):
            refuse_unless_in_order(planned(stack, args))
        replica = Replica(stack, args)
    except (IntentError, OperatingError) as error:
        raise pulumi.RunError(f"the replica cannot be built:\n{error}") from None
    pulumi.export("inventory", replica.inventory)


main()
