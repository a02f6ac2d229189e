"""Budget and alarms: somebody is told before much is spent, and when a host is broken."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi_aws as aws
from pulumi import ComponentResource, Output, ResourceOptions

from fireflyer.model.replica_plan import ReplicaPlan
from infra.aws.security import allowing
from infra.parts import WARN_AT_PERCENT, Mail, WatchPart
from infra.tags import REPLICA, identity, named, tags

BROKEN_AFTER_MINUTES = 5


class Watch(ComponentResource):
    """A topic for everything that is told, and a budget of a day."""

    told: Output[str]

    def __init__(self, plan: ReplicaPlan, mail: Mail, opts: ResourceOptions) -> None:
        """Declare what watches a plan's replica."""
        super().__init__("fireflyer:replica:Watch", named(plan, "watch"), None, opts)
        self.plan, self.child = plan, ResourceOptions(parent=self)
        topic = aws.sns.Topic(
            named(plan, "alarms"),
            name=f"{identity(plan)}-alarms",
            tags=tags(plan, "alarms"),
            opts=self.child,
        )
        aws.sns.TopicPolicy(
            named(plan, "alarms"),
            arn=topic.arn,
            policy=topic.arn.apply(_may_publish),
            opts=self.child,
        )
        if mail is not None:
            aws.sns.TopicSubscription(
                named(plan, "alarms"),
                topic=topic.arn,
                protocol="email",
                endpoint=mail,
                opts=self.child,
            )
        self.told = topic.arn
        self._budget(topic.arn)
        self.register_outputs({})

    def _budget(self, topic: Output[str]) -> None:
        plan = self.plan
        aws.budgets.Budget(
            named(plan, "day"),
            name=f"{identity(plan)}-day",
            budget_type="COST",
            time_unit="DAILY",
            limit_amount=f"{plan.intent.usd_per_day_ceiling:.2f}",
            limit_unit="USD",
            cost_filters=[{"name": "TagKeyValue", "values": [f"user:{REPLICA}${identity(plan)}"]}],
            notifications=[
                {
                    "comparison_operator": "GREATER_THAN",
                    "threshold": percent,
                    "threshold_type": "PERCENTAGE",
                    "notification_type": "ACTUAL",
                    "subscriber_sns_topic_arns": [topic],
                }
                for percent in WARN_AT_PERCENT
            ],
            tags=tags(plan, "day"),
            opts=self.child,
        )


class Alarms(ComponentResource):
    """An alarm for each host."""

    def __init__(
        self,
        plan: ReplicaPlan,
        watch: WatchPart,
        ids: Mapping[str, Output[str]],
        opts: ResourceOptions,
    ) -> None:
        """Declare the alarms of a plan's hosts."""
        super().__init__("fireflyer:replica:Alarms", named(plan, "alarms"), None, opts)
        spot = {host.name for host in plan.hosts if host.market == "spot"}
        for host, instance in ids.items():
            aws.cloudwatch.MetricAlarm(
                named(plan, host),
                name=f"{identity(plan)}-{host}",
                alarm_description=f"{host} fails the provider's checks",
                namespace="AWS/EC2",
                metric_name="StatusCheckFailed",
                statistic="Maximum",
                comparison_operator="GreaterThanThreshold",
                threshold=0,
                period=60,
                evaluation_periods=BROKEN_AFTER_MINUTES,
                # An instance that was taken away says nothing more.
                treat_missing_data="breaching" if host in spot else "missing",
                dimensions={"InstanceId": instance},
                alarm_actions=[watch.told],
                tags=tags(plan, host),
                opts=ResourceOptions(parent=self),
            )
        self.register_outputs({})


def _may_publish(topic: str) -> str:
    """Return the policy that lets the budget and the alarms publish, for this account alone."""
    account = topic.split(":")[4]
    return allowing(
        *(
            {
                "Principal": {"Service": [f"{name}.amazonaws.com"]},
                "Action": "sns:Publish",
                "Resource": topic,
                "Condition": {"StringEquals": {"aws:SourceAccount": account}},
            }
            for name in ("budgets", "cloudwatch")
        )
    )
