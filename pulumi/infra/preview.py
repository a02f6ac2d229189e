"""What the engine says that a run would change, of all its events the few that matter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

MARKS = {"create": "+", "update": "~", "delete": "-", "replace": "REPLACED"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One resource that would not stay as it is."""

    verb: str
    """`create`, `update`, `delete` or `replace`."""
    type: str
    name: str
    why: tuple[str, ...]
    """The properties that differ; of a replacement those that force it."""


def changes(events: Iterable[Any]) -> tuple[Change, ...]:
    """Return what would change, of the events of the Automation API, in their order.

    A replacement comes as three steps; the one named `replace` stands for all of them.
    """
    found = []
    for event in events:
        if event.resource_pre_event is None:
            continue
        step = event.resource_pre_event.metadata
        verb = getattr(step.op, "value", step.op)
        if verb in MARKS and not step.type.startswith(("fireflyer:", "pulumi:")):
            why = step.keys if verb == "replace" and step.keys else step.diffs
            name = step.urn.rpartition("::")[2]
            found.append(Change(verb=verb, type=step.type, name=name, why=tuple(why or ())))
    return tuple(found)


def as_text(found: tuple[Change, ...]) -> str:
    """Return the changes for a person, replacements last and marked."""
    if not found:
        return "changes: none"
    order = sorted(found, key=lambda change: change.verb == "replace")
    lines = [f"changes: {len(found)}"]
    for change in order:
        why = f": {', '.join(change.why)}" if change.why and change.verb != "create" else ""
        lines.append(f"  {MARKS[change.verb]:9}{change.type} {change.name}{why}")
    replaced = sum(change.verb == "replace" for change in found)
    if replaced:
        lines.append(
            f"  {replaced} REPLACED: what is there is deleted first, with what its disks hold"
        )
    return "\n".join(lines)
