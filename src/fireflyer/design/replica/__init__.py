"""From a replica's intent to its plan."""

from fireflyer.design.replica.plan import plan_replica

__all__ = ["plan_replica"]
