"""The image of every host: pinned by id, or by owner and whole name."""

from __future__ import annotations

import pulumi_aws as aws
from pulumi import ComponentResource, InvokeOptions, Output, ResourceOptions

from fireflyer.model.replica_plan import ReplicaPlan


class Image(ComponentResource):
    """One image; two that fit are an error, not a choice."""

    id: Output[str]

    def __init__(self, plan: ReplicaPlan, opts: ResourceOptions) -> None:
        """Find the image of a plan."""
        super().__init__("fireflyer:replica:Image", "image", None, opts)
        image = plan.intent.image
        if image.id is not None:
            self.id = Output.from_input(image.id)
        else:
            assert image.owner is not None
            assert image.name is not None
            self.id = aws.ec2.get_ami_output(
                owners=[image.owner],
                filters=[{"name": "name", "values": [image.name]}],
                most_recent=False,
                opts=InvokeOptions(parent=self),
            ).id
        self.register_outputs({"id": self.id})
