"""Cumulus Linux: the NVUE object tree of each switch, as `nv config replace` takes it.

Objects are those of Cumulus Linux 5.11. A switch finds its own buffer thresholds from the
length of each cable; the vendor advises against setting them by hand, so they are not set.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from fireflyer.model.fabric import Fabric
from fireflyer.model.switch_config import PortRole, Prefixes, Queue, SwitchConfig
from fireflyer.render.classes import code_points
from fireflyer.render.switch_files import switch_files
from fireflyer.render.template import render

POLL_MS = 100
"""Period of the pause watchdog; it ends a pause after a whole number of them."""


@dataclass(frozen=True, slots=True)
class Qos:
    """Classes, in the words of NVUE."""

    points: tuple[tuple[str, int], ...]
    """Code points with commas between, and their switch priority."""
    queues: tuple[Queue, ...]
    lossless: str
    """Numbers of lossless queues with commas between."""
    lossless_percent: int
    """Of the packet memory: as much as the lossless queues have of a link."""
    lossy_percent: int
    robustness: int
    """Periods of `POLL_MS` that a pause may last."""


def files(fabric: Fabric) -> Iterator[tuple[str, str]]:
    """Yield the configuration of every switch that runs Cumulus Linux."""
    return switch_files(fabric, "nvue", text)


def text(config: SwitchConfig) -> str:
    """Return the configuration of one switch."""
    return render(
        "nvue/startup.yaml.j2",
        switch=config,
        cages=cages(config),
        links=config.ports_of(PortRole.SWITCH),
        used=config.ports_in_use,
        profiles=profiles(config),
        qos=qos(config),
        poll_ms=POLL_MS,
        accepted=_accepted(config.bgp.accepted) if config.bgp else (),
        told="FABRIC" if config.bgp and config.bgp.transit else "OWN",
    )


@lru_cache(maxsize=4)
def _accepted(allowed: tuple[Prefixes, ...]) -> tuple[tuple[str, str], ...]:
    """Return each network of a prefix list with the lengths that match inside it.

    Networks of more than one length would be one key twice; each has a rule of its own.
    """
    return tuple(
        (
            str(p.network),
            "{}" if p.whole else f"{{min-prefix-len: {p.length}, max-prefix-len: {p.length}}}",
        )
        for p in allowed
    )


def cages(config: SwitchConfig) -> tuple[str, ...]:
    """Return the cages to break out: their name is that of their ports, less the leg."""
    if config.model.ports_per_cage == 1:
        return ()
    names = (port.name.rpartition("s")[0] for port in config.ports)
    return tuple(dict.fromkeys(names))


def profiles(config: SwitchConfig) -> dict[str, str]:
    """Return the PFC profile of each port in use."""
    lossless = config.lossless
    if lossless is None:
        return {}
    by_cable = lossless.by_cable
    return {p.name: by_cable[p.gbps, p.cable_m].name for p in config.ports_in_use}


def qos(config: SwitchConfig) -> Qos:
    """Say the classes as NVUE does."""
    lossless = [queue for queue in config.queues if queue.lossless]
    percent = sum(queue.weight_percent for queue in lossless)
    watchdog_ms = config.lossless.watchdog_detect_ms if config.lossless else POLL_MS
    return Qos(
        points=tuple(
            (",".join(str(point) for point in points), number)
            for points, number in code_points(config.queues)
        ),
        queues=config.queues,
        lossless=",".join(str(queue.number) for queue in lossless),
        lossless_percent=percent,
        lossy_percent=100 - percent,
        robustness=-(-watchdog_ms // POLL_MS),
    )
