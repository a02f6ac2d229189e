"""What every provider's components are to each other: the interfaces between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import pulumi
from pulumi import Output, ResourceOptions

from fireflyer.model.replica_plan import ReplicaPlan

Text: TypeAlias = "Output[str]"
Mail: TypeAlias = "Output[str] | None"


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


class PlacementPart(Protocol):
    """Placement groups that the replica makes."""

    groups: Mapping[str, Text]


class ImagePart(Protocol):
    """The one image of every host."""

    id: Text
    root_device: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What every host stands on."""

    plan: ReplicaPlan
    network: NetworkPart
    security: SecurityPart
    placement: PlacementPart
    image: ImagePart


class HostsPart(Protocol):
    """Instances of one kind."""

    ids: Mapping[str, Text]
    """By host, and of whatever else must end with them."""


class ManagementPart(HostsPart, Protocol):
    """Management nodes, and the bastion if there is one."""

    jump: Text | None
    """The bastion's public address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """A provider's components."""

    provider: Callable[[ReplicaPlan], pulumi.ProviderResource]
    network: Callable[[ReplicaPlan, ResourceOptions], NetworkPart]
    security: Callable[[ReplicaPlan, NetworkPart, ResourceOptions], SecurityPart]
    placement: Callable[[ReplicaPlan, ResourceOptions], PlacementPart]
    image: Callable[[ReplicaPlan, ResourceOptions], ImagePart]
    compute: Callable[[Ground, ResourceOptions], HostsPart]
    storage: Callable[[Ground, ResourceOptions], HostsPart]
    management: Callable[[Ground, ResourceOptions], ManagementPart]
    dns: Callable[[ReplicaPlan, NetworkPart, ResourceOptions], object]
    watch: Callable[[ReplicaPlan, Mapping[str, Text], Mail, ResourceOptions], object]
    stop: Callable[[ReplicaPlan, Mapping[str, Text], ResourceOptions], object]
