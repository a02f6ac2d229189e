"""The automatic end: at its expiry the replica's instances are stopped, whoever forgot it.

An instance on demand is stopped and keeps its disk. One that was bought as spot cannot be, and one
in a capacity block has none to come back to; they are terminated.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import pulumi_aws as aws
from pulumi import ComponentResource, Output, ResourceOptions

from fireflyer.model.replica_plan import ReplicaPlan
from infra.aws.security import trust
from infra.tags import REPLICA, identity, tags

CALLS = {"stop": "stopInstances", "terminate": "terminateInstances"}


class Stop(ComponentResource):
    """A schedule for each way to end, and a role that may do no more than that."""

    def __init__(
        self, plan: ReplicaPlan, ids: Mapping[str, Output[str]], opts: ResourceOptions
    ) -> None:
        """Declare the end of a plan's replica."""
        super().__init__("fireflyer:replica:Stop", "stop", None, opts)
        child = ResourceOptions(parent=self)
        ends: dict[str, list[Output[str]]] = {}
        markets = {host.name: host.market for host in plan.hosts}
        for name, instance in ids.items():
            way = "stop" if markets.get(name, "on-demand") == "on-demand" else "terminate"
            ends.setdefault(way, []).append(instance)
        role = aws.iam.Role(
            "stop",
            name=f"{identity(plan)}-stop",
            assume_role_policy=trust("scheduler.amazonaws.com"),
            tags=tags(plan, "stop"),
            opts=child,
        )
        aws.iam.RolePolicy("stop", role=role.name, policy=_may_end(plan), opts=child)
        assert plan.expires is not None
        for way, instances in ends.items():
            aws.scheduler.Schedule(
                way,
                name=f"{identity(plan)}-{way}",
                description=f"End of replica {plan.name} of {plan.site}",
                schedule_expression=f"at({plan.expires.removesuffix('Z')})",
                schedule_expression_timezone="UTC",
                flexible_time_window={"mode": "OFF"},
                target={
                    "arn": f"arn:aws:scheduler:::aws-sdk:ec2:{CALLS[way]}",
                    "role_arn": role.arn,
                    "input": Output.all(*instances).apply(
                        lambda found: json.dumps({"InstanceIds": list(found)})
                    ),
                },
                opts=child,
            )
        self.register_outputs({})


def _may_end(plan: ReplicaPlan) -> str:
    return json.dumps(
        {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Effect": "Allow",
                    "Action": ["ec2:StopInstances", "ec2:TerminateInstances"],
                    "Resource": "arn:aws:ec2:*:*:instance/*",
                    "Condition": {"StringEquals": {f"aws:ResourceTag/{REPLICA}": identity(plan)}},
                }
            ],
        }
    )
