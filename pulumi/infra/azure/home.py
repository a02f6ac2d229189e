"""The resource group: everything of a replica is in it, and what is left in it goes with it."""

from __future__ import annotations

from pulumi import ComponentResource, Output, ResourceOptions
from pulumi_azure_native import resources

from fireflyer.model.replica_plan import ReplicaPlan
from infra.tags import identity, named, tags


class Home(ComponentResource):
    """The group, by which all the others say where they are."""

    id: Output[str]
    name: Output[str]
    location: str

    def __init__(self, plan: ReplicaPlan, opts: ResourceOptions) -> None:
        """Declare the resource group of a plan."""
        super().__init__("fireflyer:replica:Home", named(plan, "home"), None, opts)
        self.location = plan.intent.region
        group = resources.ResourceGroup(
            named(plan, "replica"),
            resource_group_name=identity(plan),
            location=self.location,
            tags=tags(plan, identity(plan)),
            opts=ResourceOptions(parent=self),
        )
        self.id, self.name = group.id, group.name
        self.register_outputs({"name": self.name})
