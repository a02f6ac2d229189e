"""Addresses: one host number a device, the same in every network but the leaves' own.

A number depends on the kind of device and its place in the count alone, so appending
nodes changes no address that was given before. On Ethernet each leaf has a network of its
own, in which a port's number is that of the leaf's port.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from netaddr import AddrFormatError, IPAddress, IPNetwork

from fireflyer.design.models import rails_of
from fireflyer.design.names import tree_names
from fireflyer.design.shape import Shape
from fireflyer.errors import Problem
from fireflyer.load import Site
from fireflyer.model.fabric import Layer, Role
from fireflyer.model.intent import Block, Blocks

KEY = "cluster.addresses"
_NETWORK = re.compile(r"[0-9.]+/[0-9]{1,2}")


@dataclass(frozen=True, slots=True)
class AddressPlan:
    """Networks by name, and the host numbers of each kind of device."""

    networks: Mapping[str, IPNetwork]
    blocks: Blocks
    zones: int
    trees: int

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

    def switch(self, layer: Layer, tree: int, index: int) -> int:
        """Return the host number of a switch; each layer has a quarter of the block."""
        return self.blocks.switch.first + self._quarter(layer) + index * self.trees + tree

    def leaf_network(self, tree: str, index: int, ports: int) -> tuple[IPNetwork, IPAddress]:
        """Return the network of a tree's leaf with so many ports, and the leaf's address in it.

        Leaves count from 0.
        """
        length = leaf_prefix_length(ports)
        first = self.networks[f"roce_{tree}"].first + (index << (32 - length))
        return IPNetwork((first, length)), IPAddress(first + 1, 4)

    def _quarter(self, layer: Layer) -> int:
        return list(Layer).index(layer) * (self.blocks.switch.size // 4)


def address_problems(site: Site, models_fit: bool) -> list[Problem]:
    """Return every malformed, overlapping or exhausted network and block.

    How many networks there must be is known once the models of the nodes fit.
    """
    addresses, at = site.cluster.addresses, site.document.problem
    problems: list[Problem] = []
    networks: dict[str, IPNetwork] = {}
    texts = {f"{KEY}.management": addresses.management, f"{KEY}.loopback": addresses.loopback}
    texts |= {f"{KEY}.ipoib.{i}": text for i, text in enumerate(addresses.ipoib)}
    texts |= {f"{KEY}.roce.{i}": text for i, text in enumerate(addresses.roce)}
    if addresses.links is not None:
        texts[f"{KEY}.links"] = addresses.links
    for key, text in texts.items():
        found = _network(site, key, text, "is not an IPv4 network for hosts")
        if isinstance(found, Problem):
            problems.append(found)
        else:
            networks[key] = found
    for (one, first), (two, second) in combinations(networks.items(), 2):
        if first in second or second in first:
            limit = f"overlaps {one} ({first})"
            problems.append(at(two, second, limit, "give each network addresses of its own"))
    problems += (_count_problems(site) if models_fit else []) + _source_problems(site)
    problems += _gateway_problems(site, networks.get(f"{KEY}.management"))
    return problems + _block_problems(site, networks)


def _network(site: Site, key: str, text: str, limit: str) -> IPNetwork | Problem:
    """Return the network that a text names, or what is wrong with it: `limit`, if it names none."""
    at = site.document.problem
    try:
        network = IPNetwork(text)
    except (AddrFormatError, ValueError):
        network = None
    if network is None or not _NETWORK.fullmatch(text) or not _for_hosts(network):
        return at(key, text, limit, "write it as 10.10.0.0/16")
    if network.ip != network.network:
        return at(key, text, "has bits set below its prefix", f"write {network.cidr}")
    return network


def _for_hosts(network: IPNetwork) -> bool:
    """Say whether hosts may have its addresses: no multicast, loopback, 0/8 or 240/4 (RFC 6890)."""
    first = network.first >> 24
    return not (first == 0 or first == 127 or first >= 224)


def _count_problems(site: Site) -> list[Problem]:
    """Return the lists that have too many or too few networks, or are of the other technology."""
    addresses, fabric, at = site.cluster.addresses, site.cluster.fabric, site.document.problem
    used, other = "ipoib", "roce"
    kind = "plane" if fabric.planes > 1 else "zone"
    if fabric.planes > 1 and fabric.zones > 1:
        return []  # refused for itself
    count = fabric.zones * fabric.planes
    text = f"must have one network a {kind}, {count} in all"
    if fabric.technology == "ethernet":
        used, other = other, used
    elif (rails := _rails(site)) > 1:
        count *= rails
        text = f"must have {rails} networks a {kind}, one for each adapter in it, {count} in all"
    problems = []
    if (found := len(getattr(addresses, used))) != count:
        value = f"a list of {found}"
        problems.append(at(f"{KEY}.{used}", value, text, "add or remove networks"))
    if getattr(addresses, other):
        limit = f"an {fabric.technology} fabric has none"
        problems.append(at(f"{KEY}.{other}", None, limit, f"remove it, use {used}"))
    return problems


def _source_problems(site: Site) -> list[Problem]:
    """Return the networks that may reach switches and are none."""
    sources = site.cluster.switch_management.allowed_sources
    key = "cluster.switch_management.allowed_sources"
    found = (
        _network(site, f"{key}.{index}", text, "is not an IPv4 network")
        for index, text in enumerate(sources)
    )
    return [problem for problem in found if isinstance(problem, Problem)]


def _rails(site: Site) -> int:
    """Return the most adapters that a node has in one tree."""
    cluster = site.cluster
    return max(1, *(rails_of(site, role) for role in Role if getattr(cluster, role).nodes))


def leaf_prefix_length(ports: int) -> int:
    """Return the prefix length of a leaf's network: a host for each port, and the leaf.

    >>> [leaf_prefix_length(ports) for ports in (8, 40, 64, 128)]
    [28, 26, 25, 24]
    """
    return 32 - (ports + 2).bit_length()


def leaf_network_problems(site: Site, shape: Shape) -> list[Problem]:
    """Return the Ethernet networks that are too small for the leaves or the links of a tree."""
    addresses, fabric, at = site.cluster.addresses, site.cluster.fabric, site.document.problem
    ethernet = fabric.ethernet
    if fabric.technology != "ethernet" or ethernet is None:
        return []
    length, problems = leaf_prefix_length(shape.leaf.ports), []
    needed = length - (shape.leaves - 1).bit_length()
    for index, text in enumerate(addresses.roce):
        if IPNetwork(text).prefixlen > needed:
            limit = f"{shape.leaves} leaves with a /{length} each need a /{needed}"
            problems.append(at(f"{KEY}.roce.{index}", text, limit, "widen it"))
    key = f"{KEY}.links"
    if ethernet.numbered_links and addresses.links is None:
        problems.append(at(key, None, "numbered links need a network", "add it"))
    if not ethernet.numbered_links and addresses.links is not None:
        limit = "links without numbers need no network"
        problems.append(at(key, addresses.links, limit, "remove it, or set numbered_links"))
    elif addresses.links is not None:
        network = IPNetwork(addresses.links)
        links = shape.switch_links * fabric.planes * fabric.zones
        if fabric.interzone is not None:
            links += fabric.interzone.links_per_zone * fabric.zones
        if links * 2 > network.size:
            wide = 31 - (links - 1).bit_length()
            limit = f"{links:,} links need {links * 2:,} addresses, it has {network.size:,}"
            problems.append(at(key, addresses.links, limit, f"make it a /{wide}"))
    return problems


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
    by_number = [net for key, net in networks.items() if ".roce." not in key and "links" not in key]
    smallest = min((net.size for net in by_number), default=0)
    for name, block in blocks.items():
        last = block.first + block.size - 1
        if smallest and last > smallest - 2:
            limit = f"ends at host number {last}, the smallest network ends at {smallest - 2}"
            remedy = "shrink the block or widen the networks"
            problems.append(at(f"{KEY}.blocks.{name}", None, limit, remedy))
    zones = cluster.fabric.zones
    trees = zones * cluster.fabric.planes
    per_zone = -(-cluster.compute.nodes // zones)
    needs = {
        "compute": per_zone * zones,
        "storage": cluster.storage.nodes,
        "management": cluster.management.nodes,
    }
    layers = {
        "leaf": cluster.fabric.leaf.count * trees,
        "spine": cluster.fabric.spine.count * trees,
    }
    if cluster.fabric.core is not None:
        layers["core"] = cluster.fabric.core.count * trees
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
    addresses, fabric = site.cluster.addresses, site.cluster.fabric
    networks = {"management": IPNetwork(addresses.management)}
    trees = tree_names(fabric.zones, fabric.planes)
    for index, text in enumerate(addresses.ipoib):
        rail, tree = divmod(index, len(trees))
        networks[ipoib_name(trees[tree], rail)] = IPNetwork(text)
    for tree_name, text in zip(trees, addresses.roce, strict=False):
        networks[f"roce_{tree_name}"] = IPNetwork(text)
    if addresses.links is not None:
        networks["links"] = IPNetwork(addresses.links)
    networks["loopback"] = IPNetwork(addresses.loopback)
    return AddressPlan(
        networks=networks, blocks=addresses.blocks, zones=fabric.zones, trees=len(trees)
    )


def ipoib_name(tree: str, rail: int) -> str:
    """Return the name of the network of a node's adapter number `rail` in a tree.

    >>> ipoib_name("a", 0), ipoib_name("a", 1)
    ('ipoib_a', 'ipoib_a2')
    """
    return f"ipoib_{tree}{rail + 1 if rail else ''}"
