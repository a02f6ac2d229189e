"""What one provider excludes and another allows, of an intent that is else in order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from netaddr import IPNetwork

from fireflyer.design.replica.counts import Counts
from fireflyer.errors import Problem
from fireflyer.load.replica import Replica
from fireflyer.model.instance import Provider


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationId:
    """How a provider names what holds room for instances."""

    pattern: str
    example: str


RESERVATIONS: Mapping[Provider, ReservationId] = {
    "aws": ReservationId(pattern=r"cr-[0-9a-f]{8,17}", example="cr-..."),
    "azure": ReservationId(
        pattern=r"/subscriptions/[0-9a-f-]{36}/resourceGroups/[^/]+/providers/"
        r"Microsoft\.Compute/capacityReservationGroups/[^/]+",
        example="/subscriptions/.../providers/Microsoft.Compute/capacityReservationGroups/...",
    ),
}
PARTITIONS: Mapping[Provider, tuple[str, tuple[str, ...]]] = {
    "aws": ("the partition aws", ("cn-", "us-gov-", "us-iso", "eu-isoe-", "eusc-")),
    "azure": ("Azure's public cloud", ("china", "usgov", "usdod")),
}
"""What a replica is made in, and how regions begin that are not of it."""
MOST_IN_SET = 200
"""Machines of an Azure availability set."""
AZURE_RDMA = IPNetwork("172.16.0.0/16")
"""What Azure keeps for the network of its adapters for RDMA."""
AZURE_REFUSED_LOGINS = ("admin", "administrator", "guest", "root", "test", "user")


def provider_problems(replica: Replica, found: Counts) -> list[Problem]:
    """Return what the intent asks for and its provider excludes."""
    problems = [*_reservation(replica), *_partition(replica)]
    if replica.intent.provider == "aws":
        return problems + list(_aws(replica))
    return [
        *problems,
        *_azure_zone(replica),
        *_azure_sets(replica, found),
        *_azure_infiniband(replica),
        *_azure_hosts(replica),
    ]


def _partition(replica: Replica) -> Iterator[Problem]:
    """Yield a region of a partition with addresses, names and prices of its own."""
    intent = replica.intent
    part, prefixes = PARTITIONS[intent.provider]
    if intent.region.startswith(prefixes):
        limit = f"is not of {part}, and names, prices and roles here are of that one alone"
        yield replica.document.problem(
            "replica.region", intent.region, limit, "choose another region"
        )


def _reservation(replica: Replica) -> list[Problem]:
    placement, known = replica.intent.placement, RESERVATIONS[replica.intent.provider]
    if placement.reservation is None or re.fullmatch(known.pattern, placement.reservation):
        return []
    limit = f"is no id of {replica.intent.provider}'s"
    key, remedy = "replica.placement.reservation", f"write it as {known.example}"
    return [replica.document.problem(key, placement.reservation, limit, remedy)]


def _aws(replica: Replica) -> Iterator[Problem]:
    intent, at = replica.intent, replica.document.problem
    if intent.zone[:-1] != intent.region:
        limit = f"is no zone of {intent.region}"
        yield at("replica.zone", intent.zone, limit, f"write it as {intent.region}a")


def _azure_zone(replica: Replica) -> Iterator[Problem]:
    intent, at = replica.intent, replica.document.problem
    if intent.zone not in ("1", "2", "3", "none"):
        limit = f"is no zone of {intent.region}"
        yield at("replica.zone", intent.zone, limit, 'write "1", "2", "3" or none')
    elif intent.placement.kind == "cluster" and intent.zone != "none":
        limit = "placement by cluster is an availability set, which is in no zone"
        yield at("replica.zone", intent.zone, limit, "write none")


def _azure_sets(replica: Replica, found: Counts) -> Iterator[Problem]:
    """Yield what an availability set, which InfiniBand needs, does not take."""
    intent, at = replica.intent, replica.document.problem
    if intent.placement.group is not None:
        limit = "a reservation of azure's is made in no group"
        yield at("replica.placement.group", intent.placement.group, limit, "remove it")
    if intent.placement.kind != "cluster":
        return
    if intent.compute.market == "spot":
        limit = "placement by cluster is an availability set, which takes no spot machine"
        yield at("replica.compute.market", "spot", limit, "set it to on-demand")
    count = max(len(names) for names in found.compute.values())
    if count > MOST_IN_SET:
        limit = f"{count} nodes of a zone are planned, an availability set takes {MOST_IN_SET}"
        yield at("replica.scale", intent.scale, limit, "lower it")


def _azure_infiniband(replica: Replica) -> Iterator[Problem]:
    intent, at = replica.intent, replica.document.problem
    name = intent.compute.instance
    if replica.instances.types["azure", name].network.rdma != "infiniband":
        return
    if intent.placement.kind == "reservation":
        limit = f"no reservation takes {name}, and none goes with InfiniBand's availability set"
        yield at("replica.placement.kind", "reservation", limit, "set it to cluster")
    elif intent.placement.kind != "cluster":
        limit = f"InfiniBand of {name} joins the machines of one availability set alone"
        yield at("replica.placement.kind", intent.placement.kind, limit, "set it to cluster")
    network = IPNetwork(intent.network.cidr)
    if network in AZURE_RDMA or AZURE_RDMA in network:
        limit = f"{AZURE_RDMA} is the InfiniBand adapters'"
        yield at("replica.network.cidr", intent.network.cidr, limit, "choose another network")


def _azure_hosts(replica: Replica) -> Iterator[Problem]:
    intent, at = replica.intent, replica.document.problem
    if intent.access.kind != "bastion":
        limit = "azure has no session manager that Ansible goes through"
        yield at("replica.access.kind", intent.access.kind, limit, "set it to bastion")
    if intent.image.user in AZURE_REFUSED_LOGINS:
        limit = "azure refuses that name"
        yield at("replica.image.user", intent.image.user, limit, "write another, such as debian")
    if intent.network.egress == "none" and not intent.ntp_servers:
        server = replica.instances.clouds["azure"].time_server
        limit = f"is empty: {server} cannot be asked without a way out"
        yield at("replica.ntp_servers", None, limit, "name your own servers")
