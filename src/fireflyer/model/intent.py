"""The intent: what a person wrote of a site in `group_vars/all/cluster.yml`.

Defaults live here and nowhere else. Every field is documented for the operator in
`docs/intent.md`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from fireflyer.model.base import DnsName, Name, Record
from fireflyer.model.cable_parts import MEDIA, Medium

Count = Annotated[int, Field(ge=1, le=100_000)]
CountOrNone = Annotated[int, Field(ge=0, le=100_000)]
Percent = Annotated[float, Field(ge=0, le=100)]
Url = Annotated[str, Field(pattern=r"^(https?://[^\s\"',]*[^\s\"',/])?$", max_length=200)]
Host = Annotated[str, Field(pattern=r"^[a-z0-9-]+$", max_length=63)]


class SwitchLayer(Record):
    """One layer of switches of a zone."""

    model: Name
    count: Count
    """Switches of this layer in each zone."""


class InterZone(Record):
    """The switches that join zones through each zone's gateway leaf."""

    model: Name
    switches: Count
    links_per_zone: Count


class PfcWatchdog(Record):
    """When a switch ends a pause that does not end by itself, and when it tries again."""

    detect_ms: Annotated[int, Field(ge=100, le=5000)] = 200
    restore_ms: Annotated[int, Field(ge=100, le=60_000)] = 400


class EthernetIntent(Record):
    """What an Ethernet fabric needs beside its shape: routing to the leaf, lossless classes."""

    asn_first: Annotated[int, Field(ge=64_512, le=4_294_967_294)] = 4_200_000_000
    """First of the private numbers (RFC 6996) that layers and leaves count from."""
    numbered_links: bool = False
    """Give every link a /31 (RFC 3021) instead of BGP unnumbered (RFC 5549)."""
    load_balancing: Literal["static", "adaptive"] = "static"
    dcqcn: bool = False
    """Mark packets (ECN) on lossless queues, so that adapters slow down."""
    mtu: Annotated[int, Field(ge=1500, le=9216)] = 9214
    host_vlan: Annotated[int, Field(ge=2, le=4094)] = 100
    """VLAN of a leaf's hosts; each leaf has its own, of the same number."""
    pfc_watchdog: PfcWatchdog = PfcWatchdog()


class FabricIntent(Record):
    """The network's shape."""

    technology: Literal["infiniband", "ethernet"]
    zones: Annotated[int, Field(ge=1, le=8)] = 1
    planes: Annotated[int, Field(ge=1, le=8)] = 1
    """Parallel trees that no cable joins; adapter i of a node is on plane i."""
    layers: Literal[2, 3]
    leaf: SwitchLayer
    spine: SwitchLayer
    core: SwitchLayer | None = None
    pods_per_zone: Count = 1
    """Groups of leaves and spines under one core; 1 in a two-layer tree."""
    cables_per_pair: Count = 1
    """Cables of the trunk between each leaf and each spine."""
    interzone: InterZone | None = None
    system: Literal["mlnxos", "sonic", "nvue", "eos", "frr"] | None = None
    """Operating system of the switches; the first of the leaf's model if it is not given."""
    ethernet: EthernetIntent | None = None
    subnet_prefix: Annotated[str, Field(pattern=r"^0x[0-9a-f]{16}$")] = "0xfe80000000000000"


class Nodes(Record):
    """Nodes of one role."""

    model: Name
    nodes: CountOrNone


class ComputeNodes(Nodes):
    """Compute nodes, and how they are placed on leaves."""

    placement: Literal["leaf", "spread"] = "leaf"
    """Consecutive nodes on one leaf, or each on the next leaf in turn."""
    per_leaf: Count | None = None
    """Nodes a leaf (or a scalable unit of leaves) takes; as many as have room if not given."""


class Services(Record):
    """Which management nodes run what."""

    slurm_controller: Annotated[tuple[Host, ...], Field(min_length=1)]
    subnet_manager: Annotated[tuple[Host, ...], Field(max_length=8)] = ()
    """In order of priority: the first is master. An Ethernet fabric has none."""


class TrafficClass(Record):
    """One row of the only table of traffic classes.

    InfiniBand: service level and virtual lane (IBTA vol. 1, 7.6). Ethernet: DSCP (RFC 2474)
    to traffic class, queue and PFC priority (IEEE 802.1Qbb), all of one number.
    """

    name: Name
    sl: Annotated[int, Field(ge=0, le=14)]
    vl: Annotated[int, Field(ge=0, le=7)]
    priority: Literal["high", "low"]
    weight: Annotated[int, Field(ge=1, le=255)]
    """Share in its arbitration table, in units of 64 bytes a turn; on Ethernet, in its queue's
    share of the link."""
    dscp: tuple[Annotated[int, Field(ge=0, le=63)], ...] = ()
    """Code points of this class; the default class has all that no other has."""
    queue: Annotated[int, Field(ge=0, le=7)] | None = None
    """Ethernet queue and PFC priority; the virtual lane's number if it is not given."""
    lossless: bool = False
    """Whether a switch pauses the sender (PFC) before it drops a packet."""

    @property
    def queue_number(self) -> int:
        return self.vl if self.queue is None else self.queue


class TrafficIntent(Record):
    """How traffic classes share a link."""

    classes: Annotated[tuple[TrafficClass, ...], Field(min_length=1)]
    default: Name
    """Class of traffic that asks for none."""
    storage: Name
    """Class of everything to or from a storage node."""
    high_limit: Annotated[int, Field(ge=0, le=255)]
    """4 KiB blocks that high-priority lanes may send before a low one gets its turn."""


class Block(Record):
    """Host numbers of one kind of device, the same in every network."""

    first: Annotated[int, Field(ge=1)]
    size: Annotated[int, Field(ge=1)]


class Blocks(Record):
    """Where each kind of device has its host numbers."""

    management: Block
    storage: Block
    compute: Block
    switch: Block


class Addresses(Record):
    """Networks and the plan of host numbers in them."""

    management: str
    ipoib: tuple[str, ...] = ()
    """InfiniBand: one network for each zone or plane, and for each adapter a node has in it."""
    roce: tuple[str, ...] = ()
    """Ethernet: one network for each zone or plane, divided over its leaves."""
    links: str | None = None
    """Ethernet with numbered links: the /31s between switches."""
    loopback: str
    gateway: str | None = None
    """Router of the management network."""
    blocks: Blocks


class PerRack(Record):
    """Nodes of each role in one rack."""

    compute: CountOrNone
    storage: CountOrNone


class CableManagers(Record):
    """Cable managers of a network rack: horizontal ones between switches, vertical ones beside."""

    units: Annotated[int, Field(ge=0, le=4)] = 1
    """Height of a horizontal one; 0 for none."""
    switches: Annotated[int, Field(ge=1, le=8)] = 2
    """Switches that share a horizontal one, half of them above it."""
    vertical: Annotated[int, Field(ge=0, le=4)] = 2
    """Vertical ones beside each network rack; they take no rack units."""


class NetworkRacks(Record):
    """Where switches and management nodes stand: in the middle of some rows of every zone.

    Every such rack holds an even mix of all layers.
    """

    first_row: Count = 1
    """The first of these rows, counted from 1 in each zone."""
    rows: Count = 1
    per_row: Count
    """Network racks in the middle of each such row; node racks fill the other columns."""
    devices: Count
    """The most switches and management nodes in one network rack."""
    cable_managers: CableManagers = CableManagers()


class Racks(Record):
    """The room: racks in rows, cables in trays over the racks."""

    units: Annotated[int, Field(ge=4, le=60)] = 42
    power_kw: Annotated[float, Field(gt=0, le=1000)]
    """What one rack may draw."""
    power_feeds: Annotated[int, Field(ge=1, le=4)] = 2
    """Independent feeds, each in every rack; devices with redundant supplies are on two."""
    per_row: Count
    pitch_m: Annotated[float, Field(ge=0.5, le=2)] = 0.6
    """From rack to rack; the panels of a rack are 482.6 mm wide (EIA-310), its frame is wider."""
    row_pitch_m: Annotated[float, Field(ge=1, le=20)] = 3.0
    """From row to row, aisle included."""
    unit_m: Annotated[float, Field(ge=0.04, le=0.05)] = 0.04445
    """Height of a unit: 44.45 mm (EIA-310), 48 mm in Open Rack."""
    tray_m: Annotated[float, Field(ge=0, le=10)] = 0.3
    """Height of the trays over the top of the racks."""
    cross_columns: tuple[Count, ...] = ()
    """Columns over which trays lead from row to row; none named: every column."""
    slack_m: Annotated[float, Field(ge=0, le=10)] = 0.5
    """Spare length at each end of a cable."""
    nodes: PerRack
    network: NetworkRacks


AllowedMedia = Annotated[tuple[Medium, ...], Field(min_length=1)]


class MediaByRole(Record):
    """Which media may join what; the cable family says which of them comes first."""

    host: AllowedMedia = MEDIA
    tree: AllowedMedia = MEDIA
    interzone: AllowedMedia = MEDIA


class Spares(Record):
    """Percent to buy beyond what is built in, rounded up for every part."""

    cables: Percent = 2.0
    transceivers: Percent = 2.0
    switches: Percent = 2.0
    nodes: Percent = 0.0


class TrunkIntent(Record):
    """Structured cabling: fibres between two racks run through trunks and patch panels."""

    from_m: Annotated[float, Field(ge=0, le=1000)]
    """Way in trays from which on they do."""
    min_links: Annotated[int, Field(ge=2, le=144)] = 4
    """Fewer links between two racks stay single fibres."""


class Cabling(Record):
    """What cables may be bought, and how many to spare."""

    media: MediaByRole = MediaByRole()
    trunks: TrunkIntent | None = None
    spares_percent: Spares = Spares()


class SwitchManagement(Record):
    """The management plane of every switch. Users and secrets come from Ansible Vault."""

    allowed_sources: tuple[str, ...] = ()
    """Networks that may reach a switch's management port; the management network if empty."""
    monitoring: Literal["snmpv3", "gnmi", "none"] = "snmpv3"
    ztp_url: Url = ""
    """Where a web server has the rendered tree, for zero-touch provisioning; empty for none."""
    onie_image_url: Url = ""
    """Installer that a switch without a system fetches (ONIE); empty for none."""


class Cluster(Record):
    """The whole intent of a site."""

    name: Name
    domain: DnsName
    fabric: FabricIntent
    compute: ComputeNodes
    storage: Nodes
    management: Nodes
    services: Services
    traffic: TrafficIntent
    addresses: Addresses
    racks: Racks
    cabling: Cabling = Cabling()
    ntp_servers: tuple[DnsName, ...] = ()
    syslog_servers: tuple[DnsName, ...] = ()
    switch_management: SwitchManagement = SwitchManagement()


class IntentFile(Record):
    """The file's one top-level key."""

    cluster: Cluster
