"""Hardware models: what a vendor sells, as data. One YAML file under `hardware/` each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from fireflyer.model.base import Name, Record

Count = Annotated[int, Field(ge=1)]
Index = Annotated[int, Field(ge=0)]
Watts = Annotated[float, Field(gt=0)]


class SwitchModel(Record):
    """A switch as sold."""

    name: Name
    description: str
    technology: Literal["infiniband", "ethernet"]
    system: Literal["mlnxos", "none"]
    """Operating system whose configuration is rendered."""
    ports: Annotated[int, Field(ge=2, le=1024)]
    port_gbps: Count
    port_name: Annotated[str, Field(pattern=r"\{port\}")]
    """The vendor's name of a port; `{port}` stands for its number on the front panel."""
    interface: Annotated[str, Field(pattern=r"^[a-z]+ [0-9/]*\{port\}$")]
    """The same port on the command line of its system."""
    rack_units: Count
    power_w: Watts
    """Draw to plan with, optics included."""
    relative_price: Annotated[float, Field(ge=0)]
    """Price in the unit of the paper's Table III, with the switch's share of cables."""
    source: str

    def port(self, number: int) -> str:
        """Return the vendor's name of a front-panel port."""
        return self.port_name.replace("{port}", str(number))


class Cpus(Record):
    """The processors of a node."""

    model: str
    sockets: Count
    cores_per_socket: Count
    threads_per_core: Annotated[int, Field(ge=1, le=8)]


class Nic(Record):
    """A network adapter port of a node."""

    name: Name
    """Linux interface, such as ib0."""
    hca: str
    """RDMA device, such as mlx5_0."""
    gbps: Count
    numa: Index
    root_port: Index
    """PCIe root port it hangs on; devices with the same number share its bandwidth."""


class Gpu(Record):
    """An accelerator of a node."""

    model: str
    memory_gb: Count
    numa: Index
    root_port: Index


class NodeModel(Record):
    """A server as built."""

    name: Name
    description: str
    role: Literal["compute", "storage", "management"]
    rack_units: Count
    power_w: Watts
    relative_price: Annotated[float, Field(ge=0)]
    cpus: Cpus
    memory_mb: Count
    """Memory the scheduler may hand out: what is fitted less what the system keeps."""
    nics: Annotated[tuple[Nic, ...], Field(min_length=1)]
    gpus: tuple[Gpu, ...] = ()
    nvme_drives: Index = 0
    nvme_drive_tb: Annotated[float, Field(ge=0)] = 0.0
    root_port_gbytes_per_s: Watts | None = None
    """What one root port carries to the processor's fabric, GB/s."""
    source: str


class CableOffer(Record):
    """Cables of one medium that are sold for one link speed."""

    medium: Literal["dac", "aoc"]
    maximum_m: Annotated[float, Field(gt=0)]
    lengths_m: Annotated[tuple[float, ...], Field(min_length=1)]
    power_w: Annotated[float, Field(ge=0)]
    """Draw of both ends together."""


class CableFamily(Record):
    """Cables for one link speed; the first offer that reaches is the one to buy."""

    name: Name
    gbps: Count
    offers: Annotated[tuple[CableOffer, ...], Field(min_length=1)]
    source: str


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Every hardware model the blueprint knows, by name."""

    switches: Mapping[str, SwitchModel]
    nodes: Mapping[str, NodeModel]
    cables: Mapping[int, CableFamily]
    """By link speed in Gb/s."""
