"""Preflight: what a provider says, against what a replica's plan needs. No I/O.

Every check is told, not only those that fail: who is about to pay reads what was asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from fireflyer.design.replica.price import KEY as CEILING
from fireflyer.design.replica.price import over_ceiling
from fireflyer.design.replica.rules import driverless
from fireflyer.errors import Problem
from fireflyer.model.fabric import Role
from fireflyer.model.instance import InstanceType, Market, Provider
from fireflyer.model.provider_facts import ImageFact, ProviderFacts, Reservation
from fireflyer.model.replica import UTC_FORMAT
from fireflyer.model.replica_plan import PlannedHost, ReplicaPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at."""

    what: str
    said: str
    problem: Problem | None = None
    notice: bool = False
    """Whether it is told as something to know before going on."""


def preflight(plan: ReplicaPlan, facts: ProviderFacts) -> tuple[Check, ...]:
    """Return every check of a plan; those with a problem keep it from being made."""
    return (
        *_key(plan),
        *_expiry(plan, facts),
        _alarms(plan),
        _permissions(plan, facts),
        *_zone(plan, facts),
        *_offers(plan, facts),
        *_quotas(plan, facts),
        *_reservation(plan, facts),
        *_image(plan, facts),
        *_encryption(plan, facts),
        *_prices(plan, facts),
    )


def _at(plan: ReplicaPlan, key: str, value: str, limit: str, remedy: str) -> Problem:
    return Problem(where=plan.where[key], key=key, value=value, limit=limit, remedy=remedy)


def _key(plan: ReplicaPlan) -> Iterator[Check]:
    key = plan.intent.access.public_key
    if key is None:
        limit = "is missing: nobody could log in"
        remedy = "add the line of your ~/.ssh/id_ed25519.pub"
        problem = _at(plan, "replica.access.public_key", "", limit, remedy)
        yield Check(what="key", said="none", problem=problem)
    else:
        yield Check(what="key", said=key.split()[0])


def _expiry(plan: ReplicaPlan, facts: ProviderFacts) -> Iterator[Check]:
    if plan.expires is None:
        yield Check(what="expiry", said=f"{plan.intent.ttl_hours} h after it is made")
        return
    when = datetime.strptime(plan.expires, UTC_FORMAT).replace(tzinfo=UTC)
    problem = None
    if when <= facts.asked_at:
        limit = f"it is {facts.asked_at:{UTC_FORMAT}} now"
        remedy = "run make replica-up, which sets it anew"
        problem = _at(plan, "expires", plan.expires, limit, remedy)
    yield Check(what="expiry", said=plan.expires, problem=problem)


def _alarms(plan: ReplicaPlan) -> Check:
    """Tell whether anybody is told; it is no reason to refuse."""
    if plan.alarms_told:
        return Check(what="alarms", said="to the stack's alarm_email")
    said = (
        "to NOBODY, and the budget's warnings too; to get them: pulumi -C pulumi config set"
        f" --stack {plan.name} --secret alarm_email you@example.org"
    )
    return Check(what="alarms", said=said, notice=True)


_RIGHTS: Mapping[Provider, str] = {
    "aws": "attach the policy that make replica-rights STACK={stack} prints",
    "azure": "assign the roles that docs/replica.md names, in the subscription",
}


def _permissions(plan: ReplicaPlan, facts: ProviderFacts) -> Check:
    """Tell what the caller may not do; what could not be checked is said, and refuses nothing."""
    found, provider = facts.permissions, plan.intent.provider
    if found.unchecked:
        said = f"of {found.who} NOT CHECKED: {found.unchecked}"
        said = f"{said}; a refusal may leave a part of the replica"
        return Check(what="rights", said=said, notice=True)
    if not found.missing:
        return Check(what="rights", said=f"{found.who} may do all that the plan takes")
    lacks = "; ".join(
        f"{', '.join(actions)} (for {place})" for place, actions in sorted(found.missing.items())
    )
    remedy = _RIGHTS[provider].format(stack=plan.name)
    limit = f"{found.who} may not {lacks}"
    problem = _at(plan, "replica.provider", provider, limit, remedy)
    return Check(what="rights", said="not all that the plan takes", problem=problem)


def _zone(plan: ReplicaPlan, facts: ProviderFacts) -> Iterator[Check]:
    zone, problem = plan.intent.zone, None
    if zone not in facts.zones:
        limit = f"account {facts.account} has no such zone in {plan.intent.region}"
        remedy = f"use one of {', '.join(sorted(facts.zones)) or 'another region'}"
        problem = _at(plan, "replica.zone", zone, limit, remedy)
    yield Check(what="zone", said=zone, problem=problem)


def _wanted(plan: ReplicaPlan) -> Mapping[str, str]:
    """Return the key of the intent that asks for each instance type."""
    wanted = {host.instance.type: f"replica.{host.role}.instance" for host in plan.hosts}
    if plan.bastion is not None:
        wanted.setdefault(plan.bastion.type, "replica.access.instance")
    return wanted


def _offers(plan: ReplicaPlan, facts: ProviderFacts) -> Iterator[Check]:
    for name, key in _wanted(plan).items():
        problem = None
        if name not in facts.offered:
            limit = f"{plan.intent.place} does not have it"
            where = "replica.zone" if plan.intent.zone != "none" else "replica.region"
            problem = _at(plan, key, name, limit, f"change {where} or the type")
        said = f"in {plan.intent.place}" if problem is None else f"not in {plan.intent.place}"
        yield Check(what=name, said=said, problem=problem)


_READS_QUOTAS: Mapping[Provider, str] = {
    "aws": "servicequotas:GetServiceQuota",
    "azure": "Microsoft.Compute/locations/usages/read",
}
"""The permission that shows quotas."""


def quotas_of(plan: ReplicaPlan, instance: InstanceType, market: Market) -> tuple[str, ...]:
    """Return the quotas that an instance counts on."""
    of_region = plan.cloud.region_quotas.get(market)
    own = instance.quotas[market]
    return (own,) if of_region is None else (own, of_region)


def _quotas(plan: ReplicaPlan, facts: ProviderFacts) -> Iterator[Check]:
    intent = plan.intent
    needs: Counter[str] = Counter()
    first: dict[str, PlannedHost] = {}
    for host in plan.hosts:
        if host.market == "capacity-block" or (host.reservation and intent.provider == "azure"):
            continue  # bought, and counted when it was
        for code in quotas_of(plan, host.instance, host.market):
            needs[code] += host.instance.vcpus
            first.setdefault(code, host)
    if plan.bastion is not None:
        for code in quotas_of(plan, plan.bastion, "on-demand"):
            needs[code] += plan.bastion.vcpus
    for code, need in needs.items():
        quota, problem = facts.quotas.get(code), None
        asking = first.get(code)
        key = f"replica.{asking.role}.instance" if asking else "replica.access.instance"
        name = asking.instance.type if asking else "the bastion"
        if quota is None:
            limit = f"its quota {code} cannot be read"
            remedy = f"allow {_READS_QUOTAS[intent.provider]}, or correct the code in the catalogue"
            problem = _at(plan, key, name, limit, remedy)
            said = "not known"
        else:
            said = f"{need} vCPU of {quota.vcpus - quota.used:.0f} free, {quota.vcpus:.0f} in all"
            if need > quota.vcpus - quota.used:
                limit = f"quota {code} has {said.partition(' of ')[2]}; {need} vCPU are needed"
                remedy = "ask the provider for more, or lower replica.scale"
                problem = _at(plan, key, name, limit, remedy)
        yield Check(what=f"quota {code}", said=said, problem=problem)


def _reservation(plan: ReplicaPlan, facts: ProviderFacts) -> Iterator[Check]:
    placement = plan.intent.placement
    if placement.reservation is None:
        return
    key, name, found = "replica.placement.reservation", placement.reservation, facts.reservation
    what = f"reservation {name}"
    if found is None:
        limit = f"account {facts.account} has no such reservation in {plan.intent.region}"
        yield Check(
            what=what, said="not found", problem=_at(plan, key, name, limit, "correct the id")
        )
        return
    said = f"{found.free} free of {found.instance} in {found.zone}, {found.kind}, {found.state}"
    for limit, remedy in _reservation_faults(plan, facts, found):
        yield Check(what=what, said=said, problem=_at(plan, key, name, limit, remedy))
        return
    yield Check(what=what, said=said)


def _reservation_faults(
    plan: ReplicaPlan, facts: ProviderFacts, found: Reservation
) -> Iterator[tuple[str, str]]:
    intent, need = plan.intent, len(list(plan.hosts_of(Role.COMPUTE)))
    kind = "capacity-block" if intent.placement.kind == "capacity-block" else "default"
    if found.kind != kind:
        remedy = f"set replica.placement.kind to {_KINDS.get(found.kind, found.kind)}"
        yield f"is of type {found.kind}, placement is by {intent.placement.kind}", remedy
    if found.instance != intent.compute.instance:
        remedy = f"set replica.compute.instance to {found.instance}, or name another reservation"
        yield f"holds {found.instance}, compute is {intent.compute.instance}", remedy
    if found.zone != intent.zone:
        yield f"is in {found.zone}, the replica in {intent.zone}", f"set zone to {found.zone}"
    if found.state != "active":
        yield f"is {found.state}", "wait until it is active, or name another reservation"
    if found.free < need:
        yield (
            f"has room for {found.free} instances, {need} are planned",
            "lower replica.scale, or reserve more",
        )
    if found.group != intent.placement.group:
        if found.group is None:
            text = f"was made in no group, replica.placement.group is {intent.placement.group}"
            yield text, "remove replica.placement.group"
        else:
            yield (
                f"was made in group {found.group}, where its instances must start",
                f"set replica.placement.group to {found.group}",
            )
    if found.ends is not None and found.ends <= facts.asked_at:
        yield f"ended at {found.ends:{UTC_FORMAT}}", "buy another"


_KINDS = {"default": "reservation"}


def _image(plan: ReplicaPlan, facts: ProviderFacts) -> Iterator[Check]:
    image = plan.intent.image
    name = image.label
    problem = None
    if len(facts.images) != 1:
        limit = f"{len(facts.images) or 'no'} images in {plan.intent.region} fit"
        problem = _at(plan, "replica.image", name, limit, "pin one that is there, by its id")
    elif facts.images[0].architecture != "x86_64":
        limit = f"is for {facts.images[0].architecture}, the instances are x86_64"
        problem = _at(plan, "replica.image", name, limit, "pin another")
    elif facts.images[0].generation == 1:
        limit = "is of the first generation, machines with GPUs start from the second"
        problem = _at(plan, "replica.image", name, limit, "pin the one that ends in gen2")
    else:
        problem = _driverless(plan, facts.images[0])
    said = facts.images[0].id if len(facts.images) == 1 else f"{len(facts.images)} found"
    yield Check(what="image", said=said, problem=problem)


def _driverless(plan: ReplicaPlan, image: ImageFact) -> Problem | None:
    """Return an image, pinned by its id, that is known to have no GPU driver."""
    compute = next(plan.hosts_of(Role.COMPUTE)).instance
    if compute.gpus is None or image.publisher is None or image.name is None:
        return None
    for limit, remedy in driverless(plan.cloud, compute, image.publisher, image.name):
        return _at(plan, "replica.image", f"{image.id} ({image.name})", limit, remedy)
    return None


def _encryption(plan: ReplicaPlan, facts: ProviderFacts) -> Iterator[Check]:
    if facts.encrypts is None:
        return
    wanted = _wanted(plan)
    bare = [name for name in wanted if name not in facts.encrypts]
    for name in bare:
        limit = "this account cannot have its disks encrypted at the host"
        remedy = "register Microsoft.Compute/EncryptionAtHost, or choose another type"
        yield Check(what=f"encryption of {name}", said="not at the host",
                    problem=_at(plan, wanted[name], name, limit, remedy))  # fmt: skip
    if not bare:
        yield Check(what="encryption", said="at the host")


def _prices(plan: ReplicaPlan, facts: ProviderFacts) -> Iterator[Check]:
    """Tell the provider's prices beside the catalogue's, and hold the ceiling to the provider's."""
    for name, instance in sorted(plan.types.items()):
        price, told = instance.price, facts.usd_per_hour.get(name)
        listed = f"{price.usd_per_hour:,.3f} $/h of {price.region}, {price.as_of}"
        said = f"the provider does not tell; in the catalogue {listed}"
        if told is not None:
            said = f"{told:,.3f} $/h, in the catalogue {price.usd_per_hour:,.3f}"
        yield Check(what=f"price of {name}", said=said)
    dearer = sum(
        facts.usd_per_hour[one.type] - one.price.usd_per_hour
        for one, _ in plan.machines
        if one.type in facts.usd_per_hour
    )
    day, ceiling = plan.usd_per_day + 24 * dearer, plan.intent.usd_per_day_ceiling
    problem = None
    if day > ceiling:
        problem = _at(plan, CEILING, *over_ceiling(ceiling, day, "the provider's list"))
    yield Check(what="price", said=f"{day:,.2f} $ a day of {ceiling:,.2f}", problem=problem)


def checks_as_text(checks: tuple[Check, ...]) -> str:
    """Return what the provider was asked, and what it said: in order, to be noted, or refused."""
    return "\n".join(
        f"{'no' if check.problem else '!!' if check.notice else 'ok':4}{check.what}: {check.said}"
        for check in checks
    )
