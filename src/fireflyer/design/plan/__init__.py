"""What a site needs, in numbers: the report of `fireflyer plan`."""

from fireflyer.design.plan.figures import Plan, plan

__all__ = ["Plan", "plan"]
