"""The intent of a replica: what a person wrote of it in a stack's `Pulumi.<stack>.yaml`.

Defaults live here and nowhere else. Every field is documented in `docs/replica.md`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from fireflyer.model.base import DnsName, Name, Record
from fireflyer.model.instance import Market, Provider, TypeName

Scale = Annotated[str, Field(pattern=r"^[0-9]{1,6}(/[0-9]{1,6})?$")]
Cidr = Annotated[str, Field(pattern=r"^[0-9.]+/[0-9]{1,2}$")]
Text = Annotated[str, Field(min_length=1, max_length=200)]
PublicKey = Annotated[
    str, Field(pattern=r"^(ssh-ed25519|ssh-rsa|ecdsa-sha2-\S+) [A-Za-z0-9+/=]{40,}")
]
UTC_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
Utc = Annotated[str, Field(pattern=r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]


class ReplicaNodes(Record):
    """What one kind of node becomes."""

    instance: TypeName
    market: Market = "on-demand"


class Placement(Record):
    """What keeps a zone's nodes close together, or keeps room for them."""

    kind: Literal["cluster", "reservation", "capacity-block", "none"] = "cluster"
    reservation: Text | None = None
    """Id of the reservation, of the capacity block, or of the group that holds the reservation."""
    group: Text | None = None
    """Of a reservation that was made inside a placement group: that group."""


class Image(Record):
    """The image of every host: one, pinned."""

    id: Text | None = None
    owner: Text | None = None
    name: Text | None = None
    """Whole name, without a wildcard."""
    publisher: Text | None = None
    offer: Text | None = None
    sku: Text | None = None
    version: Text | None = None
    """Of a market's image: one version, not the latest."""
    user: Text | None = None
    """Whom Ansible logs in as. None: the provider's usual."""

    @property
    def label(self) -> str:
        """What a person calls it."""
        if self.id is not None:
            return self.id
        if self.owner is not None:
            return f"{self.name} of {self.owner}"
        return f"{self.publisher}:{self.offer}:{self.sku}:{self.version}"


class ReplicaNetwork(Record):
    """Addresses of the replica, and its way out."""

    cidr: Cidr = "10.60.0.0/16"
    egress: Literal["nat", "none"] = "nat"
    """Whether hosts reach package mirrors through an address translator, or nothing outside."""


class Access(Record):
    """How Ansible and people reach the hosts."""

    kind: Literal["session-manager", "bastion"] = "session-manager"
    cidrs: tuple[Cidr, ...] = ()
    """Networks that may open SSH to the bastion."""
    instance: TypeName | None = None
    """Of the bastion. None: a small one."""
    public_key: PublicKey | None = None
    """That may log in, as ssh-keygen writes it; nothing is created without one."""


class ReplicaIntent(Record):
    """A scale model of a site, in a cloud."""

    of: Name
    """The site: a folder of `inventory/`."""
    scale: Scale
    """Nodes of the replica for each node of the site, such as 1/300."""
    zones: Annotated[int, Field(ge=1, le=8)] | None = None
    """How many of the site's zones, from the first; all if it is not given."""
    provider: Provider
    region: Name
    zone: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,40}$")]
    """The provider's availability zone, one for all hosts; `none` of a provider's sets without one.

    On AWS it cannot be otherwise: a storage node has a foot in every zone of the site.
    """
    compute: ReplicaNodes
    storage: ReplicaNodes
    management: ReplicaNodes
    placement: Placement = Placement()
    image: Image
    network: ReplicaNetwork = ReplicaNetwork()
    access: Access
    ntp_servers: tuple[DnsName, ...] = ()
    """None: the provider's own."""
    owner: Text
    """Who pays; a tag of every resource."""
    ttl_hours: Annotated[int, Field(ge=1, le=720)]
    """Time after which the replica stops by itself."""
    usd_per_day_ceiling: Annotated[float, Field(gt=0, le=10_000_000)]

    @property
    def place(self) -> str:
        """Where it stands: the zone, with the region where the provider's zones have numbers."""
        if self.zone == "none":
            return self.region
        return f"{self.region}-{self.zone}" if self.zone.isdigit() else self.zone


class ReplicaFile(Record):
    """The keys of a stack's configuration that are the replica's."""

    replica: ReplicaIntent
    expires: Utc | None = None
    """When it stops by itself; `make replica-up` writes it."""
