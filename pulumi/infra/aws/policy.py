"""The IAM policy of whoever raises, plans and removes one replica, from `rights.py`.

EC2's resources are scoped by the replica's tag: a request that makes one carries it, and what is
changed has it. The others are scoped by their names. What AWS scopes by neither is in the first
two statements. Of a VPC's default group, which has no tag when it is first changed, all groups of
the region are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from fireflyer.model.replica_plan import ReplicaPlan
from fireflyer.render.inventory import Json
from infra.aws.rights import (
    DEFAULT_GROUP,
    PASSED_TO,
    PREFLIGHT,
    QUESTIONS,
    RIGHTS,
    STARTED_WITH,
)
from infra.tags import REPLICA, identity

ROLE_TO_SERVICE = "iam:PassRole"


def policy(plan: ReplicaPlan) -> dict[str, Json]:
    """Return the policy of every replica with this name, site and region, whatever it consists of.

    So a change of the stack's file needs no other one. It fits the 6,144 characters that AWS
    takes of a managed policy, white space not counted.
    """
    region, own = plan.intent.region, identity(plan)
    ec2, tag = f"arn:aws:ec2:{region}:*:", {f"aws:RequestTag/{REPLICA}": own}
    makes = {action for rights in RIGHTS.values() for action in rights.makes}
    changes = {a for r in RIGHTS.values() for a in r.changes if a.startswith("ec2:")}
    anywhere = {action for rights in RIGHTS.values() for action in rights.anywhere}
    anywhere |= {action for asked in QUESTIONS.values() for action in asked} | set(PREFLIGHT)
    reads = {a for a in anywhere if a.startswith("ec2:Describe")}
    return {
        "Version": "2012-10-17",
        "Statement": [
            # Every one of them reads, and none can be scoped.
            _allow({"ec2:Describe*"}, "*"),
            _allow(anywhere - reads, "*"),
            _allow(makes, f"{ec2}*", {"StringEquals": tag}),
            # A tag is given to what is being made, and to no other's resource.
            _allow({"ec2:CreateTags"}, f"{ec2}*",
                   {"StringEquals": tag, "StringLike": {"ec2:CreateAction": "*"}}),
            # What is made inside of one's own resources names them too.
            _allow(makes | changes, f"{ec2}*",
                   {"StringEquals": {f"aws:ResourceTag/{REPLICA}": own}}),
            _allow(RIGHTS[DEFAULT_GROUP].changes, f"{ec2}security-group/*"),
            _allow({"ec2:RunInstances"}, [f"{ec2}{kind}/*" for kind in STARTED_WITH]),
            _allow(*_named(own, region)),
            _allow({ROLE_TO_SERVICE}, f"arn:aws:iam::*:role/{own}-*",
                   {"StringEquals": {"iam:PassedToService": list(PASSED_TO)}}),
        ],
    }  # fmt: skip


def as_text(plan: ReplicaPlan) -> str:
    """Return the policy as AWS takes it."""
    return json.dumps(policy(plan), indent=1)


def _named(own: str, region: str) -> tuple[set[str], list[str]]:
    """Return the actions of resources that have names, and the replica's names."""
    named = [rights for rights in RIGHTS.values() if "{own}" in rights.arn]
    starts = {rights.arn.partition("{own}")[0] for rights in named}
    return (
        {action for rights in named for action in rights.changes} - {ROLE_TO_SERVICE},
        sorted(f"arn:aws:{start.format(region=region, account='*')}{own}-*" for start in starts),
    )


def _allow(
    actions: Iterable[str], resource: str | list[str], condition: Json | None = None
) -> dict[str, Json]:
    found: dict[str, Json] = {
        "Effect": "Allow",
        "Action": sorted(actions),
        "Resource": resource,
    }
    return found if condition is None else {**found, "Condition": condition}
