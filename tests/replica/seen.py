"""What a program declared, in words that are the same for every provider."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.replica.fake_engine import Graph


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A host, or the bastion."""

    type: str
    market: str
    addresses: tuple[str, ...]
    """Of its interfaces that have one, the one it is managed at first."""
    subnets: tuple[str, ...]
    """Of the same; empty in a preview."""
    group: str | None
    encrypted: bool
    disk_goes: bool
    """With the machine."""
    user_data: str
    """In base64."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A replica as it would stand."""

    machines: Mapping[str, Machine]
    subnets: Mapping[str, str]
    names: Mapping[str, tuple[str, ...]]
    let_in: set[tuple[str, int, str]]
    """Whose group lets in at which port from which network outside of the replica."""
    public: set[str]
    """Machines with a public address."""
    ended: set[str]
    """Hosts that are stopped or terminated by themselves."""
    ends_at: str
    alarms: set[str]
    lasting: Mapping[str, Mapping[str, Any]]
    """What machines follow from, without the tags that a provider changes as they run."""


def seen(graph: Graph) -> Seen:
    """Return what stands after a program, whose ever the cloud is."""
    from tests.replica import seen_aws, seen_azure

    azure = any(found.kind.startswith("azure-native:") for found in graph.resources)
    return seen_azure.seen(graph) if azure else seen_aws.seen(graph)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every plain value inside inputs, with the way to it; JSON text is opened."""
    if isinstance(value, str) and value[:1] in "{[" and value[:1]:
        value = json.loads(value)
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item, path)
    else:
        yield path, value
