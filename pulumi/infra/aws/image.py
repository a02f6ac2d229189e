"""The image of every host: pinned by id, or by owner and whole name."""

from __future__ import annotations

import pulumi_aws as aws
from pulumi import ComponentResource, InvokeOptions, Output, ResourceOptions

from fireflyer.model.replica_plan import ReplicaPlan
from infra.tags import named


class Image(ComponentResource):
    """One image; two that fit are an error, not a choice."""

    id: Output[str]
    root_device: Output[str]
    """Name of its root disk."""

    def __init__(self, plan: ReplicaPlan, opts: ResourceOptions) -> None:
        """Find the image of a plan."""
        super().__init__("fireflyer:replica:Image", named(plan, "image"), None, opts)
        image = plan.intent.image
        name, value = ("image-id", image.id) if image.id is not None else ("name", image.name)
        assert value is not None
        found = aws.ec2.get_ami_output(
            owners=[image.owner] if image.owner is not None else None,
            filters=[{"name": name, "values": [value]}],
            most_recent=False,
            opts=InvokeOptions(parent=self),
        )
        self.id, self.root_device = found.id, found.root_device_name
        self.register_outputs({"id": self.id})
