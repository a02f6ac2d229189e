"""SONiC's tables of classes: code points, queues, PFC, buffers, marking."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from fireflyer.model.switch_config import Ecn, Lossless, PortConfig, Queue, SwitchConfig
from fireflyer.render.sonic.rows import Fields, Table, lines, table

MAP = "FABRIC"
"""Name of each map: there is one of a kind."""
POOL, EGRESS_LOSSLESS, EGRESS_LOSSY = (
    "ingress_lossless_pool",
    "egress_lossless_pool",
    "egress_lossy_pool",
)
CODE_POINTS, CLASSES = 64, 8
LOSSLESS_ALPHA, LOSSY_ALPHA, WHOLE_ALPHA = "0", "3", "7"
"""Share of the free pool that one queue may take: 2 to this power of it. A lossless group has
as much as is left, so that two of them share evenly; at the egress nothing holds it back."""
NO_LENGTH = "0m"
"""Of every cable. A true length would make the buffer manager look up a profile of its own for it,
and put that in the place of ours, which are made for the length; at this one it leaves them."""
WATCHDOG_POLL_MS = 100


def tables(config: SwitchConfig, used: tuple[PortConfig, ...]) -> Iterator[Table]:
    """Yield every table of classes; none without them."""
    if not config.queues:
        return
    yield from _maps(config.queues)
    yield _schedulers(config.queues)
    lossless = config.lossless
    names = tuple(port.name for port in used)
    ecn = lossless is not None and lossless.ecn is not None
    yield "QUEUE", _queue_rows(names, config.queues, ecn)
    yield "PORT_QOS_MAP", _port_rows(names, config.queues, lossless is not None)
    if lossless is None:
        return
    if lossless.ecn is not None:
        yield _marking(lossless.ecn)
    yield from _buffers(config, lossless, used)
    yield "PFC_WD", _watchdog(names, lossless.watchdog_detect_ms, lossless.watchdog_restore_ms)


@lru_cache(maxsize=8)
def _maps(queues: tuple[Queue, ...]) -> tuple[Table, ...]:
    default = next(queue.number for queue in queues if queue.default)
    lossy = lossy_group(queues)
    points = {str(point): str(default) for point in range(CODE_POINTS)}
    points |= {str(point): str(queue.number) for queue in queues for point in queue.dscp}
    same = {str(number): str(number) for number in range(CLASSES)}
    groups = dict.fromkeys(same, str(lossy)) | {
        str(queue.number): str(queue.number) for queue in queues if queue.lossless
    }
    return (
        table("DSCP_TO_TC_MAP", {MAP: points}),
        table("TC_TO_QUEUE_MAP", {MAP: same}),
        table("TC_TO_PRIORITY_GROUP_MAP", {MAP: groups}),
        table("MAP_PFC_PRIORITY_TO_QUEUE", {MAP: same}),
    )


def lossy_group(queues: tuple[Queue, ...]) -> int:
    """Return the priority group of everything that may be dropped: the first free one."""
    taken = {queue.number for queue in queues if queue.lossless}
    return next(number for number in range(CLASSES) if number not in taken)


@lru_cache(maxsize=8)
def _schedulers(queues: tuple[Queue, ...]) -> Table:
    found: dict[str, Fields] = {
        queue.name: {"type": "STRICT"}
        if queue.strict
        else {"type": "DWRR", "weight": str(queue.weight_percent)}
        for queue in queues
    }
    return table("SCHEDULER", found)


@lru_cache(maxsize=64)
def _queue_rows(names: tuple[str, ...], queues: tuple[Queue, ...], ecn: bool) -> str:
    ends = []
    for queue in queues:
        marked = f', "wred_profile": "{MAP}"' if ecn and queue.lossless else ""
        ends.append(f'|{queue.number}": {{"scheduler": "{queue.name}"{marked}}}')
    return lines(f'"{name}{end}' for name in names for end in ends)


@lru_cache(maxsize=64)
def _port_rows(names: tuple[str, ...], queues: tuple[Queue, ...], lossless: bool) -> str:
    numbers = ",".join(str(queue.number) for queue in queues if queue.lossless)
    pfc = f', "pfc_enable": "{numbers}", "pfcwd_sw_enable": "{numbers}"' if lossless else ""
    maps = "".join(
        f', "{kind}_map": "{MAP}"'
        for kind in ("dscp_to_tc", "tc_to_queue", "tc_to_pg", "pfc_to_queue")
    )
    return lines(f'"{name}": {{{(maps + pfc)[2:]}}}' for name in names)


def _marking(ecn: Ecn) -> Table:
    fields: dict[str, str] = {"ecn": "ecn_all"}
    for colour in ("green", "yellow", "red"):
        fields |= {
            f"wred_{colour}_enable": "true",
            f"{colour}_min_threshold": str(ecn.minimum_bytes),
            f"{colour}_max_threshold": str(ecn.maximum_bytes),
            f"{colour}_drop_probability": str(ecn.maximum_percent),
        }
    return table("WRED_PROFILE", {MAP: fields})


def _buffers(
    config: SwitchConfig, lossless: Lossless, used: tuple[PortConfig, ...]
) -> Iterator[Table]:
    """Yield pools and profiles."""
    queues = config.queues
    by_cable = lossless.by_cable
    shared = str(lossless.pool_bytes)
    assert config.model.buffer is not None
    total = str(config.model.buffer.total_bytes)
    yield table(
        "BUFFER_POOL",
        {
            POOL: {"type": "ingress", "mode": "dynamic", "size": shared},
            EGRESS_LOSSLESS: {"type": "egress", "mode": "dynamic", "size": total},
            EGRESS_LOSSY: {"type": "egress", "mode": "dynamic", "size": shared},
        },
    )
    profiles: dict[str, Fields] = {
        "ingress_lossy": {"pool": POOL, "size": "0", "dynamic_th": LOSSY_ALPHA},
        "egress_lossless": {"pool": EGRESS_LOSSLESS, "size": "0", "dynamic_th": WHOLE_ALPHA},
        "egress_lossy": {"pool": EGRESS_LOSSY, "size": "0", "dynamic_th": LOSSY_ALPHA},
    }
    for profile in lossless.profiles:
        profiles[profile.name] = {
            "pool": POOL,
            "size": str(profile.size_bytes),
            "xon": str(profile.xon_bytes),
            "xoff": str(profile.xoff_bytes),
            "dynamic_th": LOSSLESS_ALPHA,
        }
    yield table("BUFFER_PROFILE", profiles)
    of_port = tuple((port.name, by_cable[port.gbps, port.cable_m].name) for port in used)
    groups = spans([queue.number for queue in queues if queue.lossless])
    yield "BUFFER_PG", _group_rows(of_port, groups, lossy_group(queues))
    yield "BUFFER_QUEUE", _queue_buffers(tuple(port.name for port in used), queues)
    yield table("CABLE_LENGTH", {MAP: dict.fromkeys((port.name for port in used), NO_LENGTH)})


def spans(numbers: list[int]) -> tuple[str, ...]:
    """Return numbers as SONiC writes them: neighbours as one range.

    >>> spans([1, 2, 3, 6])
    ('1-3', '6')
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return tuple(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _group_rows(ports: tuple[tuple[str, str], ...], groups: tuple[str, ...], lossy: int) -> str:
    rest = f'|{lossy}": {{"profile": "ingress_lossy"}}'
    return lines(
        ",\n".join([f'"{port}{rest}', *(f'"{port}|{g}": {{"profile": "{name}"}}' for g in groups)])
        for port, name in ports
    )


@lru_cache(maxsize=64)
def _queue_buffers(names: tuple[str, ...], queues: tuple[Queue, ...]) -> str:
    ends = []
    for kind, lossless in (("lossless", True), ("lossy", False)):
        numbers = [queue.number for queue in queues if queue.lossless == lossless]
        ends += [f'|{span}": {{"profile": "egress_{kind}"}}' for span in spans(numbers)]
    return lines(f'"{name}{end}' for name in names for end in ends)


@lru_cache(maxsize=64)
def _watchdog(names: tuple[str, ...], detect_ms: int, restore_ms: int) -> str:
    poll = f'"GLOBAL": {{"POLL_INTERVAL": "{WATCHDOG_POLL_MS}"}}'
    fields = (
        f'{{"action": "drop", "detection_time": "{detect_ms}", "restoration_time": "{restore_ms}"}}'
    )
    return lines([poll, *(f'"{name}": {fields}' for name in names)])
