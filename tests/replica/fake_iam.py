"""IAM's policy simulation, which moto has not: a policy is read as AWS's documents say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from botocore.exceptions import ClientError


def allows(
    policy: Mapping[str, Any], action: str, arn: str, context: Mapping[str, str] | None = None
) -> bool:
    """Say whether a statement of a policy allows an action; no statement here denies."""
    return any(_fits(one, action, arn, context or {}) for one in policy["Statement"])


def _fits(one: Mapping[str, Any], action: str, arn: str, context: Mapping[str, str]) -> bool:
    assert set(one) <= {"Sid", "Effect", "Action", "Resource", "Condition"}, one
    assert one["Effect"] == "Allow"
    resources = [one["Resource"]] if isinstance(one["Resource"], str) else one["Resource"]
    return (
        any(fnmatchcase(action.lower(), given.lower()) for given in one["Action"])
        and any(fnmatchcase(arn, given) for given in resources)
        and all(
            _holds(operator, wanted, context.get(key))
            for operator, keys in one.get("Condition", {}).items()
            for key, wanted in keys.items()
        )
    )


def _holds(operator: str, wanted: str | list[str], told: str | None) -> bool:
    values = [wanted] if isinstance(wanted, str) else wanted
    if told is None:
        return False
    if operator == "StringEquals":
        return told in values
    assert operator == "StringLike", operator
    return any(fnmatchcase(told, value) for value in values)


class FakeIam:
    """What is asked of IAM before a replica is raised, by a caller with one policy."""

    def __init__(self, policy: Mapping[str, Any], source: str, *, may_ask: bool = True) -> None:
        self.policy, self.source, self.may_ask = policy, source, may_ask

    def get_role(self, **asked: str) -> dict[str, Any]:
        if asked["RoleName"] != self.source.rpartition("/")[2]:
            raise ClientError({"Error": {"Code": "AccessDenied"}}, "GetRole")
        return {"Role": {"Arn": self.source}}

    def get_paginator(self, name: str) -> FakeIam:
        assert name == "simulate_principal_policy"
        return self

    def paginate(self, **asked: Any) -> Iterator[dict[str, Any]]:
        if not self.may_ask:
            raise ClientError({"Error": {"Code": "AccessDenied"}}, "SimulatePrincipalPolicy")
        assert asked["PolicySourceArn"] == self.source
        context = {
            one["ContextKeyName"]: one["ContextKeyValues"][0] for one in asked["ContextEntries"]
        }
        (arn,) = asked["ResourceArns"]
        assert len(asked["ActionNames"]) <= 50
        for action in asked["ActionNames"]:
            allowed = allows(self.policy, action, arn, context)
            decision = "allowed" if allowed else "implicitDeny"
            yield {"EvaluationResults": [{"EvalActionName": action, "EvalDecision": decision}]}
