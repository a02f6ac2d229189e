"""Placement: a cluster group for each zone, or none where a reservation or a block decides.

A group and a reservation exclude each other unless the reservation was made in that group: with a
group of its own, an instance is looked for where the reservation has none.
"""

from __future__ import annotations

from collections.abc import Mapping

import pulumi_aws as aws
from pulumi import ComponentResource, Output, ResourceOptions

from fireflyer.model.replica_plan import ReplicaPlan
from infra.tags import named, tags


class Placement(ComponentResource):
    """The groups that the replica makes; one it only names is not among them."""

    groups: Mapping[str, Output[str]]

    def __init__(self, plan: ReplicaPlan, opts: ResourceOptions) -> None:
        """Declare the groups of a plan."""
        super().__init__("fireflyer:replica:Placement", named(plan, "placement"), None, opts)
        self.groups = {
            name: aws.ec2.PlacementGroup(
                named(plan, name),
                name=name,
                strategy="cluster",
                tags=tags(plan, name),
                opts=ResourceOptions(parent=self),
            ).name
            for name in plan.new_groups
        }
        self.register_outputs({})
