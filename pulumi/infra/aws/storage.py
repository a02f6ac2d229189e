"""The storage nodes: local NVMe drives, and a foot in every zone's subnet."""

from __future__ import annotations

from collections.abc import Mapping

from pulumi import ComponentResource, Output, ResourceOptions

from fireflyer.model.fabric import Role
from infra.aws.instance import Host
from infra.parts import Ground


class Storage(ComponentResource):
    """Storage nodes; what their drives hold is lost when they stop."""

    ids: Mapping[str, Output[str]]

    def __init__(self, ground: Ground, opts: ResourceOptions) -> None:
        """Declare the storage nodes of a plan."""
        super().__init__("fireflyer:replica:Storage", "storage", None, opts)
        child = ResourceOptions(parent=self)
        hosts = ground.plan.hosts_of(Role.STORAGE)
        self.ids = {host.name: Host(ground, host, child).id for host in hosts}
        self.register_outputs({})
