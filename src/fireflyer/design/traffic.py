"""Check the table of traffic classes: what a fabric of real switches can carry."""

from __future__ import annotations

from collections import Counter

from fireflyer.errors import Problem
from fireflyer.load import Site
from fireflyer.model.intent import TrafficIntent

KEY = "cluster.traffic"
SLS = 16


def traffic_problems(site: Site) -> list[Problem]:
    """Return every repeated name, SL or VL and every gap that OpenSM would take silently."""
    traffic, at = site.cluster.traffic, site.document.problem
    problems: list[Problem] = []
    for field in ("name", "sl", "vl"):
        first: dict[object, str] = {}
        for index, row in enumerate(traffic.classes):
            value = getattr(row, field)
            if value in first:
                limit = f"is taken by {first[value]}"
                remedy = f"give each class a {field} of its own"
                problems.append(at(f"{KEY}.classes.{index}.{field}", value, limit, remedy))
            first.setdefault(value, row.name)
    names = [row.name for row in traffic.classes]
    for field in ("default", "storage"):
        if (name := getattr(traffic, field)) not in names:
            limit = "is no class of the table"
            problems.append(at(f"{KEY}.{field}", name, limit, f"use one of {', '.join(names)}"))
    lanes = {row.vl for row in traffic.classes}
    if lanes != set(range(len(lanes))):
        limit = f"virtual lanes {sorted(lanes)} leave a gap"
        remedy = f"use 0 to {len(lanes) - 1}: switches have the first lanes or none"
        problems.append(at(f"{KEY}.classes", None, limit, remedy))
    if Counter(row.priority for row in traffic.classes)["low"] == 0:
        limit = "no class has priority low, so traffic that asks for none may starve"
        problems.append(at(f"{KEY}.classes", None, limit, "set the default class to low"))
    return problems


def sl_to_vl(traffic: TrafficIntent) -> tuple[int, ...]:
    """Return the lane of each of the 16 service levels; an unused one has the default's."""
    lanes = {row.sl: row.vl for row in traffic.classes}
    default = next(row.vl for row in traffic.classes if row.name == traffic.default)
    return tuple(lanes.get(sl, default) for sl in range(SLS))


def operational_vls(lanes: int) -> int:
    """Return PortInfo's code for that many lanes: 1 for one, 2 for two, 3 for four, 4 for eight.

    >>> [operational_vls(lanes) for lanes in (1, 2, 3, 4, 5, 8)]
    [1, 2, 3, 3, 4, 4]
    """
    return (lanes - 1).bit_length() + 1


def arbitration(traffic: TrafficIntent, priority: str) -> tuple[tuple[int, int], ...]:
    """Return the (VL, weight) entries of one arbitration table, by lane."""
    rows = (row for row in traffic.classes if row.priority == priority)
    return tuple(sorted((row.vl, row.weight) for row in rows))
