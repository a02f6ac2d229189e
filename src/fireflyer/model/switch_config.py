"""What one switch should hold, said without any vendor's words.

One value a switch; every system's templates print from it and decide nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from netaddr import IPAddress, IPNetwork

from fireflyer.model.fabric import Layer
from fireflyer.model.hardware import SwitchModel


class PortRole(StrEnum):
    """What a port is for."""

    HOST = "host"
    SWITCH = "switch"
    UNUSED = "unused"


class PortConfig(NamedTuple):
    """One port of the front panel."""

    number: int
    name: str
    """As the switch's system spells it, such as Ethernet4 or swp1s0."""
    role: PortRole
    gbps: int
    peer: str = ""
    """Device at the other end; empty for a port to keep shut."""
    peer_port: str = ""
    """The peer's port as the peer spells it."""
    peer_asn: int = 0
    """Of a switch; 0 at hosts."""
    address: IPAddress | None = None
    """This end of a numbered link, a /31."""
    peer_address: IPAddress | None = None
    cable_m: int = 0
    """Length of the cable, in whole metres rounded up."""

    @property
    def in_use(self) -> bool:
        return self.role is not PortRole.UNUSED

    @property
    def description(self) -> str:
        return f"{self.peer} {self.peer_port}" if self.peer else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostNetwork:
    """The network of a leaf's hosts; the leaf is their router."""

    vlan: int
    network: IPNetwork
    gateway: IPAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefixes:
    """Every prefix of one length inside a network."""

    network: IPNetwork
    length: int

    @property
    def whole(self) -> bool:
        """Whether that is the network itself and nothing else."""
        return self.network.prefixlen == self.length

    def __str__(self) -> str:
        return str(self.network) if self.whole else f"{self.network} of /{self.length}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bgp:
    """Routing with the neighbours at `SWITCH` ports (RFC 7938: eBGP, ECMP)."""

    asn: int
    router_id: IPAddress
    networks: tuple[IPNetwork, ...]
    """Its own: the loopback and, at a leaf, the network of its hosts."""
    accepted: tuple[Prefixes, ...]
    """All that any switch of the fabric may announce; anything else is not believed."""
    transit: bool
    """Whether neighbours are told what was learned too, or `networks` alone."""
    maximum_paths: int
    """As wide as the widest layer: no equal path is left out."""
    unnumbered: bool
    """Sessions over link-local addresses (RFC 5549)."""
    keepalive_s: int
    hold_s: int
    """A neighbour that says nothing for so long is given up."""
    connect_s: int
    """Between two tries to open a session."""
    bfd_interval_ms: int
    bfd_multiplier: int
    """Packets of BFD (RFC 5880) that may be missing before a neighbour is given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A traffic class on a port: one number for traffic class, queue and PFC priority."""

    name: str
    number: int
    dscp: tuple[int, ...]
    weight_percent: int
    """Share of the link (deficit round robin); 0 for a strict queue."""
    strict: bool
    lossless: bool
    default: bool
    """Whether unknown code points go here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ecn:
    """Marking thresholds of a lossless queue, bytes."""

    minimum_bytes: int
    maximum_bytes: int
    maximum_percent: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LosslessProfile:
    """What a port's lossless queues need, for one speed and one length of cable."""

    name: str
    gbps: int
    cable_m: int
    xoff_bytes: int
    """Headroom: what may still arrive after a pause was asked for."""
    xon_bytes: int
    """Below this the pause ends."""
    size_bytes: int
    """What one lossless class of a port reserves in all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lossless:
    """PFC (IEEE 802.1Qbb), buffers and marking."""

    profiles: tuple[LosslessProfile, ...]
    """In order of speed and length."""
    pool_bytes: int
    """Packet memory that all ports share; the rest is reserved."""
    reserved_bytes: int
    """By all ports and the switch itself, headroom above all."""
    ecn: Ecn | None
    """None where DCQCN is off."""
    watchdog_detect_ms: int
    watchdog_restore_ms: int

    @property
    def by_cable(self) -> Mapping[tuple[int, int], LosslessProfile]:
        """Profiles by speed and length of cable: those of a port in use are the key to its own."""
        return {(profile.gbps, profile.cable_m): profile for profile in self.profiles}


@dataclass(frozen=True, slots=True, kw_only=True)
class Management:
    """The management plane. Users, keys and community strings come from Ansible Vault."""

    domain: str
    address: IPAddress
    network: IPNetwork
    gateway: str
    """Empty where the intent names none."""
    ntp_servers: tuple[str, ...]
    syslog_servers: tuple[str, ...]
    allowed_sources: tuple[IPNetwork, ...]
    """The only networks that may reach the management port."""
    monitoring: str
    """snmpv3, gnmi or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchConfig:
    """Everything a template may use."""

    name: str
    layer: Layer
    model: SwitchModel
    place: str
    """Rack and unit, for the location field."""
    management: Management
    loopback: IPAddress
    ports: tuple[PortConfig, ...]
    """Every port of the front panel, in order."""
    mtu: int
    adaptive_routing: bool
    bgp: Bgp | None
    """None on InfiniBand, like the three below."""
    hosts: HostNetwork | None
    """At a leaf with host ports."""
    queues: tuple[Queue, ...]
    """By number; empty on InfiniBand."""
    lossless: Lossless | None

    @property
    def ports_in_use(self) -> tuple[PortConfig, ...]:
        return tuple(port for port in self.ports if port.in_use)

    def ports_of(self, role: PortRole) -> tuple[PortConfig, ...]:
        """Return the ports of a role in order."""
        return tuple(port for port in self.ports if port.role is role)
