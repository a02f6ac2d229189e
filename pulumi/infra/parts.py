"""What every provider's components are to each other: the interfaces between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import pulumi
from pulumi import Output, ResourceOptions

from fireflyer.model.replica_plan import PlannedHost, ReplicaPlan

Text: TypeAlias = "Output[str]"
Mail: TypeAlias = "Output[str] | None"
WARN_AT_PERCENT = (50, 80, 100)
"""Of the budget."""
NAME_TTL_S = 60


class NetworkPart(Protocol):
    """The replica's own network."""

    id: Text
    subnets: Mapping[str, Text]
    """Ids by the plan's names."""


class SecurityPart(Protocol):
    """Who may reach whom, and what a host may do at the provider."""

    hosts: Text
    """The group of every host: all of them reach each other."""
    bastion: Text | None
    profile: Text | None
    """The role of a host."""
    key: Text
    """What may log in: the public key, or its name at the provider."""


class PlacementPart(Protocol):
    """Placement groups that the replica makes."""

    groups: Mapping[str, Text]


class ImagePart(Protocol):
    """The one image of every host."""

    id: Text
    root_device: Text | None
    """Name of its root disk, where the provider wants to be told."""


class WatchPart(Protocol):
    """The budget, and where alarms go."""

    told: Text
    """What an alarm calls: it tells the owner."""


class EndPart(Protocol):
    """The automatic end. Whatever is paid by the hour depends on it, so it is there first."""

    identity: Text | None
    """What a host is at the provider when it ends itself, where it must be something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What every host stands on."""

    plan: ReplicaPlan
    network: NetworkPart
    security: SecurityPart
    placement: PlacementPart
    image: ImagePart
    end: EndPart

    def after_end(self, parent: pulumi.Resource) -> ResourceOptions:
        """Return the options of a machine: it is made once its end is there."""
        assert isinstance(self.end, pulumi.Resource)
        return ResourceOptions(parent=parent, depends_on=[self.end])


class HostPart(Protocol):
    """One instance."""

    id: Text


class BastionPart(HostPart, Protocol):
    """The only host with a public address. It is watched and ends as the others do."""

    address: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """A provider's components, on what they all stand in there."""

    network: Callable[[ReplicaPlan, ResourceOptions], NetworkPart]
    security: Callable[[ReplicaPlan, NetworkPart, ResourceOptions], SecurityPart]
    placement: Callable[[ReplicaPlan, ResourceOptions], PlacementPart]
    image: Callable[[ReplicaPlan, ResourceOptions], ImagePart]
    host: Callable[[Ground, PlannedHost, ResourceOptions], HostPart]
    bastion: Callable[[Ground, ResourceOptions], BastionPart]
    dns: Callable[[ReplicaPlan, NetworkPart, ResourceOptions], object]
    watch: Callable[[ReplicaPlan, Mail, ResourceOptions], WatchPart]
    stop: Callable[[ReplicaPlan, WatchPart, ResourceOptions], EndPart]
    alarms: Callable[[ReplicaPlan, WatchPart, Mapping[str, Text], ResourceOptions], object]
    """Of each machine."""


class Package(Protocol):
    """What `infra.<provider>` is."""

    def provider(self, plan: ReplicaPlan, opts: ResourceOptions) -> pulumi.ProviderResource:
        """Return what makes a plan's resources."""

    def cloud(self, plan: ReplicaPlan, opts: ResourceOptions) -> Cloud:
        """Declare what everything there stands in, if it is anything; return the components."""
