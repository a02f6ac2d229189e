"""Whether the caller may make each kind of resource of a replica: IAM's simulation is asked.

It knows the policies of the caller and its permissions boundary. What an organisation denies, and
what a session was narrowed to, it does not always know: AWS, "IAM policy simulator".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from fireflyer.model.provider_facts import Permissions
from fireflyer.model.replica_plan import ReplicaPlan
from infra.aws.rights import PASSED_TO, PREFLIGHT, RIGHTS, kinds
from infra.tags import REPLICA, identity

ANYWHERE = "preflight, or a read of any resource"
MOST_ACTIONS = 50
"""That one question names."""


def permissions(plan: ReplicaPlan, who: str, endpoint: str | None = None) -> Permissions:
    """Return what the caller `who`, an ARN, may not do that a plan takes, or why nobody knows."""
    account, kind = who.split(":")[4], who.split(":")[5].partition("/")[0]
    if kind == "root":
        return Permissions(who=who, unchecked="the simulation takes no account's root; it may all")
    if kind not in ("user", "role", "assumed-role"):
        return Permissions(who=who, unchecked=f"the simulation takes no {kind}")
    try:
        iam = boto3.client("iam", region_name=plan.intent.region, endpoint_url=endpoint)
        source = _role(iam, who) if kind == "assumed-role" else who
        missing: dict[str, tuple[str, ...]] = {}
        for place, actions, arn in _questions(plan, account):
            denied = tuple(_denied(iam, plan, source, actions, arn))
            if denied:
                missing[place] = (*missing.get(place, ()), *denied)
    except (BotoCoreError, ClientError) as error:
        return Permissions(who=who, unchecked=f"the simulation was refused: {error}")
    return Permissions(who=who, missing=missing)


def _role(iam: Any, who: str) -> str:
    """Return the role of a session, with the path that the session's ARN leaves out."""
    name = who.split("/")[1]
    try:
        arn: str = iam.get_role(RoleName=name)["Role"]["Arn"]
    except ClientError:  # it may not look; without a path the name is enough
        arn = f"arn:aws:iam::{who.split(':')[4]}:role/{name}"
    return arn


def _questions(plan: ReplicaPlan, account: str) -> Iterator[tuple[str, list[str], str]]:
    """Yield places, the actions they need, and one resource to do them with."""
    anywhere = set(PREFLIGHT) - {"pricing:GetProducts"}
    for kind in sorted(kinds(plan)):
        rights = RIGHTS[kind]
        anywhere |= set(rights.anywhere)
        own = {"region": plan.intent.region, "account": account, "own": identity(plan)}
        actions = sorted({*rights.makes, *rights.changes})
        if actions:
            yield kind, actions, f"arn:aws:{rights.arn.format(**own)}"
    reads = sorted(anywhere)
    for start in range(0, len(reads), MOST_ACTIONS):
        yield ANYWHERE, reads[start : start + MOST_ACTIONS], "*"


def _denied(
    iam: Any, plan: ReplicaPlan, source: str, actions: list[str], arn: str
) -> Iterator[str]:
    own = identity(plan)
    told = {
        f"aws:RequestTag/{REPLICA}": own,
        f"aws:ResourceTag/{REPLICA}": own,
        "ec2:CreateAction": "RunInstances",
        "iam:PassedToService": PASSED_TO[0],
        "aws:RequestedRegion": plan.intent.region,
    }
    pages = iam.get_paginator("simulate_principal_policy").paginate(
        PolicySourceArn=source,
        ActionNames=actions,
        ResourceArns=[arn],
        ContextEntries=[
            {"ContextKeyName": key, "ContextKeyValues": [value], "ContextKeyType": "string"}
            for key, value in told.items()
        ],
    )
    for page in pages:
        for result in page["EvaluationResults"]:
            if result["EvalDecision"] != "allowed":
                yield result["EvalActionName"]
