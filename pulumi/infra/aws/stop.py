"""The automatic end: from its expiry on, every hour, the replica's instances are ended.

It is made before the first instance and finds them by tag, so it ends also those of a run that
failed, and those that no state knows. An instance on demand is stopped and keeps its disk; the
others are terminated. A schedule starts a runbook of Systems Manager. What the schedule cannot
deliver, and the event of a runbook that failed, wait in one queue, and an alarm reports them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pulumi_aws as aws
from pulumi import ComponentResource, Output, ResourceOptions

from fireflyer.model.replica_plan import ReplicaPlan
from infra.aws.security import allowing, trust
from infra.parts import WatchPart
from infra.tags import REPLICA, identity, named, tags

SCRIPT = Path(__file__).parent / "end_instances.py"
EVERY = "rate(1 hours)"
RETRY_S = 3600
"""How long the schedule tries to deliver one start: until the next one."""
KEEP_S = 14 * 24 * 3600
"""How long the queue keeps what failed: the longest that AWS allows."""


class Stop(ComponentResource):
    """A schedule, a runbook, and for each a role that may do no more than its part."""

    identity: Output[str] | None = None

    def __init__(self, plan: ReplicaPlan, watch: WatchPart, opts: ResourceOptions) -> None:
        """Declare the end of a plan's replica."""
        super().__init__("fireflyer:replica:Stop", named(plan, "stop"), None, opts)
        self.plan, self.child = plan, ResourceOptions(parent=self)
        ends, may_end = self._role("stop", "ssm.amazonaws.com", _may_end(plan))
        runbook = aws.ssm.Document(
            named(plan, "stop"),
            name=f"{identity(plan)}-stop",
            document_type="Automation",
            document_format="JSON",
            content=ends.arn.apply(lambda role: json.dumps(_runbook(plan, role))),
            tags=tags(plan, "stop"),
            opts=self._after(may_end),
        )
        queue = self._queue(watch)
        known = Output.all(role=ends.arn, runbook=runbook.name, queue=queue.arn)
        starts, may_start = self._role(
            "schedule",
            "scheduler.amazonaws.com",
            known.apply(lambda found: _may_start(plan, **found)),
        )
        self._failures(runbook, queue)
        assert plan.expires is not None
        aws.scheduler.Schedule(
            named(plan, "stop"),
            name=f"{identity(plan)}-stop",
            description=f"End of replica {plan.name} of {plan.site}",
            schedule_expression=EVERY,
            schedule_expression_timezone="UTC",
            start_date=plan.expires,
            state="ENABLED",
            flexible_time_window={"mode": "OFF"},
            target={
                "arn": "arn:aws:scheduler:::aws-sdk:ssm:startAutomationExecution",
                "role_arn": starts.arn,
                "input": runbook.name.apply(lambda name: json.dumps({"DocumentName": name})),
                "dead_letter_config": {"arn": queue.arn},
                "retry_policy": {
                    "maximum_event_age_in_seconds": RETRY_S,
                    "maximum_retry_attempts": 185,
                },
            },
            opts=self._after(may_start, may_end),
        )
        self.register_outputs({})

    def _after(self, *needed: Any) -> ResourceOptions:
        return ResourceOptions(parent=self, depends_on=list(needed))

    def _role(
        self, name: str, service: str, policy: str | Output[str]
    ) -> tuple[aws.iam.Role, aws.iam.RolePolicy]:
        plan = self.plan
        role = aws.iam.Role(
            named(plan, name),
            name=f"{identity(plan)}-{name}",
            assume_role_policy=trust(service),
            tags=tags(plan, name),
            opts=self.child,
        )
        return role, aws.iam.RolePolicy(
            named(plan, name), role=role.name, policy=policy, opts=self.child
        )

    def _queue(self, watch: WatchPart) -> aws.sqs.Queue:
        """Keep what failed, and tell of it."""
        name = f"{identity(self.plan)}-stop-failed"
        queue = aws.sqs.Queue(
            named(self.plan, "stop-failed"),
            name=name,
            message_retention_seconds=KEEP_S,
            tags=tags(self.plan, "stop-failed"),
            opts=self.child,
        )
        aws.cloudwatch.MetricAlarm(
            named(self.plan, "stop-failed"),
            name=name,
            alarm_description="The replica's automatic end failed: instances may run on",
            namespace="AWS/SQS",
            metric_name="ApproximateNumberOfMessagesVisible",
            statistic="Maximum",
            comparison_operator="GreaterThanThreshold",
            threshold=0,
            period=60,
            evaluation_periods=1,
            treat_missing_data="notBreaching",
            dimensions={"QueueName": queue.name},
            alarm_actions=[watch.told],
            tags=tags(self.plan, "stop-failed"),
            opts=self.child,
        )
        return queue

    def _failures(self, runbook: aws.ssm.Document, queue: aws.sqs.Queue) -> None:
        """Send the event of a runbook that did not succeed to the queue."""
        rule = aws.cloudwatch.EventRule(
            named(self.plan, "stop-failed"),
            name=f"{identity(self.plan)}-stop-failed",
            description="The runbook of the replica's end did not succeed",
            event_pattern=runbook.name.apply(lambda name: json.dumps(_failed(name))),
            state="ENABLED",
            tags=tags(self.plan, "stop-failed"),
            opts=self.child,
        )
        both = Output.all(queue=queue.arn, rule=rule.arn)
        policy = aws.sqs.QueuePolicy(
            named(self.plan, "stop-failed"),
            queue_url=queue.url,
            policy=both.apply(lambda found: _may_send(**found)),
            opts=self.child,
        )
        aws.cloudwatch.EventTarget(
            named(self.plan, "stop-failed"), rule=rule.name, arn=queue.arn, opts=self._after(policy)
        )


def _runbook(plan: ReplicaPlan, role: str) -> dict[str, Any]:
    """Return the runbook: one step, that runs `end_instances.py` as it is."""
    return {
        "schemaVersion": "0.3",
        "description": f"End of replica {plan.name} of {plan.site}",
        "assumeRole": role,
        "mainSteps": [
            {
                "name": "end",
                "action": "aws:executeScript",
                "isEnd": True,
                "inputs": {
                    "Runtime": "python3.11",
                    "Handler": "end",
                    "InputPayload": {"Tag": REPLICA, "Replica": identity(plan)},
                    "Script": SCRIPT.read_text(),
                },
            }
        ],
    }


def _failed(runbook: str) -> dict[str, Any]:
    """Return the pattern of the event that a runbook did not succeed."""
    return {
        "source": ["aws.ssm"],
        "detail-type": ["EC2 Automation Execution Status-change Notification"],
        "detail": {"Definition": [runbook], "Status": ["Failed", "TimedOut", "Cancelled"]},
    }


def _may_end(plan: ReplicaPlan) -> str:
    return allowing(
        {"Action": ["ec2:DescribeInstances"], "Resource": "*"},
        {
            "Action": ["ec2:StopInstances", "ec2:TerminateInstances"],
            "Resource": "arn:aws:ec2:*:*:instance/*",
            "Condition": {"StringEquals": {f"aws:ResourceTag/{REPLICA}": identity(plan)}},
        },
    )


def _may_start(plan: ReplicaPlan, role: str, runbook: str, queue: str) -> str:
    where = f"arn:aws:ssm:{plan.intent.region}:{role.split(':')[4]}"
    return allowing(
        {
            "Action": ["ssm:StartAutomationExecution"],
            "Resource": [
                f"{where}:automation-definition/{runbook}:*",
                f"{where}:document/{runbook}",
                f"{where}:automation-execution/*",
            ],
        },
        {
            "Action": ["iam:PassRole"],
            "Resource": role,
            "Condition": {"StringEquals": {"iam:PassedToService": "ssm.amazonaws.com"}},
        },
        {"Action": ["sqs:SendMessage"], "Resource": queue},
    )


def _may_send(queue: str, rule: str) -> str:
    return allowing(
        {
            "Principal": {"Service": ["events.amazonaws.com"]},
            "Action": ["sqs:SendMessage"],
            "Resource": queue,
            "Condition": {"ArnEquals": {"aws:SourceArn": rule}},
        }
    )
