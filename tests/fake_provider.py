"""What a provider with room for everything would answer about a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

from fireflyer.model.fabric import Role
from fireflyer.model.provider_facts import ImageFact, Permissions, ProviderFacts, Quota, Reservation
from fireflyer.model.replica_plan import ReplicaPlan

NOW = datetime(2029, 12, 1, tzinfo=UTC)


def answer(plan: ReplicaPlan, changes: Mapping[str, Any] | None = None) -> ProviderFacts:
    """Return facts under which a plan is in order, with changes to one level of them."""
    intent = plan.intent
    types = plan.types
    compute = next(plan.hosts_of(Role.COMPUTE))
    reservation = None
    if intent.placement.reservation is not None:
        reservation = Reservation(
            instance=compute.instance.type,
            zone=intent.zone,
            kind="capacity-block" if intent.placement.kind == "capacity-block" else "default",
            state="active",
            free=len(list(plan.hosts_of(Role.COMPUTE))),
            group=intent.placement.group,
            ends=None,
        )
    codes = {code for instance in types.values() for code in instance.quotas.values()}
    codes |= set(plan.cloud.region_quotas.values())
    facts = ProviderFacts(
        asked_at=NOW,
        account="123456789012",
        permissions=Permissions(who="arn:aws:iam::123456789012:user/owner"),
        zones=frozenset({intent.zone, f"{intent.region}b"}),
        offered=frozenset(types),
        quotas={code: Quota(vcpus=10_000.0, used=0.0) for code in codes},
        reservation=reservation,
        images=(ImageFact(id="ami-0123456789abcdef0", architecture="x86_64"),),
        encrypts=frozenset(types) if intent.provider == "azure" else None,
        usd_per_hour={name: one.price.usd_per_hour for name, one in types.items()},
    )
    return _changed(facts, changes or {})


def _changed(facts: ProviderFacts, changes: Mapping[str, Any]) -> ProviderFacts:
    kinds = {field.name for field in fields(ProviderFacts)}
    for key, value in changes.items():
        name, _, part = key.partition(".")
        assert name in kinds, key
        if name == "reservation" and part:
            assert facts.reservation is not None
            found: dict[str, Any] = {
                part: datetime.fromisoformat(value) if part == "ends" else value
            }
            facts = replace(facts, reservation=replace(facts.reservation, **found))
        elif name == "quotas":
            quotas = {code: quota for code, quota in facts.quotas.items() if code != part}
            if value is not None:
                quotas[part] = Quota(**value)
            facts = replace(facts, quotas=quotas)
        elif name == "offered":  # the type that is not
            facts = replace(facts, offered=facts.offered - {value})
        elif name == "encrypts":
            assert facts.encrypts is not None
            facts = replace(facts, encrypts=facts.encrypts - {value})
        elif name == "usd_per_hour":
            prices = {one: usd for one, usd in facts.usd_per_hour.items() if one != part}
            if value is not None:
                prices[part] = value
            facts = replace(facts, usd_per_hour=prices)
        elif name == "zones":
            facts = replace(facts, zones=frozenset(value))
        elif name == "images":
            facts = replace(facts, images=tuple(ImageFact(**image) for image in value))
        elif name == "permissions":
            lacking: dict[str, Any] = {part: value}
            facts = replace(facts, permissions=replace(facts.permissions, **lacking))
        else:
            facts = replace(facts, **{name: value})
    return facts
