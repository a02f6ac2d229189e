"""The end on Azure as one chain: clock, workflow, role, machines, alarm, mail."""

from __future__ import annotations

from typing import Any

import pytest
from tests.replica.conftest import MAIL, Run
from tests.replica.fake_engine import Graph
from tests.replica.fake_logic import FakeLogicApp
from tests.replica.seen_azure import MACHINE

WORKFLOW = "azure-native:logic:Workflow"
ASSIGNMENT = "azure-native:authorization:RoleAssignment"
ROLE = "azure-native:authorization:RoleDefinition"
READ = "Microsoft.Compute/virtualMachines/read"
DEALLOCATE = "Microsoft.Compute/virtualMachines/deallocate/action"


def home(graph: Graph) -> str:
    return graph.one("azure-native:resources:ResourceGroup").id


def granted(graph: Graph, principal: str) -> list[str]:
    """Return what a principal may do, in the resource group alone."""
    (assigned,) = [a.inputs for a in graph.of(ASSIGNMENT) if a.inputs["principalId"] == principal]
    assert (assigned["scope"], assigned["principalType"]) == (home(graph), "ServicePrincipal")
    (role,) = [r.inputs for r in graph.of(ROLE) if r.id == assigned["roleDefinitionId"]]
    assert role["assignableScopes"] == [role["scope"]] == [home(graph)]
    (permissions,) = role["permissions"]
    assert permissions["notActions"] == []
    actions: list[str] = permissions["actions"]
    return actions


class FakeGroup:
    """The machines of a resource group, listed two a page."""

    def __init__(self, group: str, count: int, stuck: int) -> None:
        self.at = f"https://management.azure.com{group}/providers/Microsoft.Compute/virtualMachines"
        self.machines = [f"{group}/providers/Microsoft.Compute/virtualMachines/{n}"
                         for n in range(count)]  # fmt: skip
        self.stuck = self.machines[stuck]
        self.ended: list[str] = []

    def call(self, method: str, url: str) -> Any | None:
        where, _, query = url.partition("?")
        assert query.startswith("api-version=20")
        if (method, where) == ("GET", self.at):
            start = int(query.partition("&skip=")[2] or 0)
            page = {"value": [{"id": name} for name in self.machines[start : start + 2]]}
            if start + 2 < len(self.machines):
                page["nextLink"] = f"{self.at}?api-version=2024-07-01&skip={start + 2}"  # type: ignore[assignment]
            return page
        assert method == "POST"
        machine = where.removeprefix("https://management.azure.com").removesuffix("/deallocate")
        assert where.endswith("/deallocate")
        assert machine in self.machines
        if machine == self.stuck:
            return None
        self.ended.append(machine)
        return ""


@pytest.mark.parametrize("count", [0, 1, 5])
def test_the_workflow_ends_every_machine_of_the_group(count: int, run: Run) -> None:
    """Also those that no state knows; one that cannot be ended keeps no other one running."""
    _, graph = run("infiniband")
    inputs = graph.one(WORKFLOW).inputs
    assert inputs["parameters"] == {"group": {"value": home(graph)}}
    group = FakeGroup(home(graph), count + 1, stuck=count // 2)
    app = FakeLogicApp(inputs["definition"], inputs["parameters"], group.call)
    app.run()
    assert sorted([*group.ended, group.stuck]) == sorted(group.machines)
    assert app.failed, "what could not be ended is told"
    group.stuck = ""
    group.ended.clear()
    app = FakeLogicApp(inputs["definition"], inputs["parameters"], group.call)
    app.run()
    assert (sorted(group.ended), app.failed) == (sorted(group.machines), 0)


def test_the_workflow_starts_at_the_end_and_every_hour_after_it(run: Run) -> None:
    _, graph = run("infiniband")
    inputs = graph.one(WORKFLOW).inputs
    assert (inputs["state"], inputs["identity"]) == ("Enabled", {"type": "SystemAssigned"})
    (trigger,) = inputs["definition"]["triggers"].values()
    assert trigger == {
        "type": "Recurrence",
        "recurrence": {"frequency": "Hour", "interval": 1, "startTime": "2030-01-31T18:00:00Z"},
    }


def test_the_workflow_may_find_and_deallocate_and_nothing_else(run: Run) -> None:
    _, graph = run("infiniband")
    principal = graph.one(WORKFLOW).outputs["identity"]["principalId"]
    assert granted(graph, principal) == [READ, DEALLOCATE]


def test_every_machine_is_the_identity_that_may_deallocate_it(run: Run) -> None:
    _, graph = run("infiniband")
    hosts = graph.one("azure-native:managedidentity:UserAssignedIdentity")
    assert granted(graph, hosts.outputs["principalId"]) == [DEALLOCATE]
    for machine in graph.of(MACHINE):
        assert machine.inputs["identity"] == {
            "type": "UserAssigned",
            "userAssignedIdentities": [hosts.id],
        }


def test_every_alarm_and_the_budget_reach_the_mail(run: Run) -> None:
    _, graph = run("infiniband")
    told = graph.one("azure-native:monitor:ActionGroup")
    assert told.inputs["enabled"] is True
    assert told.outputs["emailReceivers"] == [{"name": "owner", "emailAddress": MAIL}]
    machines = {machine.name: machine.id for machine in graph.of(MACHINE)}
    wanted = {name: ("Microsoft.Compute/virtualMachines", "VmAvailabilityMetric", "LessThan", 1,
                     "Average", identity) for name, identity in machines.items()}  # fmt: skip
    wanted["stop-failed"] = ("Microsoft.Logic/workflows", "ActionsFailed", "GreaterThan", 0,
                             "Total", graph.one(WORKFLOW).id)  # fmt: skip
    found = {}
    for alarm in graph.of("azure-native:monitor:MetricAlert"):
        inputs = alarm.inputs
        assert inputs["actions"] == [{"actionGroupId": told.id}]
        assert inputs["enabled"] is True
        assert (inputs["evaluationFrequency"], inputs["windowSize"]) == ("PT1M", "PT5M")
        (rule,) = inputs["criteria"]["allOf"]
        (scope,) = inputs["scopes"]
        found[inputs["ruleName"]] = (
            rule["metricNamespace"],
            rule["metricName"],
            rule["operator"],
            rule["threshold"],
            rule["timeAggregation"],
            scope,
        )
    assert found == wanted
    budget = graph.one("azure-native:consumption:Budget").inputs
    for note in budget["notifications"].values():
        assert (note["enabled"], note["contactGroups"]) == (True, [told.id])
        assert (note["operator"], note["thresholdType"]) == ("GreaterThanOrEqualTo", "Actual")
