"""Tags, so that each resource has an owner and an end; names, so that each replica has its own."""

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


def named(plan: ReplicaPlan, name: str) -> str:
    """Return a resource's name in the stack, where another replica may stand too.

    It begins with the replica's: a URN holds the types of a resource's components, not their names.
    """
    return f"{plan.name}-{name}"


def identity(plan: ReplicaPlan) -> str:
    """Return what tells one replica from another in one account.

    Two replicas of one site have two names; so have two sites' replicas of one name.
    """
    return f"{plan.site}-{plan.name}"
