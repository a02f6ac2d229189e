"""Check the table of traffic classes: what a fabric of real switches can carry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fireflyer.design.headroom import RESPONSE_QUANTA
from fireflyer.errors import Problem
from fireflyer.load import Site
from fireflyer.model.intent import Cluster, TrafficClass, TrafficIntent
from fireflyer.model.switch_config import Queue

KEY = "cluster.traffic"
SLS = 16
CONTROL_QUEUE = 7
"""Strict, never lossless: routing (CS6, RFC 4594) and, with DCQCN, congestion notification."""
CONTROL_DSCP = (48,)


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
    return problems + (_ethernet_problems(site) if traffic_is_ethernet(site) else [])


def traffic_is_ethernet(site: Site) -> bool:
    """Say whether the table feeds queues (Ethernet) and not lanes alone."""
    return site.cluster.fabric.technology == "ethernet"


def _ethernet_problems(site: Site) -> list[Problem]:
    """Return code points and queues that two classes share, or that are spoken for."""
    traffic, at = site.cluster.traffic, site.document.problem
    problems: list[Problem] = []
    points: dict[int, str] = dict.fromkeys(CONTROL_DSCP, "routing and congestion notification")
    owners: dict[int, TrafficClass] = {}
    for index, row in enumerate(traffic.classes):
        key = f"{KEY}.classes.{index}"
        for place, point in enumerate(row.dscp):
            if (first := points.setdefault(point, row.name)) != row.name:
                limit = f"is taken by {first}"
                remedy = "give each class code points of its own"
                problems.append(at(f"{key}.dscp.{place}", point, limit, remedy))
        if not row.dscp and row.name != traffic.default:
            limit = "has no code point, so no packet is ever in it"
            problems.append(at(f"{key}.dscp", None, limit, "give it one or more of 0 to 63"))
        if row.queue_number == CONTROL_QUEUE:
            limit = "is the queue of routing and congestion notification"
            problems.append(at(f"{key}.queue", CONTROL_QUEUE, limit, "use 0 to 6"))
        owner = owners.setdefault(row.queue_number, row)
        if owner is not row:
            what = "both are lossless" if owner.lossless and row.lossless else "is taken"
            limit = f"{what}: queue {row.queue_number} is that of {owner.name}"
            remedy = "give each class a queue of its own"
            problems.append(at(f"{key}.queue", row.queue_number, limit, remedy))
        if row.lossless and row.name == traffic.default:
            limit = "the default class takes what nobody sized, and would pause the others' senders"
            problems.append(at(f"{key}.lossless", "true", limit, "set it to false"))
    return problems + _lossless_problems(site)


def _lossless_problems(site: Site) -> list[Problem]:
    fabric, at = site.cluster.fabric, site.document.problem
    count = sum(row.lossless for row in site.cluster.traffic.classes)
    problems = []
    seen: set[str] = set()
    for layer in ("leaf", "spine", "core", "interzone"):
        part = getattr(fabric, layer)
        model = site.catalogue.switches.get(part.model) if part is not None else None
        if model is None or model.technology != "ethernet" or model.name in seen:
            continue
        seen.add(model.name)
        if model.buffer is None and count:
            limit = f"hardware/switches/{model.name}.yml says nothing of its buffer"
            problems.append(at(f"cluster.fabric.{layer}.model", model.name, limit, "add buffer"))
        elif model.buffer is not None and count > model.buffer.lossless_queues:
            limit = (
                f"{count} classes are lossless, {model.name} keeps {model.buffer.lossless_queues}"
            )
            problems.append(at(f"{KEY}.classes", None, limit, "make fewer classes lossless"))
        elif count and model.port_gbps not in RESPONSE_QUANTA:
            limit = f"IEEE 802.3 31B.3.7 has no response time for its {model.port_gbps} Gb/s here"
            remedy = f"use ports of {', '.join(str(gbps) for gbps in RESPONSE_QUANTA)} Gb/s"
            problems.append(at(f"cluster.fabric.{layer}.model", model.name, limit, remedy))
    return problems


def queues(cluster: Cluster) -> tuple[Queue, ...]:
    """Return the queues of every port by number, the control queue last.

    Weights become shares of the link that add up to 100 %.
    """
    traffic = cluster.traffic
    rows = sorted(traffic.classes, key=lambda row: row.queue_number)
    shares = percentages([row.weight for row in rows])
    found = [
        Queue(
            name=row.name,
            number=row.queue_number,
            dscp=row.dscp,
            weight_percent=share,
            strict=False,
            lossless=row.lossless,
            default=row.name == traffic.default,
        )
        for row, share in zip(rows, shares, strict=True)
    ]
    control = Queue(
        name="control",
        number=CONTROL_QUEUE,
        dscp=CONTROL_DSCP,
        weight_percent=0,
        strict=True,
        lossless=False,
        default=False,
    )
    return (*found, control)


def percentages(weights: Sequence[int]) -> list[int]:
    """Return whole shares of 100, none below 1, the largest remainders rounded up.

    >>> percentages([32, 128, 64, 96]), percentages([1, 255])
    ([10, 40, 20, 30], [1, 99])
    """
    total = sum(weights)
    shares = [max(1, weight * 100 // total) for weight in weights]
    order = sorted(range(len(weights)), key=lambda i: (-(weights[i] * 100 % total), i))
    for i in order[: max(0, 100 - sum(shares))]:
        shares[i] += 1
    while sum(shares) > 100:
        shares[shares.index(max(shares))] -= 1
    return shares


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
