"""Tags: of every resource that takes them, so that each has an owner and an end."""

from __future__ import annotations

from fireflyer.model.replica_plan import ReplicaPlan

REPLICA = "fireflyer-replica"
"""The tag that holds a replica's own resources apart from any other."""


def tags(plan: ReplicaPlan, name: str) -> dict[str, str]:
    """Return the tags of one resource."""
    return {**lasting_tags(plan, name), "expires": plan.expires or ""}


def lasting_tags(plan: ReplicaPlan, name: str) -> dict[str, str]:
    """Return those that a later end leaves alone, for what a change would replace."""
    return {
        "Name": name,
        "fireflyer-site": plan.site,
        REPLICA: identity(plan),
        "owner": plan.intent.owner,
    }


def identity(plan: ReplicaPlan) -> str:
    """Return what tells one replica from another in one account.

    Two stacks of one site have two names; so have two sites' stacks of one name.
    """
    return f"{plan.site}-{plan.name}"
