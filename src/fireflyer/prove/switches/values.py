"""Compare the values of a configuration, by key, with those the switch should hold.

A key is a section, a row in it and what stands in that row, such as `PORT`, `Ethernet0`, `mtu`.
Both sides are compared whole: a value that differs, is missing or is not planned is a finding.
Ports repeat each other's values, so what differs alike at several rows is one finding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from fireflyer.design.switch_config import switch_configs
from fireflyer.model.fabric import Fabric
from fireflyer.model.hardware import System
from fireflyer.model.switch_config import SwitchConfig
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import REMEDY, bounded

Key: TypeAlias = tuple[str, ...]
Values: TypeAlias = dict[Key, str]
Reader: TypeAlias = Callable[[str], tuple[Values, list[str]]]
"""Returns what a text holds, and what is wrong with its form."""
Planner: TypeAlias = Callable[[SwitchConfig], Values]

NAMED = 3
"""Rows with the same difference that a finding names; the others are counted."""
MOST = 256
"""Numbers that a range may stand for: no port, queue or code point counts further."""
_NOTHING = "nothing"


def add(values: Values, section: str, row: str, fields: Mapping[str, str]) -> None:
    """Put the fields of one row; a row without fields is a value, too."""
    for name, value in fields.items():
        values[section, row, name] = value
    if not fields:
        values[section, row] = ""


def spread(first: str, last: str) -> tuple[str, ...]:
    """Return the numbers of a range; none of one that is no range of queues or code points.

    >>> spread("1", "3"), spread("0", "4000000000"), spread("3", "1")
    (('1', '2', '3'), (), ())
    """
    low, high = int(first), int(last)
    return tuple(map(str, range(low, high + 1))) if high - low < MOST else ()


def check_values(
    fabric: Fabric, tree: Path, system: System, ending: str, read: Reader, plan: Planner
) -> tuple[int, tuple[Finding, ...]]:
    """Read every switch's file below `tree/<system>` back, and look for files of no switch.

    Returns:
        The number of files read, and the findings.
    """
    findings: list[Finding] = []
    present = {file.name for file in (tree / system).glob("*")}
    count = 0
    for config in switch_configs(fabric):
        name = f"{config.name}{ending}"
        subject = f"{system}/{name}"
        if name not in present:
            findings.append(Finding(system, subject, "is not there", "render the site again"))
            continue
        present.discard(name)
        count += 1
        values, faults = read((tree / subject).read_text(errors="replace"))
        findings += [Finding(system, subject, fault, REMEDY) for fault in faults]
        if values or not faults:
            findings += bounded(subject, differences(system, subject, plan(config), values))
    for name in sorted(present):
        message = "is the file of no switch of the plan"
        findings.append(Finding(system, f"{system}/{name}", message, "remove it"))
    return count, tuple(findings)


def differences(
    check: str, subject: str, planned: Mapping[Key, str], found: Mapping[Key, str]
) -> Iterator[Finding]:
    """Yield each difference once, with the rows that share it."""
    if planned == found:
        return
    mine, theirs = _lacking(planned, found), _lacking(found, planned)
    groups: dict[tuple[Key, str, str], list[str]] = {}
    for key in dict.fromkeys((*mine, *theirs)):
        wanted = mine.get(key) or (_said(planned[key]) if key in planned else _NOTHING)
        has = theirs.get(key) or (_said(found[key]) if key in found else _NOTHING)
        row = key[1] if len(key) > 1 else ""
        groups.setdefault(((key[0], *key[2:]), wanted, has), []).append(row)
    for ((section, *rest), wanted, has), rows in groups.items():
        where = " ".join(part for part in (section, rows[0], *rest) if part)
        message = f"{where}: {_compared(has, wanted)}"
        if more := rows[1:]:
            named = ", ".join(more[:NAMED]) + (", ..." if more[NAMED:] else "")
            message += f"; the same at {len(more)} more ({named})"
        yield Finding(check, subject, message, REMEDY)


def _compared(has: str, wanted: str) -> str:
    if (has, wanted) == ("", _NOTHING):
        return "is there, and is not planned"
    if (has, wanted) == (_NOTHING, ""):
        return "is missing"
    return f"the file has {has or 'no value'}, planned {wanted or 'no value'}"


def _lacking(one: Mapping[Key, str], other: Mapping[Key, str]) -> dict[Key, str]:
    """Return what the one has and the other has not or has otherwise, in words, by key.

    Of a row or section that the other lacks whole, the key is the row's or the section's.
    """
    sections, rows = {key[0] for key in other}, {key[:2] for key in other}
    found: dict[Key, str] = {}
    whole: dict[Key, list[str]] = {}
    for key, value in one.items():
        if other.get(key) == value:
            continue
        if key[0] not in sections:
            whole.setdefault(key[:1], []).append(_entry(key[1:], value))
        elif len(key) > 2 and key[:2] not in rows:
            whole.setdefault(key[:2], []).append(_entry(key[2:], value))
        else:
            found[key] = _said(value)
    for key, entries in whole.items():
        more = f" and {len(entries) - NAMED} more" if entries[NAMED:] else ""
        found[key] = ", ".join(entries[:NAMED]) + more
    return found


def _entry(key: Key, value: str) -> str:
    return " ".join(part for part in (*key, _said(value)) if part)


def _said(value: str) -> str:
    """Return a value in words: empty where being there is all that it says."""
    return "" if value == "{}" else value
