"""Lossless queues on Ethernet: headroom from speed and cable, the shared pool, marking."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import Final

from fireflyer.design.headroom import headroom, reserved_bytes
from fireflyer.errors import Problem
from fireflyer.load import Site
from fireflyer.model.fabric import Cable, Layer, Switch
from fireflyer.model.hardware import SwitchModel
from fireflyer.model.intent import Cluster
from fireflyer.model.switch_config import Ecn, Lossless, LosslessProfile, PortConfig

ECN_NS: Final = (6_000, 60_000)
"""Time that a queue takes to drain at line rate, from which on it is marked, and marked with
certainty of `ECN_PERCENT`: 150 kB and 1.5 MB at 200 Gb/s, which is what Cumulus Linux's `qos roce`
sets at any speed. Taking them for 200 Gb/s is this project's choice, to be tuned where DCQCN is
switched on."""
ECN_PERCENT: Final = 5
LEAST_SHARED: Final = 8
"""A pool of less than one part in so many is refused; not published, chosen here."""


def lossless(cluster: Cluster, model: SwitchModel, ports: Iterable[PortConfig]) -> Lossless | None:
    """Return what a switch with these ports needs, None where no class is lossless."""
    ethernet = cluster.fabric.ethernet
    queues = sum(row.lossless for row in cluster.traffic.classes)
    if ethernet is None or model.buffer is None or not queues:
        return None
    kinds = Counter((port.gbps, port.cable_m) for port in ports if port.in_use)
    profiles = tuple(_profile(model, *kind, ethernet.mtu) for kind in sorted(kinds))
    kept = queues * sum(p.size_bytes * kinds[p.gbps, p.cable_m] for p in profiles)
    reserved = reserved_bytes(model, kinds.total(), kept)
    return Lossless(
        profiles=profiles,
        pool_bytes=model.buffer.total_bytes - reserved,
        reserved_bytes=reserved,
        ecn=ecn(max(gbps for gbps, _ in kinds)) if ethernet.dcqcn and kinds else None,
        watchdog_detect_ms=ethernet.pfc_watchdog.detect_ms,
        watchdog_restore_ms=ethernet.pfc_watchdog.restore_ms,
    )


def _profile(model: SwitchModel, gbps: int, cable_m: int, mtu: int) -> LosslessProfile:
    found = headroom(model, gbps, cable_m, mtu)
    return LosslessProfile(
        name=f"lossless_{gbps}g_{cable_m}m",
        gbps=gbps,
        cable_m=cable_m,
        xoff_bytes=found.xoff,
        xon_bytes=found.xon,
        size_bytes=found.size,
    )


@lru_cache(maxsize=8)
def ecn(gbps: int) -> Ecn:
    """Return the thresholds at links of a speed: the same on every switch of a site.

    >>> ecn(200)
    Ecn(minimum_bytes=150000, maximum_bytes=1500000, maximum_percent=5)
    """
    low, high = (gbps * ns // 8 for ns in ECN_NS)
    return Ecn(minimum_bytes=low, maximum_bytes=high, maximum_percent=ECN_PERCENT)


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Packet memory of the fullest switch of a layer."""

    layer: Layer
    switch: str
    total_bytes: int
    shared_bytes: int
    """Left to share once headroom and the switch's other reserves are taken off."""


def fullest(
    cluster: Cluster, switches: Mapping[str, Switch], cables: Iterable[Cable]
) -> tuple[MemoryUse, ...]:
    """Return the fullest switch of each layer; nothing where no class is lossless."""
    ethernet = cluster.fabric.ethernet
    queues = sum(row.lossless for row in cluster.traffic.classes)
    if ethernet is None or not queues:
        return ()
    used: dict[str, Counter[tuple[int, int]]] = {}
    for cable in cables:
        kind = (cable.gbps, ceil(cable.length_m))
        for end in (cable.a.device, cable.z.device):
            if end in switches:
                used.setdefault(end, Counter())[kind] += 1
    sizes: dict[tuple[str, int, int], int] = {}
    worst: dict[Layer, MemoryUse] = {}
    for name, kinds in used.items():
        model, layer = switches[name].model, switches[name].layer
        if model.buffer is None:
            continue
        kept = 0
        for (gbps, cable_m), count in kinds.items():
            key = (model.name, gbps, cable_m)
            if key not in sizes:
                sizes[key] = headroom(model, gbps, cable_m, ethernet.mtu).size
            kept += queues * count * sizes[key]
        total = model.buffer.total_bytes
        left = total - reserved_bytes(model, kinds.total(), kept)
        if layer not in worst or left < worst[layer].shared_bytes:
            worst[layer] = MemoryUse(layer, name, total, left)
    return tuple(worst.values())


def buffer_problems(
    site: Site, switches: Mapping[str, Switch], cables: Iterable[Cable]
) -> list[Problem]:
    """Return the layers with a switch that leaves too little of its memory to share.

    One problem a layer: the fullest switch is named.
    """
    queues = sum(row.lossless for row in site.cluster.traffic.classes)
    problems = []
    for use in fullest(site.cluster, switches, cables):
        if use.shared_bytes * LEAST_SHARED >= use.total_bytes:
            continue
        limit = (
            f"{use.switch} reserves {use.total_bytes - use.shared_bytes:,} of {use.total_bytes:,}"
            f" bytes, most of it as headroom of its {queues} lossless classes, and must leave"
            f" {ceil(use.total_bytes / LEAST_SHARED):,} to share"
        )
        remedy = "make fewer classes lossless, shorten its cables, or lower fabric.ethernet.mtu"
        key = f"cluster.fabric.{use.layer}.model"
        model = switches[use.switch].model.name
        problems.append(site.document.problem(key, model, limit, remedy))
    return problems
