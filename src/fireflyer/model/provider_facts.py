"""What a provider answered about a replica's plan, as preflight reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """A provider's limit on virtual processors of one family and market."""

    vcpus: float
    used: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """A reservation or capacity block, as the provider has it."""

    instance: str
    zone: str
    kind: str
    """`default` or `capacity-block`."""
    state: str
    free: int
    group: str | None
    """The placement group it was made in."""
    ends: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFact:
    """An image that fits what the intent pins."""

    id: str
    architecture: str
    publisher: str | None = None
    name: str | None = None
    generation: int = 2
    """Of the machine it starts on: one with firmware of the old kind is of the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningMachine:
    """A machine of a replica that is there and paid for by the hour."""

    name: str
    type: str
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    """What who raises a replica may not do of what its plan takes."""

    who: str
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Actions by the type of resource that takes them."""
    unchecked: str = ""
    """Why it is not known; empty if it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderFacts:
    """What a provider answered about one plan."""

    asked_at: datetime
    account: str
    permissions: Permissions
    zones: frozenset[str]
    """The region's, that this account may use."""
    offered: frozenset[str]
    """Instance types of the plan that the zone has."""
    quotas: Mapping[str, Quota]
    """By code; one that cannot be read is missing."""
    reservation: Reservation | None
    images: tuple[ImageFact, ...]
    encrypts: frozenset[str] | None = None
    """Types whose disks this account may encrypt where they are written; None where all are."""
    usd_per_hour: Mapping[str, float] = field(default_factory=dict)
    """By type, on demand, of the provider's list today; one that it did not tell is missing."""
