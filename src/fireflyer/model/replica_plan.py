"""The plan of a replica: every network, host and interface that a provider shall make.

It knows no provider's software. Pulumi turns it into resources, preflight compares it with what
the provider says, and the inventory is printed from the fabric in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from netaddr import IPAddress, IPNetwork

from fireflyer.model.fabric import Fabric, Role
from fireflyer.model.instance import Cloud, InstanceType, Market
from fireflyer.model.replica import ReplicaIntent

InterfaceKind = Literal["ethernet", "rdma"]
SubnetKind = Literal["public", "management", "storage", "zone"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSubnet:
    """One subnet of the replica's network."""

    name: str
    kind: SubnetKind
    network: IPNetwork

    @property
    def router(self) -> IPAddress:
        """The provider's router: the first address."""
        return IPAddress(self.network.first + 1, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedInterface:
    """One network interface of a host."""

    card: int
    device: int
    """Its index on the card."""
    kind: InterfaceKind
    subnet: str
    address: IPAddress | None
    """None for RDMA alone, which has no address of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedHost:
    """One instance."""

    name: str
    role: Role
    zone: str
    instance: InstanceType
    market: Market
    interfaces: tuple[PlannedInterface, ...]
    """The first is the one that the host is managed at."""
    group: str | None
    """The placement group it starts in."""
    reservation: str | None
    names: Mapping[str, IPAddress]
    """DNS names without the domain: the host's own, and one for each foot in a zone."""

    @property
    def address(self) -> IPAddress:
        address = self.interfaces[0].address
        assert address is not None
        return address

    @property
    def subnet(self) -> str:
        return self.interfaces[0].subnet


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceLine:
    """What one kind of thing costs, by the catalogue's list."""

    what: str
    count: int
    usd_per_hour: float
    """Of all of them."""
    as_of: str


@dataclass(frozen=True, eq=False, kw_only=True)
class ReplicaPlan:
    """A replica, ready to be made. Equal to itself alone, as the fabric in it is."""

    name: str
    """The stack's."""
    site: str
    intent: ReplicaIntent
    cloud: Cloud
    expires: str | None
    alarms_told: bool
    """Whether alarms and the budget have a receiver."""
    fabric: Fabric
    network: IPNetwork
    subnets: tuple[PlannedSubnet, ...]
    hosts: tuple[PlannedHost, ...]
    new_groups: tuple[str, ...]
    """Placement groups to make; one that a reservation was made in is there already."""
    bastion: InstanceType | None
    prices: tuple[PriceLine, ...]
    where: Mapping[str, str]
    """File and line of each key of the intent."""

    def subnet(self, name: str) -> PlannedSubnet:
        """Return the subnet with this name."""
        return next(subnet for subnet in self.subnets if subnet.name == name)

    def hosts_of(self, role: Role) -> Iterator[PlannedHost]:
        """Yield the hosts of a role in order."""
        return (host for host in self.hosts if host.role is role)

    @property
    def machines(self) -> tuple[tuple[InstanceType, Market], ...]:
        """Type and market of every machine, the bastion last."""
        hosts = tuple((host.instance, host.market) for host in self.hosts)
        return hosts if self.bastion is None else (*hosts, (self.bastion, "on-demand"))

    @property
    def types(self) -> Mapping[str, InstanceType]:
        """The types of all machines, by name."""
        return {instance.type: instance for instance, _ in self.machines}

    @property
    def login(self) -> str:
        """Whom Ansible logs in as."""
        return self.intent.image.user or self.cloud.login

    @property
    def rdma(self) -> str:
        """What the compute nodes' adapters for RDMA are: `efa`, `infiniband` or `none`."""
        return next(self.hosts_of(Role.COMPUTE)).instance.network.rdma

    @property
    def domain(self) -> str:
        return self.fabric.intent.domain

    @property
    def usd_per_hour(self) -> float:
        return sum(line.usd_per_hour for line in self.prices)

    @property
    def usd_per_day(self) -> float:
        return self.usd_per_hour * 24
