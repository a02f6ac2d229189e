"""Packet memory that a switch reserves for lossless classes, as SONiC computes it.

After a switch asks for a pause, these still arrive (IEEE 802.1Qbb): the frame that delays the
pause on its way out, what the cable holds both ways, what is under way inside the switch, what
the peer sends during its response time, and the frame that the peer had begun. Memory is given
out in whole cells, so small packets waste most of one.

The sums are those of SONiC for NVIDIA's switches: sonic-swss at e6b0c5b5, cfgmgr,
`buffer_headroom_mellanox.lua` and `buffer_pool_mellanox.lua`. The figures of a switch are in
its hardware model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import Final

from fireflyer.model.hardware import SwitchModel
from fireflyer.model.switch_parts import SwitchBuffer

METRES_PER_S: Final = 198_000_000
"""Speed of light in a cable, as SONiC has it."""
QUANTUM_BYTES: Final = 512 // 8
RESPONSE_QUANTA: Final[Mapping[int, int]] = {
    10: 67,
    25: 80,
    40: 118,
    50: 147,
    100: 394,
    200: 453,
    400: 905,
    800: 905,
}
"""Quanta within which a port stops after a PFC frame, by Gb/s (IEEE 802.3 31B.3.7)."""
SMALLEST_FRAME_BYTES: Final = 64
STEP_BYTES: Final = 1024
"""SONiC rounds thresholds up to it."""
COMPENSATION_BYTES: Final = 2 * STEP_BYTES
"""Added where not every packet is taken for a small one, while that stays below the worst case."""
WIDE_LANES: Final = 8
"""A port of so many lanes has two buffer units, and what is under way inside it twice."""


@dataclass(frozen=True, slots=True)
class Headroom:
    """One lossless priority group's share of the memory, bytes."""

    xon: int
    """Below this the pause ends."""
    xoff: int
    """What may still arrive after a pause was asked for."""
    size: int
    """Reserved in all."""


def headroom(model: SwitchModel, gbps: int, cable_m: int, mtu: int) -> Headroom:
    """Return what one lossless class of a port needs.

    Args:
        model: A switch with a buffer.
        gbps: Speed of the link, one of `RESPONSE_QUANTA`.
        cable_m: Length of the cable.
        mtu: The longest frame, of any class.
    """
    return _headroom(_buffer(model), model.lanes_per_port == WIDE_LANES, gbps, cable_m, mtu)


@lru_cache(maxsize=1024)  # switch after switch has cables of the same lengths
def _headroom(buffer: SwitchBuffer, wide: bool, gbps: int, cable_m: int, mtu: int) -> Headroom:
    under_way = _under_way_bytes(buffer, gbps, cable_m, mtu)
    worst = _cells_factor(buffer.cell_bytes)
    xoff = _stepped(mtu + under_way * _occupancy(buffer.small_packet_percent, worst, mtu))
    full = _stepped(mtu + under_way * worst)
    if buffer.small_packet_percent != 100 and xoff + COMPENSATION_BYTES < full:
        xoff += COMPENSATION_BYTES
    xon = _stepped(_pipeline_bytes(buffer, wide))
    return Headroom(xon=xon, xoff=xoff, size=_stepped(xon + xoff + (mtu if wide else 0)))


def reserved_bytes(model: SwitchModel, ports: int, lossless_bytes: int) -> int:
    """Return all that a switch keeps out of the pool that its ports share.

    Args:
        model: A switch with a buffer.
        ports: Ports in use. Each has one group of droppable traffic and one of the switch's
            own, and a mirror.
        lossless_bytes: Sizes of all ports' lossless groups together.
    """
    buffer = _buffer(model)
    pipeline = _pipeline_bytes(buffer, model.lanes_per_port == WIDE_LANES)
    a_port = 2 * pipeline + buffer.mirror_bytes
    return lossless_bytes + ports * a_port + buffer.management_bytes


def _buffer(model: SwitchModel) -> SwitchBuffer:
    if model.buffer is None:
        raise ValueError(f"{model.name} has no buffer")
    return model.buffer


def _pipeline_bytes(buffer: SwitchBuffer, wide: bool) -> int:
    return (2 if wide else 1) * buffer.pipeline_bytes


def _under_way_bytes(buffer: SwitchBuffer, gbps: int, cable_m: int, mtu: int) -> float:
    on_cable = 2 * cable_m * gbps * 1e9 / METRES_PER_S / 8
    in_gearboxes = 2 * gbps * 1000 * buffer.gearbox_ns / (8 * 1024)
    on_tile = gbps * buffer.tile_ns / 8
    response = RESPONSE_QUANTA[gbps] * QUANTUM_BYTES
    return mtu + on_cable + in_gearboxes + buffer.mac_phy_bytes + response + on_tile


def _cells_factor(cell_bytes: int) -> int:
    """Return the bytes of cells that a byte of the worst packets takes, rounded up.

    >>> _cells_factor(96), _cells_factor(144), _cells_factor(192), _cells_factor(254)
    (2, 3, 3, 4)
    """
    if cell_bytes > 2 * SMALLEST_FRAME_BYTES:
        return ceil(cell_bytes / SMALLEST_FRAME_BYTES)
    return ceil(2 * cell_bytes / (1 + cell_bytes))


def _occupancy(small_percent: int, worst: int, mtu: int) -> float:
    """Return the bytes of cells that a byte takes on average; `mtu` is that of other packets."""
    average = (small_percent * SMALLEST_FRAME_BYTES + (100 - small_percent) * mtu) / 100
    small = SMALLEST_FRAME_BYTES / average
    return 1 - small + small * worst


def _stepped(size: float) -> int:
    return ceil(size / STEP_BYTES) * STEP_BYTES
