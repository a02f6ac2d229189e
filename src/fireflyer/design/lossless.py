"""Lossless queues on Ethernet: headroom from speed and cable, the shared pool, marking.

After a switch asks for a pause, these still arrive (IEEE 802.1Qbb; the sum is that of
IEEE 802.1Q annex O): what the cable holds both ways, the frame that delays the pause on
its way out, the frame that the sender had begun, and what it sends until it reacts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from math import ceil

from fireflyer.errors import Problem
from fireflyer.load import Site
from fireflyer.model.fabric import Cable, Layer, Switch
from fireflyer.model.hardware import SwitchModel
from fireflyer.model.intent import Cluster, EthernetIntent
from fireflyer.model.switch_config import Ecn, Lossless, LosslessProfile, PortConfig
from fireflyer.model.switch_parts import SwitchBuffer

CABLE_NS_PER_M = 5.0
"""Light in fibre takes 4.9 ns a metre, a signal in copper 4.5: the slower, rounded up."""
QUANTUM_BITS = 512
PAUSE_FRAME_BYTES = 64 + 20
"""A PFC frame with its preamble and gap."""
ECN_SHARE = (0.02, 0.2)
"""Share of the pool at which a queue begins to be marked, and is marked with certainty of
`ECN_PERCENT`; ours, to be tuned where DCQCN is switched on."""
ECN_PERCENT = 5


def headroom_bytes(buffer: SwitchBuffer, gbps: int, cable_m: int, mtu: int) -> int:
    """Return one queue's headroom, whole cells.

    >>> buffer = SwitchBuffer(
    ...     total_bytes=1 << 26, cell_bytes=144, pfc_response_quanta=905, lossless_queues=4
    ... )
    >>> headroom_bytes(buffer, 200, 0, 9216), headroom_bytes(buffer, 200, 100, 9216)
    (76464, 101520)
    """
    on_cable = 2 * cable_m * CABLE_NS_PER_M * gbps / 8
    reaction = buffer.pfc_response_quanta * QUANTUM_BITS / 8
    total = on_cable + reaction + 2 * mtu + PAUSE_FRAME_BYTES
    return _cells(total, buffer) * buffer.cell_bytes


def _cells(size: float, buffer: SwitchBuffer) -> int:
    return -int(-size // buffer.cell_bytes)


def lossless(cluster: Cluster, model: SwitchModel, ports: Iterable[PortConfig]) -> Lossless | None:
    """Return what a switch with these ports needs, None where no class is lossless."""
    ethernet = cluster.fabric.ethernet
    queues = sum(row.lossless for row in cluster.traffic.classes)
    if ethernet is None or model.buffer is None or not queues:
        return None
    kinds = Counter((port.gbps, port.cable_m) for port in ports if port.in_use)
    profiles = {kind: _profile(model.buffer, *kind, ethernet.mtu) for kind in sorted(kinds)}
    headroom = queues * sum(profiles[kind].headroom_bytes * count for kind, count in kinds.items())
    pool = model.buffer.total_bytes - headroom
    return Lossless(
        profiles=tuple(profiles.values()),
        pool_bytes=pool,
        headroom_bytes=headroom,
        ecn=_ecn(pool, model.buffer, ethernet),
        watchdog_detect_ms=ethernet.pfc_watchdog.detect_ms,
        watchdog_restore_ms=ethernet.pfc_watchdog.restore_ms,
    )


def _profile(buffer: SwitchBuffer, gbps: int, cable_m: int, mtu: int) -> LosslessProfile:
    return LosslessProfile(
        name=f"lossless_{gbps}g_{cable_m}m",
        gbps=gbps,
        cable_m=cable_m,
        headroom_bytes=headroom_bytes(buffer, gbps, cable_m, mtu),
        xon_bytes=_cells(2 * mtu, buffer) * buffer.cell_bytes,
    )


def _ecn(pool: int, buffer: SwitchBuffer, ethernet: EthernetIntent) -> Ecn | None:
    if not ethernet.dcqcn:
        return None
    low, high = (_cells(share * pool, buffer) * buffer.cell_bytes for share in ECN_SHARE)
    return Ecn(minimum_bytes=low, maximum_bytes=high, maximum_percent=ECN_PERCENT)


def buffer_problems(
    site: Site, switches: Mapping[str, Switch], cables: Iterable[Cable]
) -> list[Problem]:
    """Return the layers with a switch whose headroom leaves less than half its memory to share.

    One problem a layer: the worst switch is named.
    """
    ethernet = site.cluster.fabric.ethernet
    queues = sum(row.lossless for row in site.cluster.traffic.classes)
    if ethernet is None or not queues:
        return []
    used: Counter[tuple[str, int, float]] = Counter()
    for cable in cables:
        used[cable.a.device, cable.gbps, cable.length_m] += 1
        used[cable.z.device, cable.gbps, cable.length_m] += 1
    needs: Counter[str] = Counter()
    for (end, gbps, length_m), count in used.items():
        if (switch := switches.get(end)) is not None and switch.model.buffer is not None:
            a_queue = headroom_bytes(switch.model.buffer, gbps, ceil(length_m), ethernet.mtu)
            needs[end] += queues * count * a_queue
    worst: dict[Layer, str] = {}
    for name, need in needs.items():
        layer = switches[name].layer
        if layer not in worst or need > needs[worst[layer]]:
            worst[layer] = name
    problems = []
    for layer, name in worst.items():
        model = switches[name].model
        assert model.buffer is not None
        if needs[name] * 2 <= model.buffer.total_bytes:
            continue
        limit = (
            f"the headroom of {name}'s {queues} lossless classes takes {needs[name]:,} of"
            f" {model.buffer.total_bytes:,} bytes, more than half"
        )
        remedy = "make fewer classes lossless, shorten its cables, or lower fabric.ethernet.mtu"
        key = f"cluster.fabric.{layer}.model"
        problems.append(site.document.problem(key, model.name, limit, remedy))
    return problems
