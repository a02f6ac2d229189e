"""The fabric: every device, port, cable and address of a site, computed from its intent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from netaddr import IPAddress, IPNetwork

from fireflyer.model.cable_parts import CableFamily
from fireflyer.model.hardware import NodeModel, SwitchModel, System
from fireflyer.model.intent import Cluster, TrafficClass


class Layer(StrEnum):
    """What a switch is for."""

    LEAF = "leaf"
    SPINE = "spine"
    CORE = "core"
    INTERZONE = "interzone"


class Role(StrEnum):
    """What a node is for."""

    COMPUTE = "compute"
    STORAGE = "storage"
    MANAGEMENT = "management"


@dataclass(frozen=True, slots=True)
class Guid:
    """A 64-bit InfiniBand identifier of a port."""

    value: int
    placeholder: bool
    """True until the asset list has the real one."""

    def __str__(self) -> str:
        return f"0x{self.value:016x}"


@dataclass(frozen=True, slots=True)
class Place:
    """A device's lowest rack unit."""

    rack: str
    unit: int
    row: int
    column: int

    def __str__(self) -> str:
        return f"{self.rack} U{self.unit:02d}"


@dataclass(frozen=True, slots=True)
class Fitting:
    """Something in a rack that is no device: a cable manager or a patch panel."""

    name: str
    part: str
    description: str
    place: Place
    rack_units: int


class Port(NamedTuple):  # a tuple, as Cable: a site has hundreds of thousands
    """A port of a device, numbered from 1 as on the front panel."""

    device: str
    number: int

    def __str__(self) -> str:
        return f"{self.device}/{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """A switch of the fabric."""

    name: str
    layer: Layer
    tree: str | None
    """Its zone, or its plane where there are several; None for the switches between zones."""
    index: int
    model: SwitchModel
    guid: Guid
    place: Place
    management: IPAddress
    loopback: IPAddress
    serial: str
    """Empty, like the address below, where the asset list does not have it."""
    mac: str = ""
    """Of the management port."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePort:
    """A node's port on the fabric."""

    name: str
    """Linux interface, such as ib0."""
    hca: str
    number: int
    """1 for the node's first adapter."""
    tree: str
    """Zone or plane of its leaf."""
    leaf: Port
    guid: Guid
    gbps: int
    address: IPAddress
    network: IPNetwork
    gateway: IPAddress | None = None
    """The leaf, where it routes (Ethernet)."""
    rail: int = 0
    """Counts a node's adapters in one tree, from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A host of the fabric."""

    name: str
    role: Role
    zone: str
    """Where it stands; a storage node has ports in every zone."""
    index: int
    model: NodeModel
    ports: tuple[NodePort, ...]
    place: Place
    management: IPAddress
    loopback: IPAddress
    serial: str
    mac: str
    bmc_mac: str


class CableRole(StrEnum):
    """What a cable joins."""

    HOST = "host"
    TREE = "tree"
    """Switches of neighbouring layers of one zone."""
    INTERZONE = "interzone"


@dataclass(frozen=True, slots=True)
class PanelPort:
    """A position of a patch panel, from 1."""

    panel: str
    position: int

    def __str__(self) -> str:
        return f"{self.panel}:{self.position}"


@dataclass(frozen=True, slots=True)
class Trunk:
    """A cable of many fibres between the panels of two racks."""

    id: str
    part: str
    fibres: int
    length_m: float
    a: PanelPort
    """First of its positions in the rack whose name comes first."""
    z: PanelPort
    positions: int
    """Connectors at each end."""


@dataclass(frozen=True, slots=True)
class Route:
    """The way of a link through a trunk: lead, panel, trunk, panel, lead."""

    trunk: str
    a: PanelPort
    z: PanelPort
    a_lead_m: float
    z_lead_m: float


class Cable(NamedTuple):
    """A cable; `a` is the lower end: the host, the leaf below a spine."""

    id: str
    role: CableRole
    a: Port
    z: Port
    gbps: int
    medium: str
    need_m: float
    """Way from port to port, slack included."""
    length_m: float
    """The next length sold."""
    part: str
    """The vendor's number up to the length."""
    a_optic: str
    """Transceiver in the cage at this end; empty where the cable has its own plug."""
    z_optic: str
    assembly: str
    """Id of the first link of the cable that this link is a leg of; most have one link."""
    bundle: str
    """Cables pulled together: between the same two racks, whichever of them is at the a end."""
    pull: int
    """Turn in which the cable is pulled, from 1; one for all legs, and for all links of a trunk."""
    route: Route | None = None
    """Through a trunk; `length_m` is then that of leads and trunk, `part` that of the leads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PortBudget:
    """Host-side ports of a zone's leaves: what there are and what takes them."""

    total: int
    compute: int
    storage: int
    management: int
    interzone: int

    @property
    def used(self) -> int:
        return self.compute + self.storage + self.management + self.interzone

    @property
    def free(self) -> int:
        return self.total - self.used


@dataclass(frozen=True, slots=True, kw_only=True)
class Manager:
    """A subnet manager: a process on a host, which sees the subnet of one port."""

    host: str
    port: NodePort
    priority: int
    """The highest of a subnet is master, the others are standby."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subnet:
    """What one InfiniBand subnet manager routes: all zones, or one plane."""

    name: str
    """The plane's; the site's where there is one subnet."""
    trees: tuple[str, ...]
    folder: str
    """Of its files below a host's; empty where there is one subnet."""
    prefix: str
    """Of its GIDs."""
    mtu_bytes: int
    """The largest packet that every switch and every adapter of it takes."""
    gbps: int
    """The slowest of its links."""
    roots: tuple[Switch, ...]
    """Its topmost switches: up/down routing turns there and nowhere else."""
    managers: tuple[Manager, ...]
    """In order of priority."""


def topmost(switches: Iterable[Switch]) -> tuple[Switch, ...]:
    """Return the switches of the highest layer that is there."""
    known = tuple(switches)
    for layer in (Layer.INTERZONE, Layer.CORE, Layer.SPINE):
        if found := tuple(switch for switch in known if switch.layer is layer):
            return found
    raise AssertionError("a fabric has at least one spine")


@dataclass(frozen=True, eq=False)
class Fabric:
    """Everything that is rendered, proved and verified. Equal to itself alone."""

    intent: Cluster
    zones: tuple[str, ...]
    """Where nodes stand and jobs run."""
    trees: tuple[str, ...]
    """The trees of switches: the zones, or the planes where there are several."""
    switches: tuple[Switch, ...]
    nodes: tuple[Node, ...]
    cables: tuple[Cable, ...]
    family: CableFamily
    """What the cables were chosen from."""
    budgets: Mapping[str, PortBudget]
    """By tree."""
    networks: Mapping[str, IPNetwork]
    """By name: management, ipoib_<tree> or roce_<tree>, loopback, links."""
    system: System | None
    """What the switches run; None where nothing is configured."""
    subnets: tuple[Subnet, ...] = ()
    """InfiniBand: one, or one a plane; Ethernet has none."""
    fittings: tuple[Fitting, ...] = ()
    """Cable managers and patch panels."""
    trunks: tuple[Trunk, ...] = ()

    @cached_property
    def switch(self) -> Mapping[str, Switch]:
        """Switches by name."""
        return {switch.name: switch for switch in self.switches}

    @cached_property
    def node(self) -> Mapping[str, Node]:
        """Nodes by name."""
        return {node.name: node for node in self.nodes}

    @cached_property
    def node_port(self) -> Mapping[Port, NodePort]:
        """Node ports by their end of the cable."""
        return {Port(node.name, port.number): port for node in self.nodes for port in node.ports}

    @cached_property
    def far_end(self) -> Mapping[Port, Port]:
        """The other end of the cable in each port."""
        ends = {cable.a: cable.z for cable in self.cables}
        ends.update({cable.z: cable.a for cable in self.cables})
        return ends

    @cached_property
    def gateways(self) -> tuple[str, ...]:
        """The leaves that lead to the switches between zones, one a zone."""
        between = (c.a.device for c in self.cables if c.role is CableRole.INTERZONE)
        return tuple(dict.fromkeys(between))

    @cached_property
    def leaf_uplinks(self) -> Mapping[str, int]:
        """Number of cables from each leaf to spines."""
        leaves = {switch.name for switch in self.switches_of(Layer.LEAF)}
        tree = (cable.a.device for cable in self.cables if cable.role is CableRole.TREE)
        return Counter(lower for lower in tree if lower in leaves)

    @property
    def is_ethernet(self) -> bool:
        return self.intent.fabric.technology == "ethernet"

    @property
    def tree_kind(self) -> str:
        """What a tree is called: zone or plane."""
        return "plane" if self.intent.fabric.planes > 1 else "zone"

    @property
    def placeholders(self) -> int:
        """Number of adapters and switches whose GUID is invented; Ethernet needs none."""
        if self.is_ethernet:
            return 0
        guids = [port.guid for port in self.node_port.values()]
        return sum(guid.placeholder for guid in (*guids, *(s.guid for s in self.switches)))

    @property
    def traffic_default(self) -> TrafficClass:
        return self.traffic_class(self.intent.traffic.default)

    def traffic_class(self, name: str) -> TrafficClass:
        """Return the row of the traffic table with this name."""
        return next(row for row in self.intent.traffic.classes if row.name == name)

    def nodes_of(self, role: Role) -> Iterator[Node]:
        """Yield the nodes of a role in order."""
        return (node for node in self.nodes if node.role is role)

    def switches_of(self, layer: Layer, tree: str | None = None) -> Iterator[Switch]:
        """Yield the switches of a layer, of one tree if it is given."""
        return (s for s in self.switches if s.layer is layer and tree in (None, s.tree))

    def device_place(self, name: str) -> Place:
        """Return where a switch or a node stands."""
        return self.switch[name].place if name in self.switch else self.node[name].place

    def port_name(self, port: Port) -> str:
        """Return a port's name as its vendor prints it."""
        if port.device in self.switch:
            return self.switch[port.device].model.port(port.number)
        return self.node_port[port].hca

    def guid(self, port: Port) -> Guid:
        """Return the GUID seen at a port: the switch's own, or the adapter's."""
        if port.device in self.switch:
            return self.switch[port.device].guid
        return self.node_port[port].guid
