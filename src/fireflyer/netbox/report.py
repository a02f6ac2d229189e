"""What an export found and did, for a person."""

from __future__ import annotations

from typing import Final

from fireflyer.netbox.export import Export

_SHOWN: Final = 100
"""Differences named one by one."""


def as_text(result: Export, *, apply: bool, update: bool) -> str:
    """Return a table of counts, and each field that is not as planned."""
    done, changed = "created" if apply else "missing", "updated" if update else "differing"
    lines = [f"{'':<16}{'there':>9}{done:>9}{changed:>11}{'others':>9}"]
    lines += [
        f"{count.name:<16}{count.present:>9,}{count.missing:>9,}{count.differing:>11,}"
        f"{count.others:>9,}"
        for count in result.counts
    ]
    for change in result.changes[:_SHOWN]:
        shown = change.shown or "empty"
        verb = "was" if update else "is"
        lines.append(f"{change.what}: {change.field} {verb} {shown}, planned {change.wanted}")
    if (more := len(result.changes) - _SHOWN) > 0:
        lines.append(f"and {more:,} more differences")
    if not apply and any(count.missing for count in result.counts):
        lines.append("nothing was created: --apply creates what is missing")
    if not update and result.changes:
        lines.append("nothing was changed: --update sets what differs as planned")
    return "\n".join(lines)
