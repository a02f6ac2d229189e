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
    if ethernet is None or model.buffer is None or not _lossless_classes(cluster):
        return None
    kinds = Counter((port.gbps, port.cable_m) for port in ports if port.in_use)
    profiles = tuple(_profile(model, *kind, ethernet.mtu) for kind in sorted(kinds))
    reserved = _reserved_bytes(cluster, model, kinds)
    return Lossless(
        profiles=profiles,
        pool_bytes=model.buffer.total_bytes - reserved,
        reserved_bytes=reserved,
        ecn=ecn(max(gbps for gbps, _ in kinds)) if ethernet.dcqcn and kinds else None,
        watchdog_detect_ms=ethernet.pfc_watchdog.detect_ms,
        watchdog_restore_ms=ethernet.pfc_watchdog.restore_ms,
    )


def _lossless_classes(cluster: Cluster) -> int:
    return sum(row.lossless for row in cluster.traffic.classes)


def _reserved_bytes(
    cluster: Cluster, model: SwitchModel, kinds: Mapping[tuple[int, int], int]
) -> int:
    """Return what a switch keeps out of the pool; `kinds` counts ports by Gb/s and metres."""
    assert cluster.fabric.ethernet is not None
    mtu, classes = cluster.fabric.ethernet.mtu, _lossless_classes(cluster)
    kept = sum(count * headroom(model, *kind, mtu).size for kind, count in kinds.items())
    return reserved_bytes(model, sum(kinds.values()), classes * kept)


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
    if cluster.fabric.ethernet is None or not _lossless_classes(cluster):
        return ()
    used: dict[str, dict[tuple[int, float], int]] = {name: {} for name in switches}
    for cable in cables:
        kind = (cable.gbps, cable.length_m)
        for end in (cable.a.device, cable.z.device):
            if (ports := used.get(end)) is not None:
                ports[kind] = ports.get(kind, 0) + 1
    worst: dict[Layer, MemoryUse] = {}
    for name, ports in used.items():
        model, layer = switches[name].model, switches[name].layer
        if model.buffer is None or not ports:
            continue
        kinds: Counter[tuple[int, int]] = Counter()
        for (gbps, length_m), count in ports.items():
            kinds[gbps, ceil(length_m)] += count
        total = model.buffer.total_bytes
        left = total - _reserved_bytes(cluster, model, kinds)
        if layer not in worst or left < worst[layer].shared_bytes:
            worst[layer] = MemoryUse(layer, name, total, left)
    return tuple(worst.values())


def buffer_problems(
    site: Site, switches: Mapping[str, Switch], cables: Iterable[Cable]
) -> list[Problem]:
    """Return the layers with a switch that leaves too little of its memory to share.

    One problem a layer: the fullest switch is named.
    """
    classes = _lossless_classes(site.cluster)
    problems = []
    for use in fullest(site.cluster, switches, cables):
        if use.shared_bytes * LEAST_SHARED >= use.total_bytes:
            continue
        limit = (
            f"{use.switch} reserves {use.total_bytes - use.shared_bytes:,} of {use.total_bytes:,}"
            f" bytes, most of it as headroom of its {classes} lossless classes, and must leave"
            f" {ceil(use.total_bytes / LEAST_SHARED):,} to share"
        )
        remedy = "make fewer classes lossless, shorten its cables, or lower fabric.ethernet.mtu"
        key = f"cluster.fabric.{use.layer}.model"
        model = switches[use.switch].model.name
        problems.append(site.document.problem(key, model, limit, remedy))
    return problems
