"""Hardware models: what a vendor sells, as data. One YAML file under `hardware/` each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from string import ascii_lowercase
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from fireflyer.model.base import Connector, Name, Record, Technology
from fireflyer.model.cable_parts import CableFamily
from fireflyer.model.switch_parts import Count, Index, SonicPlatform, SonicPort, SwitchBuffer

Watts = Annotated[float, Field(gt=0, le=100_000)]


System = Literal["mlnxos", "sonic", "nvue", "eos", "frr"]
"""An operating system whose configuration is rendered."""
SYSTEMS: Final[Mapping[Technology, tuple[System, ...]]] = {
    "infiniband": ("mlnxos",),
    "ethernet": ("sonic", "nvue", "eos", "frr"),
}
"""The systems of each technology's switches."""
InfinibandMtu = Literal[256, 512, 1024, 2048, 4096]
"""Bytes of payload in the largest packet of a port (MtuCap; IBTA vol. 1, 14.2.5.6)."""


class PowerSupplies(Record):
    """Power supplies of a device."""

    fitted: Count
    needed: Count
    """Supplies that carry the whole device."""

    @model_validator(mode="after")
    def _needed_are_fitted(self) -> Self:
        if self.needed > self.fitted:
            raise ValueError("power_supplies.needed is more than are fitted")
        return self

    @property
    def redundant(self) -> bool:
        """Whether half of them, on the other of two feeds, are enough."""
        return self.fitted // 2 >= self.needed


class DeviceType(Record):
    """A device as inventories know it: names of netbox-community/devicetype-library."""

    manufacturer: str
    model: str
    slug: Name


class SwitchModel(Record):
    """A switch as sold."""

    name: Name
    description: str
    technology: Technology
    ports: Annotated[int, Field(ge=2, le=1024)]
    port_gbps: Count
    connector: Connector
    ports_per_cage: Annotated[int, Field(ge=1, le=8)] = 1
    """Ports that share a cage; two where a twin-port transceiver or a splitter cable goes in."""
    lanes_per_port: Annotated[int, Field(ge=1, le=8)] = 4
    infiniband_mtu_bytes: InfinibandMtu = 4096
    port_name: Annotated[str, Field(pattern=r"\{(port|cage)\}")]
    """The vendor's name of a port on the front panel, for labels and cable lists.

    `{port}` stands for its number, `{cage}` and `{leg}` (from 1), `{leg0}` (from 0) or
    `{letter}` (from a) for its cage and its place in it, `{offset}` for the number of lanes that
    the ports before it have.
    """
    interfaces: Mapping[System, Annotated[str, Field(pattern=r"\{(port|cage|offset)\}")]] = {}
    """The same port's name in each system that runs on this switch; the first is the default."""
    rack_units: Count
    power_w: Watts
    """Draw to plan with, optics included; a rack has to feed as much."""
    power_supplies: PowerSupplies | None = None
    """None where they are not published: the device then counts on one feed alone."""
    relative_price: Annotated[float, Field(ge=0)]
    """Price in the unit of the paper's Table III, with the switch's share of cables."""
    buffer: SwitchBuffer | None = None
    sonic: SonicPlatform | None = None
    """Where SONiC is one of `interfaces`."""
    port_table: Name | None = None
    """The platform's published ports, `hardware/ports/NAME.csv`, which `prove` compares with."""
    device_type: DeviceType | None = None
    """None of a switch that the library does not have."""
    source: str

    @model_validator(mode="after")
    def _systems_can_be_configured(self) -> Self:
        fitting = SYSTEMS[self.technology]
        if strange := [system for system in self.interfaces if system not in fitting]:
            raise ValueError(
                f"interfaces names {strange[0]}, which runs on no {self.technology} switch here:"
                f" use {', '.join(fitting)}"
            )
        if ("sonic" in self.interfaces) != (self.sonic is not None):
            raise ValueError("interfaces.sonic and sonic belong together: add the other one")
        return self

    @model_validator(mode="after")
    def _ports_have_names_of_their_own(self) -> Self:
        templates = {"port_name": self.port_name}
        templates |= {f"interfaces.{name}": text for name, text in self.interfaces.items()}
        if self.sonic is not None:
            templates["sonic.alias"] = self.sonic.alias
        for key, template in templates.items():
            try:
                names = {self._named(template, port) for port in range(1, self.ports + 1)}
            except (KeyError, IndexError, ValueError):
                raise ValueError(
                    f"{key} is {template!r}: use {{port}}, {{cage}}, {{leg}}, {{leg0}},"
                    " {letter} and {offset} alone"
                ) from None
            if len(names) < self.ports:
                raise ValueError(f"{key} is {template!r}: gives two ports one name")
        nvue = self.interfaces.get("nvue", "")
        if nvue and self.ports_per_cage > 1 and not nvue.endswith("{cage}s{leg0}"):
            raise ValueError(
                f"interfaces.nvue is {nvue!r}: Cumulus Linux names the ports of a cage that is"
                " broken out swp{cage}s{leg0}"
            )
        return self

    @model_validator(mode="after")
    def _no_lane_is_wired_twice(self) -> Self:
        if self.sonic is None:
            return self
        if self.sonic.first_lanes and len(self.sonic.first_lanes) != self.ports:
            raise ValueError(
                f"sonic.first_lanes has {len(self.sonic.first_lanes)} lanes for {self.ports} ports"
            )
        lanes = [lane for port in self.sonic_ports for lane in port.lanes]
        if len(set(lanes)) < len(lanes):
            given = "first_lanes" if self.sonic.first_lanes else "cage_lanes"
            raise ValueError(f"sonic.{given} gives two ports one lane")
        return self

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

    @cached_property
    def sonic_ports(self) -> tuple[SonicPort, ...]:
        """The ports in order as SONiC's platform has them; none where it does not run."""
        if self.sonic is None:
            return ()
        found = []
        for number in range(1, self.ports + 1):
            cage, leg = self.cage(number)
            first = self.sonic.first_lane(number, cage)
            if self.sonic.cage_lanes is not None:
                first += (leg - 1) * self.lanes_per_port
            port = SonicPort(
                lanes=range(first, first + self.lanes_per_port),
                alias=self._named(self.sonic.alias, number),
                index=self.sonic.first_index + cage - 1,
                subport=leg if self.ports_per_cage > 1 else 0,
            )
            found.append(port)
        return tuple(found)

    def cage(self, number: int) -> tuple[int, int]:
        """Return a port's cage and its place in it, both from 1."""
        cage, leg = divmod(number - 1, self.ports_per_cage)
        return cage + 1, leg + 1

    def _named(self, template: str, number: int) -> str:
        cage, leg = self.cage(number)
        return template.format(
            port=number,
            cage=cage,
            leg=leg,
            leg0=leg - 1,
            letter=ascii_lowercase[leg - 1],
            offset=(number - 1) * self.lanes_per_port,
        )


class CpuId(Record):
    """What the CPUID instruction says of a processor, with the extended fields added."""

    vendor: Literal["GenuineIntel", "AuthenticAMD"]
    family: Annotated[int, Field(ge=6, le=270)]
    model: Annotated[int, Field(ge=0, le=255)]


class Cpus(Record):
    """The processors of a node."""

    model: str
    sockets: Count
    cores_per_socket: Count
    threads_per_core: Annotated[int, Field(ge=1, le=8)]
    numa_nodes: Count | None = None
    """NUMA nodes of all sockets together; None for one a socket (NPS1 on EPYC)."""
    cpuid: CpuId | None = None
    """None where nobody needs it; a node's topology for NCCL does."""

    @property
    def numa_count(self) -> int:
        return self.numa_nodes or self.sockets


PciAddress = Annotated[str, Field(pattern=r"^[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]$")]
"""Domain, bus, device and function, as `lspci -D` prints them."""


class Nic(Record):
    """A network adapter port of a node."""

    name: Name
    """Linux interface, such as ib0."""
    port_type: Technology
    """Of the port, and of the fabric that it is cabled to."""
    vpi_name: Name | None = None
    """The interface with the other port type, of an adapter that can have either (VPI)."""
    hca: str
    """RDMA device, such as mlx5_0."""
    gbps: Count
    infiniband_mtu_bytes: InfinibandMtu = 4096
    connector: Connector
    numa: Index
    root_port: Index
    """PCIe root port it hangs on; devices with the same number share its bandwidth."""
    bus_id: PciAddress | None = None
    """Its PCI address; None where it is not known."""

    def of_type(self, technology: Technology) -> Nic:
        """Return the adapter with its port set to a technology; unchanged where it has no other."""
        if self.port_type == technology or self.vpi_name is None:
            return self
        change = {"name": self.vpi_name, "vpi_name": self.name, "port_type": technology}
        return self.model_copy(update=change)


class Gpu(Record):
    """An accelerator of a node."""

    model: str
    memory_gb: Count
    numa: Index
    root_port: Index
    bus_id: PciAddress | None = None
    """Its PCI address; None where it is not known."""


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
    power_supplies: PowerSupplies | None = None
    """None where they are not published: the node then counts on one feed alone."""
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
    device_type: DeviceType | None = None
    """None of a node that the library does not have."""
    source: str

    @model_validator(mode="after")
    def _gpus_have_a_speed(self) -> Self:
        if self.gpus and self.pcie_gts is None:
            raise ValueError("a node with gpus needs pcie_gts: NCCL takes 8 GT/s where none is")
        return self

    @model_validator(mode="after")
    def _numa_nodes_are_of_processors(self) -> Self:
        cpus = self.cpus
        if cpus.sockets * cpus.cores_per_socket % cpus.numa_count:
            raise ValueError("cpus.numa_nodes does not divide the cores")
        devices: tuple[Gpu | Nic, ...] = (*self.gpus, *self.nics)
        if any(device.numa >= cpus.numa_count for device in devices):
            raise ValueError("a device's numa is not below cpus.numa_nodes (one a socket if unset)")
        return self

    @model_validator(mode="after")
    def _bus_ids_are_whole(self) -> Self:
        gpus = [gpu.bus_id for gpu in self.gpus]
        ids = [*gpus, *(nic.bus_id for nic in self.nics)]
        known = [bus_id for bus_id in ids if bus_id is not None]
        if known and len(known) < len(ids):
            raise ValueError("bus_id is set for some gpus and nics only; set all of them or none")
        if len(set(known)) < len(known):
            raise ValueError("two devices have the same bus_id")
        if known and gpus != sorted(known[: len(gpus)]):
            raise ValueError("the gpus' bus_id do not ascend: NVML and CUDA count GPUs by them")
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

    def of_type(self, technology: Technology) -> NodeModel:
        """Return the node with its adapters' ports set to a technology where they can be."""
        nics = tuple(nic.of_type(technology) for nic in self.nics)
        return self if nics == self.nics else self.model_copy(update={"nics": nics})


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Every hardware model the blueprint knows, by name."""

    switches: Mapping[str, SwitchModel]
    nodes: Mapping[str, NodeModel]
    cables: Mapping[tuple[str, int], CableFamily]
    """By technology and link speed in Gb/s."""

    def of_type(self, technology: Technology) -> Catalogue:
        """Return the catalogue with adapters' ports set to a technology where they can be."""
        nodes = {name: node.of_type(technology) for name, node in self.nodes.items()}
        return replace(self, nodes=nodes)
