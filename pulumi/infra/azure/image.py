"""The image of every host: a version in a gallery by its id, or of the market by its four names."""

from __future__ import annotations

from pulumi import ComponentResource, Output, ResourceOptions

from fireflyer.model.replica_plan import ReplicaPlan
from infra.tags import named


class Image(ComponentResource):
    """One image. Nothing is asked or made: Azure takes the names as they are."""

    id: Output[str]
    root_device: Output[str] | None = None

    def __init__(self, plan: ReplicaPlan, opts: ResourceOptions) -> None:
        """Name the image of a plan."""
        super().__init__("fireflyer:replica:Image", named(plan, "image"), None, opts)
        self.id = Output.from_input(plan.intent.image.label)
        self.register_outputs({"id": self.id})
