"""What an intent of a replica must not ask for, whatever the provider says."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from fireflyer.design.replica.network import parse_network
from fireflyer.errors import Problem
from fireflyer.load.replica import Replica
from fireflyer.model.fabric import Role
from fireflyer.model.instance import InstanceType

WIDEST_SOURCE = 16
"""The shortest prefix that may open SSH to the bastion."""


def instance_problems(replica: Replica) -> list[Problem]:
    """Return instance types that do not exist or do not fit their role."""
    intent, problems = replica.intent, list[Problem]()
    known = replica.instances.of(intent.provider)
    wanted = {f"replica.{role}.instance": getattr(intent, role).instance for role in Role}
    if intent.access.kind == "bastion":
        wanted["replica.access.instance"] = intent.access.instance
    for key, name in wanted.items():
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            limit = f"no such type in hardware/instances/{intent.provider}/"
            remedy = f"did you mean {close[0]}?" if close else f"add {name}.yml there"
            problems.append(replica.document.problem(key, name, limit, remedy))
    return problems or [
        problem
        for role in Role
        for problem in _fit(replica, role, known[getattr(intent, role).instance])
    ]


def _fit(replica: Replica, role: Role, instance: InstanceType) -> Iterator[Problem]:
    at, key = replica.document.problem, f"replica.{role}.instance"
    cluster, market = replica.site.cluster, getattr(replica.intent, role).market
    if market not in instance.markets:
        limit = f"{instance.type} is not sold as {market}"
        remedy = f"use {' or '.join(instance.markets)}"
        yield at(f"replica.{role}.market", market, limit, remedy)
    if role is Role.COMPUTE:
        model = replica.site.catalogue.nodes.get(cluster.compute.model)
        if model is not None and model.gpus and instance.gpus is None:
            limit = f"has no GPU, and a compute node of {cluster.name} has {len(model.gpus)}"
            yield at(key, instance.type, limit, "choose a type with GPUs")
        if replica.intent.placement.kind == "cluster" and not instance.cluster_placement:
            limit = "no cluster placement group takes it"
            yield at(key, instance.type, limit, "set replica.placement.kind to none")
    elif role is Role.STORAGE and cluster.storage.nodes:
        if not instance.nvme.drives:
            limit = "has no local NVMe drive"
            yield at(key, instance.type, limit, "choose a type with drives, such as i4i.2xlarge")
        feet = 1 + (replica.intent.zones or cluster.fabric.zones)
        rdma = instance.network.rdma == "efa" and instance.network.rdma_first_card == 0
        if (need := feet + rdma) > (most := instance.network.interfaces_per_card):
            limit = f"its card 0 takes {most} interfaces, a storage node needs {need}"
            yield at(key, instance.type, limit, "choose a larger type, or lower replica.zones")


def placement_problems(replica: Replica) -> list[Problem]:
    """Return placements that exclude each other, or lack what they need.

    A group that a reservation was not made in asks for instances where the reservation has none.
    """
    at, placement = replica.document.problem, replica.intent.placement
    market, key = replica.intent.compute.market, "replica.placement"
    problems = []
    reserved = placement.kind in ("reservation", "capacity-block")
    if reserved and placement.reservation is None:
        limit = f"a {placement.kind} has an id"
        problems.append(at(f"{key}.reservation", None, limit, "add it: cr-..."))
    if not reserved and placement.reservation is not None:
        limit = f"placement by {placement.kind} cannot start instances in a reservation"
        remedy = "set replica.placement.kind to reservation or capacity-block, or remove it"
        problems.append(at(f"{key}.reservation", placement.reservation, limit, remedy))
    if placement.group is not None and placement.kind != "reservation":
        limit = f"placement by {placement.kind} names no group"
        remedy = "remove it; only a reservation made inside a group needs that group"
        problems.append(at(f"{key}.group", placement.group, limit, remedy))
    if (placement.kind == "capacity-block") != (market == "capacity-block"):
        limit = f"placement is by {placement.kind}"
        remedy = "set both replica.placement.kind and replica.compute.market to capacity-block"
        remedy += ", or neither"
        problems.append(at("replica.compute.market", market, limit, remedy))
    if placement.kind == "reservation" and market == "spot":
        limit = "a reservation holds room for instances on demand"
        problems.append(at("replica.compute.market", market, limit, "set it to on-demand"))
    return problems


def image_problems(replica: Replica) -> list[Problem]:
    """Return an image that is not pinned, or pinned twice."""
    at, image, key = replica.document.problem, replica.intent.image, "replica.image"
    by_name = image.owner is not None or image.name is not None
    if (image.id is not None) == by_name:
        limit = "needs id, or owner and name" if not by_name else "has an id and a name"
        return [at(key, None, limit, "pin it one way")]
    if by_name and (image.owner is None or image.name is None):
        missing = "owner" if image.owner is None else "name"
        limit = "is missing: anyone may give an image a name"
        return [at(f"{key}.{missing}", None, limit, "add it, or pin the image by id")]
    for part, text in (("id", image.id), ("name", image.name)):
        if text is not None and ("*" in text or "?" in text or "latest" in text.lower()):
            limit = "stands for another image every month"
            return [at(f"{key}.{part}", text, limit, "write one image's whole id or name")]
    return []


def access_problems(replica: Replica) -> list[Problem]:
    """Return sources of SSH that are none, or too many."""
    at, access, key = replica.document.problem, replica.intent.access, "replica.access.cidrs"
    if access.kind == "session-manager":
        limit = "the session manager opens no port"
        remedy = "remove it, or set replica.access.kind to bastion"
        return [at(key, ", ".join(access.cidrs), limit, remedy)] if access.cidrs else []
    if not access.cidrs:
        return [
            at(key, None, "a bastion answers somebody", "add your network, such as 192.0.2.7/32")
        ]
    problems = []
    for index, text in enumerate(access.cidrs):
        where = f"{key}.{index}"
        network = parse_network(replica.document, where, text)
        if isinstance(network, Problem):
            problems.append(network)
        elif network.prefixlen < WIDEST_SOURCE:
            limit = f"lets {network.size:,} addresses try"
            remedy = f"name your own network, at most a /{WIDEST_SOURCE}"
            problems.append(at(where, text, limit, remedy))
    return problems


def key_problems(replica: Replica) -> list[Problem]:
    """Return a key of a kind that no provider takes as a login's."""
    at, text = replica.document.problem, replica.intent.access.public_key
    if text is None or not text.startswith("ecdsa-"):
        return []
    limit = "providers take RSA and Ed25519 alone"
    remedy = "make another: ssh-keygen -t ed25519"
    return [at("replica.access.public_key", text.split()[0], limit, remedy)]


def zone_problems(replica: Replica) -> list[Problem]:
    """Return a zone that is not of the region."""
    intent, at = replica.intent, replica.document.problem
    if intent.provider == "aws" and intent.zone[:-1] != intent.region:
        limit = f"is no zone of {intent.region}"
        return [at("replica.zone", intent.zone, limit, f"write it as {intent.region}a")]
    return []
