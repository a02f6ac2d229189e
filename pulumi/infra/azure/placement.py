"""Placement: an availability set for each zone of the site.

InfiniBand joins machines of one availability set, or of one scale set that is a single placement
group. Machines of such a scale set are all alike and have no name or address of their own; in an
availability set each has. A set takes no availability zone, no reservation and no spot machine.
"""

from __future__ import annotations

from collections.abc import Mapping

from pulumi import ComponentResource, Output, ResourceOptions
from pulumi_azure_native import compute

from fireflyer.model.replica_plan import ReplicaPlan
from infra.azure.home import Home
from infra.tags import named, tags


class Placement(ComponentResource):
    """The sets that the replica makes."""

    groups: Mapping[str, Output[str]]

    def __init__(self, home: Home, plan: ReplicaPlan, opts: ResourceOptions) -> None:
        """Declare the sets of a plan."""
        super().__init__("fireflyer:replica:Placement", named(plan, "placement"), None, opts)
        self.groups = {
            name: compute.AvailabilitySet(
                named(plan, name),
                availability_set_name=name,
                resource_group_name=home.name,
                location=home.location,
                sku={"name": "Aligned"},  # for managed disks
                # Near each other, and not spread over the provider's racks and turns of upkeep.
                platform_fault_domain_count=1,
                platform_update_domain_count=1,
                tags=tags(plan, name),
                opts=ResourceOptions(parent=self),
            ).id
            for name in plan.new_groups
        }
        self.register_outputs({})
