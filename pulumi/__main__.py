"""A replica of a site: `pulumi preview` and `pulumi up` run this, and so does `make replica-up`."""

from __future__ import annotations

from pathlib import Path

import pulumi

from fireflyer.design.replica import plan_replica
from fireflyer.errors import IntentError
from fireflyer.load.replica import load_replica
from infra.replica import Replica

HERE = Path(__file__).parent


def main() -> None:
    """Declare every resource of the stack's plan, and export its inventory."""
    try:
        plan = plan_replica(load_replica(HERE / f"Pulumi.{pulumi.get_stack()}.yaml"))
    except IntentError as error:
        raise pulumi.RunError(f"the replica cannot be built:\n{error}") from None
    # A secret: its value is encrypted in the stack's file and in its state.
    mail = pulumi.Config().get_secret("alarm_email")
    replica = Replica(plan, mail)
    pulumi.export("inventory", replica.inventory)


main()
