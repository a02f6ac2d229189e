"""The GPU nodes: every network card attached, in their zone's group, reservation or block."""

from __future__ import annotations

from collections.abc import Mapping

from pulumi import ComponentResource, Output, ResourceOptions

from fireflyer.model.fabric import Role
from infra.aws.instance import Host
from infra.parts import Ground


class Compute(ComponentResource):
    """Compute nodes of every zone."""

    ids: Mapping[str, Output[str]]

    def __init__(self, ground: Ground, opts: ResourceOptions) -> None:
        """Declare the compute nodes of a plan."""
        super().__init__("fireflyer:replica:Compute", "compute", None, opts)
        child = ResourceOptions(parent=self)
        hosts = ground.plan.hosts_of(Role.COMPUTE)
        self.ids = {host.name: Host(ground, host, child).id for host in hosts}
        self.register_outputs({})
