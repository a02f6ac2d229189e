"""Put the parts together: a replica's intent in, a plan out, or everything that is in the way."""

from __future__ import annotations

from fireflyer.design.replica.counts import count_problems, counts
from fireflyer.design.replica.fabric import fabric_of
from fireflyer.design.replica.hosts import group_name, hosts
from fireflyer.design.replica.network import network_problems, subnets
from fireflyer.design.replica.price import price_problems, prices
from fireflyer.design.replica.providers import provider_problems
from fireflyer.design.replica.rules import (
    access_problems,
    bastion_type,
    driver_problems,
    image_problems,
    instance_problems,
    key_problems,
    placement_problems,
)
from fireflyer.errors import IntentError
from fireflyer.load.replica import Replica
from fireflyer.model.replica_plan import ReplicaPlan


def plan_replica(replica: Replica) -> ReplicaPlan:
    """Return the plan that the intent asks for.

    Raises:
        IntentError: with every problem that can be seen at once.
    """
    intent = replica.intent
    problems = count_problems(replica)
    found = None if problems else counts(replica)
    problems += instance_problems(replica) + placement_problems(replica)
    problems += image_problems(replica) or driver_problems(replica)
    problems += network_problems(replica, found)
    problems += access_problems(replica) + key_problems(replica)
    if not problems and found is not None:
        problems += provider_problems(replica, found)
    if problems or found is None:
        raise IntentError(problems)
    nets = subnets(replica, found)
    planned = hosts(replica, found)
    bastion = None
    if intent.access.kind == "bastion":
        bastion = replica.instances.types[intent.provider, bastion_type(replica)]
    lines = prices(replica, planned, bastion)
    if problems := price_problems(replica, lines):
        raise IntentError(problems)
    fabric = fabric_of(replica, found, planned, nets)
    by_cluster = intent.placement.kind == "cluster"
    return ReplicaPlan(
        name=replica.name,
        site=intent.of,
        intent=intent,
        cloud=replica.instances.clouds[intent.provider],
        expires=replica.expires,
        alarms_told=replica.alarms_told,
        fabric=fabric,
        network=fabric.networks["management"],
        subnets=tuple(nets.values()),
        hosts=planned,
        new_groups=tuple(group_name(replica, zone) for zone in found.zones) if by_cluster else (),
        bastion=bastion,
        prices=lines,
        where={key: replica.document.where(key) for key in WHERE},
    )


WHERE = (
    "replica.provider",
    "replica.zone",
    "replica.compute.instance",
    "replica.storage.instance",
    "replica.management.instance",
    "replica.access.instance",
    "replica.compute.market",
    "replica.placement.reservation",
    "replica.placement.group",
    "replica.image",
    "replica.scale",
    "replica.access.public_key",
    "replica.usd_per_day_ceiling",
    "expires",
)
"""Keys that preflight may find fault with."""
