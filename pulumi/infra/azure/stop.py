"""The automatic end: from its expiry on, every day, the replica's machines are stopped.

A Logic App calls for it, because the shutdown that Azure has for machines knows an hour of the day
and no date. What is stopped is deallocated: its disk stays, the machine is paid no longer.
"""

from __future__ import annotations

from collections.abc import Mapping

from pulumi import ComponentResource, Output, ResourceOptions
from pulumi_azure_native import authorization, logic

from fireflyer.model.replica_plan import ReplicaPlan
from fireflyer.render.inventory import Json
from infra.azure.home import Home
from infra.tags import identity, tags

MANAGEMENT = "https://management.azure.com"
API_VERSION = "2024-07-01"
SCHEMA = (
    "https://schema.management.azure.com/providers/Microsoft.Logic/schemas/2016-06-01"
    "/workflowdefinition.json#"
)
MAY = ("Microsoft.Compute/virtualMachines/deallocate/action",)
"""All that the Logic App may do, and in the replica's resource group alone."""


class Stop(ComponentResource):
    """A workflow with a clock, and a role that may do no more than that."""

    def __init__(
        self,
        home: Home,
        plan: ReplicaPlan,
        ids: Mapping[str, Output[str]],
        opts: ResourceOptions,
    ) -> None:
        """Declare the end of a plan's replica."""
        super().__init__("fireflyer:replica:Stop", "stop", None, opts)
        child = ResourceOptions(parent=self)
        assert plan.expires is not None
        workflow = logic.Workflow(
            "stop",
            workflow_name="stop",
            resource_group_name=home.name,
            location=home.location,
            definition=definition(plan.expires),
            parameters={"machines": {"value": Output.all(*ids.values()).apply(list)}},
            identity={"type": "SystemAssigned"},
            state="Enabled",
            tags=tags(plan, "stop"),
            opts=child,
        )
        role = authorization.RoleDefinition(
            "stop",
            role_name=f"{identity(plan)}-stop",
            description=f"End of replica {plan.name} of {plan.site}",
            scope=home.id,
            assignable_scopes=[home.id],
            permissions=[{"actions": list(MAY), "not_actions": []}],
            opts=child,
        )
        authorization.RoleAssignment(
            "stop",
            scope=home.id,
            role_definition_id=role.id,
            principal_id=workflow.identity.apply(lambda own: own.principal_id if own else ""),
            principal_type="ServicePrincipal",
            opts=child,
        )
        self.register_outputs({})


def definition(expires: str) -> dict[str, Json]:
    """Return the workflow: at a time, and every day after it, each machine is deallocated."""
    return {
        "$schema": SCHEMA,
        "contentVersion": "1.0.0.0",
        "parameters": {"machines": {"type": "Array"}},
        "triggers": {
            "expiry": {
                "type": "Recurrence",
                "recurrence": {"frequency": "Day", "interval": 1, "startTime": expires},
            }
        },
        "actions": {
            "each": {
                "type": "Foreach",
                "foreach": "@parameters('machines')",
                "actions": {
                    "deallocate": {
                        "type": "Http",
                        "inputs": {
                            "method": "POST",
                            "uri": f"{MANAGEMENT}@{{item()}}/deallocate?api-version={API_VERSION}",
                            "authentication": {
                                "type": "ManagedServiceIdentity",
                                "audience": f"{MANAGEMENT}/",
                            },
                        },
                    }
                },
            }
        },
    }
