"""The automatic end: from its expiry on, every hour, the replica's machines are stopped.

It is made before the first machine and finds them in the resource group, so it ends also those of
a run that failed, and those that no state knows. A Logic App calls for it, because the shutdown
that Azure has for machines knows an hour of the day and no date. What is stopped is deallocated:
its disk stays, the machine is paid no longer. An alarm reports a call that failed.
"""

from __future__ import annotations

from pulumi import ComponentResource, Output, ResourceOptions
from pulumi_azure_native import authorization, logic, managedidentity

from fireflyer.model.replica_plan import ReplicaPlan
from fireflyer.render.inventory import Json
from infra.azure.home import Home
from infra.azure.watch import metric_alert
from infra.parts import WatchPart
from infra.tags import identity, named, tags

MANAGEMENT = "https://management.azure.com"
API_VERSION = "2024-07-01"
SCHEMA = (
    "https://schema.management.azure.com/providers/Microsoft.Logic/schemas/2016-06-01"
    "/workflowdefinition.json#"
)
MAY_FIND = "Microsoft.Compute/virtualMachines/read"
MAY_STOP = "Microsoft.Compute/virtualMachines/deallocate/action"
MOST_PAGES = 60


class Stop(ComponentResource):
    """A workflow with a clock, and roles in the replica's resource group alone."""

    identity: Output[str] | None
    """Of the hosts: by it each has itself deallocated; powering off would not end its price."""

    def __init__(
        self, home: Home, plan: ReplicaPlan, watch: WatchPart, opts: ResourceOptions
    ) -> None:
        """Declare the end of a plan's replica."""
        super().__init__("fireflyer:replica:Stop", named(plan, "stop"), None, opts)
        self.home, self.plan, self.child = home, plan, ResourceOptions(parent=self)
        assert plan.expires is not None
        workflow = logic.Workflow(
            named(plan, "stop"),
            workflow_name="stop",
            resource_group_name=home.name,
            location=home.location,
            definition=definition(plan.expires),
            parameters={"group": {"value": home.id}},
            identity={"type": "SystemAssigned"},
            state="Enabled",
            tags=tags(plan, "stop"),
            opts=self.child,
        )
        principal = workflow.identity.apply(lambda own: own.principal_id if own else "")
        self._allow("stop", principal, MAY_FIND, MAY_STOP)
        hosts = managedidentity.UserAssignedIdentity(
            named(plan, "hosts"),
            resource_name_="hosts",
            resource_group_name=home.name,
            location=home.location,
            tags=tags(plan, "hosts"),
            opts=self.child,
        )
        self._allow("hosts", hosts.principal_id, MAY_STOP)
        self.identity = hosts.id
        self._alarm(workflow.id, watch)
        self.register_outputs({})

    def _allow(self, name: str, principal: Output[str], *actions: str) -> None:
        plan, home = self.plan, self.home
        role = authorization.RoleDefinition(
            named(plan, name),
            role_name=f"{identity(plan)}-{name}",
            description=f"End of replica {plan.name} of {plan.site}",
            scope=home.id,
            assignable_scopes=[home.id],
            permissions=[{"actions": list(actions), "not_actions": []}],
            opts=self.child,
        )
        authorization.RoleAssignment(
            named(plan, name),
            scope=home.id,
            role_definition_id=role.id,
            principal_id=principal,
            principal_type="ServicePrincipal",
            opts=self.child,
        )

    def _alarm(self, workflow: Output[str], watch: WatchPart) -> None:
        metric_alert(
            "stop-failed",
            self.home,
            self.plan,
            description="The replica's automatic end failed: machines may run on",
            severity=0,
            scope=workflow,
            criterion={
                "name": "failed",
                "metric_namespace": "Microsoft.Logic/workflows",
                "metric_name": "ActionsFailed",
                "operator": "GreaterThan",
                "threshold": 0,
                "time_aggregation": "Total",
            },
            told=watch.told,
            opts=self.child,
        )


def definition(expires: str) -> dict[str, Json]:
    """Return the workflow: at a time and every hour after it, each machine is deallocated.

    Azure lists machines page by page; a machine that cannot be deallocated keeps no other one.
    """
    first = (
        f"@{{concat('{MANAGEMENT}', parameters('group'),"
        f" '/providers/Microsoft.Compute/virtualMachines?api-version={API_VERSION}')}}"
    )
    return {
        "$schema": SCHEMA,
        "contentVersion": "1.0.0.0",
        "parameters": {"group": {"type": "String"}},
        "triggers": {
            "expiry": {
                "type": "Recurrence",
                "recurrence": {"frequency": "Hour", "interval": 1, "startTime": expires},
            }
        },
        "actions": {
            "first": {
                "type": "InitializeVariable",
                "inputs": {"variables": [{"name": "page", "type": "string", "value": first}]},
                "runAfter": {},
            },
            "pages": {
                "type": "Until",
                "expression": "@empty(variables('page'))",
                "limit": {"count": MOST_PAGES, "timeout": "PT1H"},
                "runAfter": {"first": ["Succeeded"]},
                "actions": {
                    "list": {**_call("GET", "@{variables('page')}"), "runAfter": {}},
                    "each": {
                        "type": "Foreach",
                        "foreach": "@body('list')?['value']",
                        "runAfter": {"list": ["Succeeded"]},
                        "actions": {
                            "deallocate": _call(
                                "POST",
                                f"{MANAGEMENT}@{{items('each')?['id']}}/deallocate"
                                f"?api-version={API_VERSION}",
                            )
                        },
                    },
                    "next": {
                        "type": "SetVariable",
                        "inputs": {
                            "name": "page",
                            "value": "@{coalesce(body('list')?['nextLink'], '')}",
                        },
                        "runAfter": {"each": ["Succeeded", "Failed"]},
                    },
                },
            },
        },
    }


def _call(method: str, uri: str) -> dict[str, Json]:
    """Return a call of Azure's management interface as the workflow itself."""
    return {
        "type": "Http",
        "inputs": {
            "method": method,
            "uri": uri,
            "authentication": {"type": "ManagedServiceIdentity", "audience": f"{MANAGEMENT}/"},
        },
    }
