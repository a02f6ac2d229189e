"""Hardware models: what a vendor sells, as data. One YAML file under `hardware/` each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from fireflyer.model.base import Name, Record

Count = Annotated[int, Field(ge=1)]
Index = Annotated[int, Field(ge=0)]
Watts = Annotated[float, Field(gt=0, le=100_000)]


System = Literal["mlnxos", "sonic", "nvue", "eos", "frr"]
"""An operating system whose configuration is rendered."""
Connector = Literal["qsfp56", "qsfp112", "osfp", "qsfp-dd"]
Medium = Literal["dac", "aoc", "dac-splitter", "aoc-splitter", "fibre"]
MEDIA: Final[tuple[Medium, ...]] = ("dac", "aoc", "dac-splitter", "aoc-splitter", "fibre")


class SwitchBuffer(Record):
    """Packet memory of an Ethernet switch, and how fast it reacts."""

    total_bytes: Count
    cell_bytes: Count
    """Memory is given out in cells; every figure is rounded up to them."""
    pfc_response_quanta: Count
    """Time to stop after a PFC frame has come in, in quanta of 512 bits (IEEE 802.3 31B.3.7)."""
    lossless_queues: Count
    """Queues a port can keep lossless."""


class SonicModel(Record):
    """A switch as SONiC names it."""

    platform: str
    hwsku: str


class SwitchModel(Record):
    """A switch as sold."""

    name: Name
    description: str
    technology: Literal["infiniband", "ethernet"]
    ports: Annotated[int, Field(ge=2, le=1024)]
    port_gbps: Count
    connector: Connector
    ports_per_cage: Annotated[int, Field(ge=1, le=8)] = 1
    """Ports that share a cage; two where a twin-port transceiver or a splitter cable goes in."""
    lanes_per_port: Annotated[int, Field(ge=1, le=8)] = 4
    port_name: Annotated[str, Field(pattern=r"\{(port|cage)\}")]
    """The vendor's name of a port on the front panel, for labels and cable lists.

    `{port}` stands for its number, `{cage}` and `{leg}` (from 1) or `{leg0}` (from 0) for its
    cage and its place in it, `{lane}` for the number of its first lane, from 0.
    """
    interfaces: Mapping[System, Annotated[str, Field(pattern=r"\{(port|cage|lane)\}")]] = {}
    """The same port's name in each system that runs on this switch; the first is the default."""
    rack_units: Count
    power_w: Watts
    """Draw to plan with, optics included; a rack has to feed as much."""
    relative_price: Annotated[float, Field(ge=0)]
    """Price in the unit of the paper's Table III, with the switch's share of cables."""
    buffer: SwitchBuffer | None = None
    sonic: SonicModel | None = None
    source: str

    @property
    def rack_power_w(self) -> float:
        """What a rack has to feed."""
        return self.power_w

    def port(self, number: int) -> str:
        """Return the vendor's name of a front-panel port."""
        return self._named(self.port_name, number)

    def interface(self, system: System, number: int) -> str:
        """Return a port's name in a system that runs on this switch."""
        return self._named(self.interfaces[system], number)

    def port_names(self, system: System | None = None) -> tuple[str, ...]:
        """Return the ports' names in order: a system's, or those on the front panel."""
        numbers = range(1, self.ports + 1)
        if system is None:
            return tuple(self.port(number) for number in numbers)
        return tuple(self.interface(system, number) for number in numbers)

    def first_lane(self, number: int) -> int:
        """Return the number of a port's first lane, counted from 0."""
        return (number - 1) * self.lanes_per_port

    def cage(self, number: int) -> tuple[int, int]:
        """Return a port's cage and its place in it, both from 1."""
        cage, leg = divmod(number - 1, self.ports_per_cage)
        return cage + 1, leg + 1

    def _named(self, template: str, number: int) -> str:
        cage, leg = self.cage(number)
        return template.format(
            port=number, cage=cage, leg=leg, leg0=leg - 1, lane=self.first_lane(number)
        )


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
    connector: Connector
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
    """Draw to plan a site's energy with: on average under load."""
    power_max_w: Watts | None = None
    """The most it may draw, which its rack has to feed; None where nobody has published it."""
    relative_price: Annotated[float, Field(ge=0)]
    cpus: Cpus
    memory_mb: Count
    """Memory the scheduler may hand out: what is fitted less what the system keeps."""
    nics: tuple[Nic, ...]
    """Adapters on the fabric; a management node may have none."""
    gpus: tuple[Gpu, ...] = ()
    nvme_drives: Index = 0
    nvme_drive_tb: Annotated[float, Field(ge=0)] = 0.0
    nvlink_pairs: tuple[tuple[Index, Index], ...] = ()
    """GPUs joined by an NVLink bridge, as CUDA numbers them; a GPU is in one pair at most."""
    memory_gbytes_per_s: Annotated[float, Field(gt=0)] | None = None
    """What the memory of all sockets carries in practice, GB/s; None where nobody measured it."""
    root_port_gbytes_per_s: Annotated[float, Field(gt=0)] | None = None
    """What one root port carries to the processor's fabric, GB/s."""
    pcie_gts: Literal[8, 16, 32, 64] | None = None
    """Transfers of one PCIe lane, GT/s: 16 of the fourth generation, 32 of the fifth."""
    source: str

    @model_validator(mode="after")
    def _gpus_have_a_speed(self) -> Self:
        if self.gpus and self.pcie_gts is None:
            raise ValueError("a node with gpus needs pcie_gts: NCCL takes 8 GT/s where none is")
        return self

    @model_validator(mode="after")
    def _pairs_are_of_gpus(self) -> Self:
        paired = [gpu for pair in self.nvlink_pairs for gpu in pair]
        if len(set(paired)) < len(paired) or not set(paired) <= set(range(len(self.gpus))):
            raise ValueError("nvlink_pairs names a GPU twice, or one that is not there")
        return self

    @property
    def rack_power_w(self) -> float:
        """What a rack has to feed: the most it may draw, or the average if that is all we know."""
        return self.power_w if self.power_max_w is None else self.power_max_w

    @model_validator(mode="after")
    def _most_is_not_less(self) -> Self:
        if self.rack_power_w < self.power_w:
            raise ValueError("power_max_w is less than power_w")
        return self


class Plug(Record):
    """What goes into a cage: the end of a cable, or a transceiver."""

    connector: Connector
    links: Annotated[int, Field(ge=1, le=8)] = 1
    """Links through it: as many as its cage has ports."""
    power_w: Annotated[float, Field(ge=0)]
    part: str = ""
    """Of a transceiver; the end of a cable is not sold alone."""


class CableOffer(Record):
    """Cables of one medium that are sold for one link speed."""

    medium: Medium
    plugs: Annotated[tuple[Plug, ...], Field(min_length=1)]
    """The two ends of a cable, the wide one first; of fibre, the transceivers it may join."""
    reach_m: Annotated[float, Field(gt=0)]
    lengths_m: Annotated[tuple[float, ...], Field(min_length=1)]
    part: str
    """The vendor's number up to the length, which completes it."""

    @model_validator(mode="after")
    def _plugs_fit_medium(self) -> Self:
        links = [plug.links for plug in self.plugs]
        if self.medium == "fibre":
            if not all(plug.part for plug in self.plugs):
                raise ValueError("every plug of a fibre is a transceiver and needs its part")
        elif len(links) != 2 or (self.medium in ("dac", "aoc")) != (links[0] == links[1]):
            kind = "different" if "splitter" in self.medium else "equal"
            raise ValueError(f"a {self.medium} has two plugs with {kind} numbers of links")
        elif self.medium in ("dac-splitter", "aoc-splitter") and not links[0] > links[1] == 1:
            raise ValueError("a splitter's wide plug comes first, the other carries one link")
        return self


class CableFamily(Record):
    """Cables for one link speed; the first offer that reaches is the one to buy."""

    name: Name
    technology: Literal["infiniband", "ethernet"]
    gbps: Count
    offers: Annotated[tuple[CableOffer, ...], Field(min_length=1)]
    source: str


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Every hardware model the blueprint knows, by name."""

    switches: Mapping[str, SwitchModel]
    nodes: Mapping[str, NodeModel]
    cables: Mapping[tuple[str, int], CableFamily]
    """By technology and link speed in Gb/s."""
