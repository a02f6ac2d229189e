"""The instances of a replica, and every interface of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from netaddr import IPAddress

from fireflyer.design.replica.counts import Counts
from fireflyer.design.replica.network import Layout, layout_of
from fireflyer.load.replica import Replica
from fireflyer.model.fabric import Role
from fireflyer.model.instance import InstanceType
from fireflyer.model.replica import ReplicaNodes
from fireflyer.model.replica_plan import InterfaceKind, PlannedHost, PlannedInterface


class _Cards:
    """Counts the interfaces of each card: the index of the next one."""

    def __init__(self) -> None:
        self.used: Counter[int] = Counter()
        self.interfaces: list[PlannedInterface] = []

    def add(self, card: int, kind: InterfaceKind, subnet: str, address: IPAddress | None) -> None:
        self.interfaces.append(
            PlannedInterface(
                card=card, device=self.used[card], kind=kind, subnet=subnet, address=address
            )
        )
        self.used[card] += 1


def interfaces(
    instance: InstanceType, feet: Mapping[str, IPAddress], rdma_subnet: str | None
) -> tuple[PlannedInterface, ...]:
    """Return a host's interfaces: a foot in each subnet, then RDMA on each card that carries it.

    The host is managed at its first foot, which is card 0, device 0. An interface for RDMA alone
    is the next on card 0 and the first on every other card.
    """
    cards = _Cards()
    for subnet, address in feet.items():
        cards.add(0, "ethernet", subnet, address)
    network = instance.network
    if network.rdma == "efa" and rdma_subnet is not None:
        for card in range(network.rdma_first_card, network.rdma_first_card + network.rdma_devices):
            cards.add(card, "rdma", rdma_subnet, None)
    return tuple(cards.interfaces)


def hosts(replica: Replica, found: Counts) -> tuple[PlannedHost, ...]:
    """Return compute nodes zone by zone, then storage, then management nodes."""
    layout = layout_of(replica)
    return (
        *_compute(replica, found, layout),
        *_storage(replica, found, layout),
        *_managers(replica, found, layout),
    )


def _compute(replica: Replica, found: Counts, layout: Layout) -> Iterator[PlannedHost]:
    nodes, placement = replica.intent.compute, replica.intent.placement
    for number, (zone, names) in enumerate(found.compute.items()):
        subnet = f"zone-{zone}"
        group = group_name(replica, zone) if placement.kind == "cluster" else placement.group
        for index, name in enumerate(names):
            address = layout.compute(number, index)
            instance = _type(replica, nodes)
            yield PlannedHost(
                name=name,
                role=Role.COMPUTE,
                zone=zone,
                instance=instance,
                market=nodes.market,
                interfaces=interfaces(instance, {subnet: address}, subnet),
                group=group,
                reservation=placement.reservation,
                names={name: address, f"{name}-roce-{zone}": address},
            )


def _storage(replica: Replica, found: Counts, layout: Layout) -> Iterator[PlannedHost]:
    nodes, instance = replica.intent.storage, _type(replica, replica.intent.storage)
    for index, name in enumerate(found.storage):
        home = found.zones[index % len(found.zones)]
        in_zones = {
            zone: layout.storage_in_zone(number, index) for number, zone in enumerate(found.zones)
        }
        feet = {"storage": layout.storage(index)}
        feet |= {f"zone-{zone}": address for zone, address in in_zones.items()}
        names = {f"{name}-roce-{zone}": address for zone, address in in_zones.items()}
        yield PlannedHost(
            name=name,
            role=Role.STORAGE,
            zone=home,
            instance=instance,
            market=nodes.market,
            interfaces=interfaces(instance, feet, f"zone-{home}"),
            group=None,
            reservation=None,
            names={name: layout.storage(index)} | names,
        )


def _managers(replica: Replica, found: Counts, layout: Layout) -> Iterator[PlannedHost]:
    nodes, instance = replica.intent.management, _type(replica, replica.intent.management)
    for index, name in enumerate(found.management):
        address = layout.management(index)
        yield PlannedHost(
            name=name,
            role=Role.MANAGEMENT,
            zone=found.zones[index % len(found.zones)],
            instance=instance,
            market=nodes.market,
            interfaces=interfaces(instance, {"management": address}, None),
            group=None,
            reservation=None,
            names={name: address},
        )


def _type(replica: Replica, nodes: ReplicaNodes) -> InstanceType:
    return replica.instances.types[replica.intent.provider, nodes.instance]


def group_name(replica: Replica, zone: str) -> str:
    """Return the name of a zone's placement group."""
    return f"{replica.intent.of}-{replica.name}-zone-{zone}"
