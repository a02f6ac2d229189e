"""What an intent of a replica must not ask for, whatever the provider says."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping

from fireflyer.design.replica.network import parse_network
from fireflyer.design.replica.providers import RESERVATIONS
from fireflyer.errors import Problem
from fireflyer.load.replica import Replica
from fireflyer.model.fabric import Role
from fireflyer.model.instance import Cloud, InstanceType, Provider

WIDEST_SOURCE = 16
"""The shortest prefix that may open SSH to the bastion."""
PINS: Mapping[Provider, tuple[str, ...]] = {
    "aws": ("owner", "name"),
    "azure": ("publisher", "offer", "sku", "version"),
}
"""What names one image of a provider's, if no id does."""
WHY_WHOLE = {
    "owner": "anyone may give an image a name",
    "version": "it would be another image every month",
}


def bastion_type(replica: Replica) -> str:
    """Return the type of the bastion, should there be one."""
    intent = replica.intent
    return intent.access.instance or replica.instances.clouds[intent.provider].bastion


def instance_problems(replica: Replica) -> list[Problem]:
    """Return instance types that do not exist or do not fit their role."""
    intent, problems = replica.intent, list[Problem]()
    known = replica.instances.of(intent.provider)
    wanted = {f"replica.{role}.instance": getattr(intent, role).instance for role in Role}
    if intent.access.kind == "bastion":
        wanted["replica.access.instance"] = bastion_type(replica)
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
            known = filter(_stores, replica.instances.of(instance.provider).values())
            least = min(known, key=lambda found: found.price.usd_per_hour)
            yield at(key, instance.type, limit, f"choose a type with drives, such as {least.type}")
        feet = 1 + (replica.intent.zones or cluster.fabric.zones)
        rdma = instance.network.rdma == "efa" and instance.network.rdma_first_card == 0
        if (need := feet + rdma) > (most := instance.network.interfaces_per_card):
            limit = f"its card 0 takes {most} interfaces, a storage node needs {need}"
            yield at(key, instance.type, limit, "choose a larger type, or lower replica.zones")


def _stores(instance: InstanceType) -> bool:
    return instance.nvme.drives > 0 and instance.gpus is None


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
        example = RESERVATIONS[replica.intent.provider].example
        problems.append(at(f"{key}.reservation", None, limit, f"add it: {example}"))
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
    """Return an image that is not pinned, pinned twice, or as another provider's are."""
    at, image, key = replica.document.problem, replica.intent.image, "replica.image"
    parts = PINS[replica.intent.provider]
    names = f"{', '.join(parts[:-1])} and {parts[-1]}"
    for part in (part for other in PINS.values() for part in other if part not in parts):
        if (text := getattr(image, part)) is not None:
            limit = f"is not how {replica.intent.provider} names an image"
            return [at(f"{key}.{part}", text, limit, f"give id, or {names}")]
    given = [part for part in parts if getattr(image, part) is not None]
    if (image.id is not None) == bool(given):
        limit = f"has an id and {names}" if given else f"needs id, or {names}"
        return [at(key, None, limit, "pin it one way")]
    for part in parts if given else ():
        if part not in given:
            limit = f"is missing: {WHY_WHOLE.get(part, 'the rest names no image')}"
            return [at(f"{key}.{part}", None, limit, "add it, or pin the image by id")]
    for part in ("id", *parts):
        text = getattr(image, part)
        if text is not None and ("*" in text or "?" in text or "latest" in text.lower()):
            limit = "stands for another image every month"
            return [at(f"{key}.{part}", text, limit, "write one image's whole id or name")]
    return []


def driver_problems(replica: Replica) -> list[Problem]:
    """Return an image that is known to have no GPU driver, for compute nodes with GPUs."""
    intent, image = replica.intent, replica.intent.image
    types = replica.instances.of(intent.provider)
    instance = types.get(intent.compute.instance)
    publisher, name = image.owner or image.publisher, image.name or image.offer
    if instance is None or instance.gpus is None or publisher is None or name is None:
        return []
    cloud = replica.instances.clouds[intent.provider]
    return [
        replica.document.problem("replica.image", image.label, limit, remedy)
        for limit, remedy in driverless(cloud, instance, publisher, name)
    ]


def driverless(
    cloud: Cloud, instance: InstanceType, publisher: str, name: str
) -> Iterator[tuple[str, str]]:
    """Yield limit and remedy of an image that is known to have no GPU driver."""
    for known in cloud.images_without_gpu_driver:
        if known.holds(publisher, name):
            limit = (
                f"is {known.what} and has no GPU driver, so {instance.type} would be paid for"
                " without its GPUs"
            )
            yield limit, f"pin one that has it: {cloud.images_with_gpu_driver}"


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
