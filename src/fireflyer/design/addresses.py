"""Addresses: one host number a device, the same in every network.

A number depends on the kind of device and its place in the count alone, so appending
nodes changes no address that was given before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from netaddr import AddrFormatError, IPAddress, IPNetwork

from fireflyer.design.names import zone_names
from fireflyer.errors import Problem
from fireflyer.load import Site
from fireflyer.model.fabric import Layer
from fireflyer.model.intent import Block, Blocks

KEY = "cluster.addresses"
_NETWORK = re.compile(r"[0-9.]+/[0-9]{1,2}")


@dataclass(frozen=True, slots=True)
class AddressPlan:
    """Networks by name, and the host numbers of each kind of device."""

    networks: Mapping[str, IPNetwork]
    blocks: Blocks
    zones: int

    def address(self, network: str, number: int) -> IPAddress:
        """Return the address with a host number."""
        net = self.networks[network]
        return IPAddress(net.first + number, net.version)

    def compute(self, zone: int, index: int) -> int:
        """Return the host number of a zone's compute node; zones take turns."""
        return self.blocks.compute.first + index * self.zones + zone

    def storage(self, index: int) -> int:
        """Return the host number of a storage node."""
        return self.blocks.storage.first + index

    def management(self, index: int) -> int:
        """Return the host number of a management node."""
        return self.blocks.management.first + index

    def switch(self, layer: Layer, zone: int, index: int) -> int:
        """Return the host number of a switch; each layer has a quarter of the block."""
        return self.blocks.switch.first + self._quarter(layer) + index * self.zones + zone

    def _quarter(self, layer: Layer) -> int:
        return list(Layer).index(layer) * (self.blocks.switch.size // 4)


def address_problems(site: Site) -> list[Problem]:
    """Return every malformed, overlapping or exhausted network and block."""
    addresses, at = site.cluster.addresses, site.document.problem
    problems: list[Problem] = []
    networks: dict[str, IPNetwork] = {}
    texts = {f"{KEY}.management": addresses.management, f"{KEY}.loopback": addresses.loopback}
    texts |= {f"{KEY}.ipoib.{i}": text for i, text in enumerate(addresses.ipoib)}
    for key, text in texts.items():
        try:
            network = IPNetwork(text)
        except (AddrFormatError, ValueError):
            limit = "is not an IPv4 network for hosts"
            problems.append(at(key, text, limit, "write it as 10.10.0.0/16"))
            continue
        if not _NETWORK.fullmatch(text) or network.is_multicast() or network.is_loopback():
            limit = "is not an IPv4 network for hosts"
            problems.append(at(key, text, limit, "write it as 10.10.0.0/16"))
        elif network.ip != network.network:
            remedy = f"write {network.cidr}"
            problems.append(at(key, text, "has bits set below its prefix", remedy))
        else:
            networks[key] = network
    for (one, first), (two, second) in combinations(networks.items(), 2):
        if first in second or second in first:
            limit = f"overlaps {one} ({first})"
            problems.append(at(two, second, limit, "give each network addresses of its own"))
    if len(addresses.ipoib) != site.cluster.fabric.zones:
        limit = f"must have one network a zone, {site.cluster.fabric.zones} in all"
        value = f"a list of {len(addresses.ipoib)}"
        problems.append(at(f"{KEY}.ipoib", value, limit, "add or remove networks"))
    problems += _gateway_problems(site, networks.get(f"{KEY}.management"))
    return problems + _block_problems(site, networks)


def _gateway_problems(site: Site, management: IPNetwork | None) -> list[Problem]:
    text = site.cluster.addresses.gateway
    if text is None or management is None:
        return []
    key, at = f"{KEY}.gateway", site.document.problem
    try:
        gateway = IPAddress(text)
    except (AddrFormatError, ValueError):
        return [at(key, text, "is not an IPv4 address", "write it as 10.10.0.1")]
    if gateway in (management.network, management.broadcast):
        return [at(key, text, f"is no host of {management}", "choose another address")]
    if gateway not in management:
        return [at(key, text, f"is outside the management network {management}", "change one")]
    number = int(gateway) - management.first
    for name, block in _blocks(site.cluster.addresses.blocks).items():
        if block.first <= number < block.first + block.size:
            limit = f"is host number {number}, inside the {name} block"
            return [at(key, text, limit, "choose an address outside the blocks")]
    return []


def _blocks(blocks: Blocks) -> dict[str, Block]:
    return {name: getattr(blocks, name) for name in Blocks.model_fields}


def _block_problems(site: Site, networks: Mapping[str, IPNetwork]) -> list[Problem]:
    cluster, at = site.cluster, site.document.problem
    blocks = _blocks(cluster.addresses.blocks)
    problems: list[Problem] = []
    for (one, first), (two, second) in combinations(blocks.items(), 2):
        if first.first < second.first + second.size and second.first < first.first + first.size:
            limit = (
                f"numbers {second.first} to {second.first + second.size - 1} overlap {one}'s"
                f" {first.first} to {first.first + first.size - 1}"
            )
            problems.append(at(f"{KEY}.blocks.{two}", None, limit, "move or shrink one of them"))
    smallest = min((net.size for net in networks.values()), default=0)
    for name, block in blocks.items():
        last = block.first + block.size - 1
        if smallest and last > smallest - 2:
            limit = f"ends at host number {last}, the smallest network ends at {smallest - 2}"
            remedy = "shrink the block or widen the networks"
            problems.append(at(f"{KEY}.blocks.{name}", None, limit, remedy))
    zones = cluster.fabric.zones
    per_zone = -(-cluster.compute.nodes // zones)
    needs = {
        "compute": per_zone * zones,
        "storage": cluster.storage.nodes,
        "management": cluster.management.nodes,
    }
    layers = {
        "leaf": cluster.fabric.leaf.count * zones,
        "spine": cluster.fabric.spine.count * zones,
    }
    if cluster.fabric.core is not None:
        layers["core"] = cluster.fabric.core.count * zones
    if cluster.fabric.interzone is not None:
        layers["interzone"] = cluster.fabric.interzone.switches * zones
    needs["switch"] = max(layers.values()) * 4
    for name, need in needs.items():
        if need > blocks[name].size:
            limit = f"has room for {blocks[name].size}, {need} are needed"
            remedy = f"set it to {need} or more"
            key = f"{KEY}.blocks.{name}.size"
            problems.append(at(key, blocks[name].size, limit, remedy))
    return problems


def plan_addresses(site: Site) -> AddressPlan:
    """Return the plan; `address_problems` found nothing."""
    addresses = site.cluster.addresses
    networks = {"management": IPNetwork(addresses.management)}
    for zone, text in zip(zone_names(site.cluster.fabric.zones), addresses.ipoib, strict=True):
        networks[f"ipoib_{zone}"] = IPNetwork(text)
    networks["loopback"] = IPNetwork(addresses.loopback)
    return AddressPlan(networks=networks, blocks=addresses.blocks, zones=site.cluster.fabric.zones)
