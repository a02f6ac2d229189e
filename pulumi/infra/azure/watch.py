"""Budget and alarms: somebody is told before much is spent, and when a host is broken."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from pulumi import ComponentResource, Output, ResourceOptions
from pulumi_azure_native import consumption, monitor

from fireflyer.model.replica import UTC_FORMAT
from fireflyer.model.replica_plan import ReplicaPlan
from infra.azure.home import Home
from infra.parts import WARN_AT_PERCENT, Mail, WatchPart
from infra.tags import identity, named, tags

HOURS_A_DAY = 24


class Watch(ComponentResource):
    """A group for everything that is told, and a budget."""

    told: Output[str]

    def __init__(self, home: Home, plan: ReplicaPlan, mail: Mail, opts: ResourceOptions) -> None:
        """Declare what watches a plan's replica."""
        super().__init__("fireflyer:replica:Watch", named(plan, "watch"), None, opts)
        self.home, self.plan, self.child = home, plan, ResourceOptions(parent=self)
        receivers = [] if mail is None else [{"name": "owner", "email_address": mail}]
        self.told = monitor.ActionGroup(
            named(plan, "alarms"),
            action_group_name="alarms",
            group_short_name="replica",
            resource_group_name=home.name,
            location="Global",
            enabled=True,
            email_receivers=receivers,
            tags=tags(plan, "alarms"),
            opts=self.child,
        ).id
        self._budget(self.told)
        self.register_outputs({})

    def _budget(self, told: Output[str]) -> None:
        """Azure's budgets have a month at least: it is what the replica may cost until its end."""
        plan = self.plan
        assert plan.expires is not None
        consumption.Budget(
            named(plan, "life"),
            budget_name=f"{identity(plan)}-life",
            scope=self.home.id,
            category="Cost",
            time_grain="Monthly",
            amount=budget_usd(plan),
            time_period={"start_date": month_of_start(plan.expires, plan.intent.ttl_hours)},
            notifications={
                f"at-{percent}": {
                    "enabled": True,
                    "operator": "GreaterThanOrEqualTo",
                    "threshold": percent,
                    "threshold_type": "Actual",
                    "contact_emails": [],
                    "contact_groups": [told],
                }
                for percent in WARN_AT_PERCENT
            },
            # Azure changes no budget's start.
            opts=ResourceOptions(
                parent=self, replace_on_changes=["timePeriod"], delete_before_replace=True
            ),
        )


class Alarms(ComponentResource):
    """An alarm for each host."""

    def __init__(
        self,
        home: Home,
        plan: ReplicaPlan,
        watch: WatchPart,
        ids: Mapping[str, Output[str]],
        opts: ResourceOptions,
    ) -> None:
        """Declare the alarms of a plan's hosts."""
        super().__init__("fireflyer:replica:Alarms", named(plan, "alarms"), None, opts)
        self.home, self.plan, self.child = home, plan, ResourceOptions(parent=self)
        for host, machine in ids.items():
            self._alarm(host, machine, watch.told)
        self.register_outputs({})

    def _alarm(self, host: str, machine: Output[str], told: Output[str]) -> None:
        metric_alert(
            host,
            self.home,
            self.plan,
            description=f"{host} is not there for the provider",
            severity=1,
            scope=machine,
            criterion={
                "name": "available",
                "metric_namespace": "Microsoft.Compute/virtualMachines",
                "metric_name": "VmAvailabilityMetric",
                "operator": "LessThan",
                "threshold": 1,
                "time_aggregation": "Average",
            },
            told=told,
            opts=self.child,
        )


def metric_alert(
    name: str,
    home: Home,
    plan: ReplicaPlan,
    *,
    description: str,
    severity: int,
    scope: Output[str],
    criterion: Mapping[str, str | int],
    told: Output[str],
    opts: ResourceOptions,
) -> None:
    """Declare an alarm, looked at every minute; `criterion` is a fixed threshold of a metric."""
    monitor.MetricAlert(
        named(plan, name),
        rule_name=name,
        resource_group_name=home.name,
        location="Global",
        description=description,
        enabled=True,
        severity=severity,
        scopes=[scope],
        evaluation_frequency="PT1M",
        window_size="PT5M",
        criteria=monitor.MetricAlertSingleResourceMultipleMetricCriteriaArgs(
            odata_type="Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria",
            all_of=[{"criterion_type": "StaticThresholdCriterion", **criterion}],
        ),
        actions=[{"action_group_id": told}],
        tags=tags(plan, name),
        opts=opts,
    )


def budget_usd(plan: ReplicaPlan) -> float:
    """Return what the ceiling of a day allows until the replica's end."""
    return round(plan.intent.usd_per_day_ceiling * plan.intent.ttl_hours / HOURS_A_DAY, 2)


def month_of_start(expires: str, ttl_hours: int) -> str:
    """Return the first day of the month in which a replica was made.

    >>> month_of_start("2030-01-01T06:00:00Z", 8)
    '2029-12-01T00:00:00Z'
    """
    start = datetime.strptime(expires, UTC_FORMAT) - timedelta(hours=ttl_hours)
    return f"{start:%Y-%m}-01T00:00:00Z"
