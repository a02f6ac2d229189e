"""Instance types of a cloud: what a provider rents, as data under `hardware/instances/`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from fireflyer.model.base import Record
from fireflyer.model.hardware import Cpus

Provider = Literal["aws", "azure"]
Market = Literal["on-demand", "spot", "capacity-block"]
TypeName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,59}$")]
Count = Annotated[int, Field(ge=1)]
CountOrNone = Annotated[int, Field(ge=0)]
Usd = Annotated[float, Field(gt=0, le=10_000)]
Date = Annotated[str, Field(pattern=r"^20\d\d-\d\d(-\d\d)?$")]


class InstanceGpus(Record):
    """The accelerators of an instance; all alike."""

    model: str
    count: Count
    memory_gb: Count
    pcie_gts: Literal[8, 16, 32, 64]


class InstanceNetwork(Record):
    """Network cards of an instance, and what may be attached to them."""

    gbps: Count
    """All cards together."""
    cards: Count = 1
    interfaces_per_card: Count
    rdma: Literal["efa", "infiniband", "none"] = "none"
    rdma_devices: CountOrNone = 0
    rdma_first_card: CountOrNone = 0
    """The first card that carries one; those before it are for Ethernet alone."""

    @model_validator(mode="after")
    def _devices_fit(self) -> Self:
        if (self.rdma == "none") != (self.rdma_devices == 0):
            raise ValueError("rdma and rdma_devices go together: give both or neither")
        if self.rdma == "efa" and self.rdma_first_card + self.rdma_devices > self.cards:
            raise ValueError("there are more rdma_devices than cards that carry one")
        return self


class InstanceNvme(Record):
    """Drives inside the instance; what they hold is lost when it stops."""

    drives: CountOrNone = 0
    drive_gb: CountOrNone = 0


class ListPrice(Record):
    """What the provider's page said on a day: to be checked, never live."""

    usd_per_hour: Usd
    region: str
    as_of: Date
    source: str


class InstanceType(Record):
    """An instance type as rented."""

    type: TypeName
    provider: Provider
    description: str
    cpus: Cpus
    memory_mb: Count
    """Memory of the machine; the scheduler may hand out what `usable_memory_mb` says."""
    gpus: InstanceGpus | None = None
    network: InstanceNetwork
    nvme: InstanceNvme = InstanceNvme()
    markets: Annotated[tuple[Market, ...], Field(min_length=1)]
    quotas: Mapping[Market, str]
    """The provider's quota of each market, counted in virtual processors."""
    cluster_placement: bool
    """Whether a cluster placement group takes it, or what the provider has in its place."""
    price: ListPrice

    @property
    def vcpus(self) -> int:
        return self.cpus.sockets * self.cpus.cores_per_socket * self.cpus.threads_per_core

    @property
    def usable_memory_mb(self) -> int:
        """What is left for jobs: a sixteenth is the system's."""
        return self.memory_mb - self.memory_mb // 16


class DriverlessImages(Record):
    """Images of a publisher that are known to have no GPU driver."""

    publisher: str
    """On AWS the owner's account."""
    names: Annotated[tuple[str, ...], Field(min_length=1)]
    """How their names begin; on Azure, their offers."""
    what: str
    """What a person calls them."""

    def holds(self, publisher: str, name: str) -> bool:
        """Return whether an image is one of them."""
        same = publisher.casefold() == self.publisher.casefold()
        return same and name.casefold().startswith(tuple(n.casefold() for n in self.names))


class Cloud(Record):
    """What a replica takes of a provider beside instances, by its list."""

    provider: Provider
    time_server: str
    """The provider's own."""
    time_server_outside: bool = False
    """Whether it is asked over the internet, and not on the link."""
    login: str
    """Whom Ansible logs in as, if the image does not say."""
    bastion: TypeName
    """The type of the bastion, if the intent does not say."""
    images_without_gpu_driver: tuple[DriverlessImages, ...]
    images_with_gpu_driver: str
    """What to take in their place."""
    region_quotas: Mapping[Market, str] = {}
    """Quotas of the region that count whatever runs, beside that of the type."""
    disk_usd_per_gb_month: Usd
    nat_usd_per_hour: Usd
    endpoint_usd_per_hour: Usd
    address_usd_per_hour: Usd
    region: str
    as_of: Date
    source: str


@dataclass(frozen=True, slots=True)
class Instances:
    """Every provider and instance type the blueprint knows."""

    clouds: Mapping[Provider, Cloud]
    types: Mapping[tuple[Provider, str], InstanceType]

    def of(self, provider: Provider) -> Mapping[str, InstanceType]:
        """Return a provider's types by name."""
        return {name: found for (of, name), found in self.types.items() if of == provider}
