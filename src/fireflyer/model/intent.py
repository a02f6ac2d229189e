"""The intent: what a person wrote of a site in `group_vars/all/cluster.yml`.

Defaults live here and nowhere else. Every field is documented for the operator in
`docs/intent.md`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from fireflyer.model.base import DnsName, Name, Record

Count = Annotated[int, Field(ge=1, le=100_000)]
CountOrNone = Annotated[int, Field(ge=0, le=100_000)]
Metres = Annotated[float, Field(ge=0, le=1000)]
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


class FabricIntent(Record):
    """The network's shape."""

    technology: Literal["infiniband"]
    zones: Annotated[int, Field(ge=1, le=8)]
    layers: Literal[2, 3]
    leaf: SwitchLayer
    spine: SwitchLayer
    core: SwitchLayer | None = None
    pods_per_zone: Count = 1
    """Groups of leaves and spines under one core; 1 in a two-layer tree."""
    cables_per_pair: Count = 1
    """Cables of the trunk between each leaf and each spine."""
    interzone: InterZone | None = None
    subnet_prefix: Annotated[str, Field(pattern=r"^0x[0-9a-f]{16}$")] = "0xfe80000000000000"


class Nodes(Record):
    """Nodes of one role."""

    model: Name
    nodes: CountOrNone


class Services(Record):
    """Which management nodes run what."""

    slurm_controller: Annotated[tuple[Host, ...], Field(min_length=1)]
    subnet_manager: Annotated[tuple[Host, ...], Field(min_length=1, max_length=8)]
    """In order of priority: the first is master."""


class TrafficClass(Record):
    """One row of the only table of traffic classes (IBTA vol. 1, 7.6: SL to VL, arbitration)."""

    name: Name
    sl: Annotated[int, Field(ge=0, le=14)]
    vl: Annotated[int, Field(ge=0, le=7)]
    priority: Literal["high", "low"]
    weight: Annotated[int, Field(ge=1, le=255)]
    """Share in its arbitration table, in units of 64 bytes a turn."""


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
    ipoib: Annotated[tuple[str, ...], Field(min_length=1)]
    """One network a zone."""
    loopback: str
    gateway: str | None = None
    """Router of the management network."""
    blocks: Blocks


class PerRack(Record):
    """Nodes of each role in one rack."""

    compute: CountOrNone
    storage: CountOrNone


class Racks(Record):
    """The room: racks in rows, cables in trays over the racks."""

    units: Annotated[int, Field(ge=4, le=60)] = 42
    power_kw: Annotated[float, Field(gt=0)]
    """What one rack may draw."""
    per_row: Count
    pitch_m: Metres = 0.6
    row_pitch_m: Metres = 3.0
    unit_m: Metres = 0.04445
    slack_m: Metres = 0.5
    """Spare length at each end of a cable."""
    nodes: PerRack
    switches: Count
    """Switches and management nodes in one network rack."""


class Cluster(Record):
    """The whole intent of a site."""

    name: Name
    domain: DnsName
    fabric: FabricIntent
    compute: Nodes
    storage: Nodes
    management: Nodes
    services: Services
    traffic: TrafficIntent
    addresses: Addresses
    racks: Racks
    ntp_servers: tuple[DnsName, ...] = ()
    syslog_servers: tuple[DnsName, ...] = ()


class IntentFile(Record):
    """The file's one top-level key."""

    cluster: Cluster
