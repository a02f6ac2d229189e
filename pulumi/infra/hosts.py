"""The hosts of each role: a component that has the provider make one of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from pulumi import ComponentResource, ResourceOptions

from fireflyer.model.fabric import Role
from fireflyer.model.replica_plan import PlannedHost
from infra.parts import Ground, HostPart, Text
from infra.tags import named

MakeHost = Callable[[Ground, PlannedHost, ResourceOptions], HostPart]


class Hosts(ComponentResource):
    """Instances of one role."""

    role: ClassVar[Role]
    ids: Mapping[str, Text]
    """By host."""

    def __init__(self, ground: Ground, make: MakeHost, opts: ResourceOptions) -> None:
        """Declare the hosts of a plan."""
        kind = type(self).__name__
        name = named(ground.plan, kind.lower())
        super().__init__(f"fireflyer:replica:{kind}", name, None, opts)
        child = ResourceOptions(parent=self)
        hosts = ground.plan.hosts_of(self.role)
        self.ids = {host.name: make(ground, host, child).id for host in hosts}
        self.register_outputs({})


class Compute(Hosts):
    """The GPU nodes: every adapter, in their zone's group, reservation or block."""

    role = Role.COMPUTE


class Storage(Hosts):
    """The storage nodes; what their drives hold is lost when they stop."""

    role = Role.STORAGE


class Management(Hosts):
    """The management nodes."""

    role = Role.MANAGEMENT
