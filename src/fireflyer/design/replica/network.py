"""Subnets and addresses of a replica: its network in sixteen equal pieces.

A piece for what faces outwards, one for management, one for storage, one for each zone; the last
one holds loopbacks and is no subnet. A number depends on the kind of host and its place in the
count alone, so a larger scale changes no address that was given before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from netaddr import AddrFormatError, IPAddress, IPNetwork

from fireflyer.design.replica.counts import Counts
from fireflyer.errors import Problem
from fireflyer.load.document import Document
from fireflyer.load.replica import Replica
from fireflyer.model.replica_plan import PlannedSubnet

KEY = "replica.network.cidr"
PIECES = 16
FIRST_ZONE, LOOPBACK = 4, 15
FIRST_HOST = 11
"""Providers keep the first addresses of a subnet, and its last; ten are left to them."""
WIDEST, NARROWEST = 16, 22
PRIVATE = tuple(IPNetwork(text) for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))
"""RFC 1918."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The replica's network, in pieces."""

    network: IPNetwork

    def piece(self, number: int) -> IPNetwork:
        """Return one of the sixteen pieces."""
        length = self.network.prefixlen + 4
        return IPNetwork((self.network.first + number * self.piece_size, length))

    @property
    def piece_size(self) -> int:
        return int(self.network.size) // PIECES

    @property
    def most_compute(self) -> int:
        """Compute nodes of a zone: the lower half of its subnet."""
        return self.piece_size // 2 - FIRST_HOST

    @property
    def most_storage(self) -> int:
        """Storage nodes: the upper half of every zone's subnet, less the last address."""
        return self.piece_size // 2 - 1

    def zone(self, zone: int) -> IPNetwork:
        """Return the network of a zone."""
        return self.piece(FIRST_ZONE + zone)

    def compute(self, zone: int, index: int) -> IPAddress:
        """Return a compute node's address."""
        return _address(self.zone(zone), FIRST_HOST + index)

    def storage(self, index: int) -> IPAddress:
        """Return the address that a storage node is managed at."""
        return _address(self.piece(2), FIRST_HOST + index)

    def storage_in_zone(self, zone: int, index: int) -> IPAddress:
        """Return a storage node's address in a zone."""
        return _address(self.zone(zone), self.piece_size // 2 + index)

    def management(self, index: int) -> IPAddress:
        """Return a management node's address."""
        return _address(self.piece(1), FIRST_HOST + index)

    def loopback(self, kind: int, zones: int, zone: int, index: int) -> IPAddress:
        """Return a loopback address; each kind has a quarter of the piece."""
        number = kind * (self.piece_size // 4) + index * zones + zone + 1
        return _address(self.piece(LOOPBACK), number)


def _address(network: IPNetwork, number: int) -> IPAddress:
    return IPAddress(network.first + number, 4)


def parse_network(document: Document, key: str, text: str) -> IPNetwork | Problem:
    """Return the network a text names, or what is wrong with it."""
    try:
        network = IPNetwork(text)
    except (AddrFormatError, ValueError):
        return document.problem(key, text, "is not an IPv4 network", "write it as 10.60.0.0/16")
    if network.ip != network.network:
        limit = "has bits set below its prefix"
        return document.problem(key, text, limit, f"write {network.cidr}")
    return network


def network_problems(replica: Replica, found: Counts | None) -> list[Problem]:
    """Return what is wrong with the replica's network, or what does not fit into it."""
    at, text = replica.document.problem, replica.intent.network.cidr
    network = parse_network(replica.document, KEY, text)
    if isinstance(network, Problem):
        return [network]
    if not any(network in private for private in PRIVATE):
        limit = "is not private (RFC 1918)"
        return [at(KEY, text, limit, "take it from 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16")]
    if not WIDEST <= network.prefixlen <= NARROWEST:
        limit = f"must be a /{WIDEST} to a /{NARROWEST}"
        return [at(KEY, text, limit, "change the prefix")]
    if found is None:
        return []
    layout = Layout(network)
    compute = max(len(names) for names in found.compute.values())
    quarter = layout.piece_size // 4
    for count, most, what in (
        (compute, min(layout.most_compute, quarter * 2 // len(found.zones) - 1), "compute nodes"),
        (len(found.storage), min(layout.most_storage, quarter - 1), "storage nodes"),
        (len(found.management), quarter - FIRST_HOST, "management nodes"),
    ):
        if count > most:
            limit = f"its subnets have room for {most:,} {what}, {count:,} are planned"
            return [at(KEY, text, limit, "widen it, or lower replica.scale")]
    return []


def layout_of(replica: Replica) -> Layout:
    """Return the layout; `network_problems` found nothing."""
    return Layout(IPNetwork(replica.intent.network.cidr))


def subnets(replica: Replica, found: Counts) -> Mapping[str, PlannedSubnet]:
    """Return the subnets by name. The public one is there if something needs it."""
    layout, intent = layout_of(replica), replica.intent
    planned: dict[str, PlannedSubnet] = {}
    if intent.network.egress == "nat" or intent.access.kind == "bastion":
        network = layout.piece(0)
        planned["public"] = PlannedSubnet(name="public", kind="public", network=network)
    network = layout.piece(1)
    planned["management"] = PlannedSubnet(name="management", kind="management", network=network)
    network = layout.piece(2)
    planned["storage"] = PlannedSubnet(name="storage", kind="storage", network=network)
    for index, zone in enumerate(found.zones):
        name = f"zone-{zone}"
        planned[name] = PlannedSubnet(name=name, kind="zone", network=layout.zone(index))
    return planned
