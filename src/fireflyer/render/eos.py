"""Arista EOS: the running configuration of each switch, in the order EOS prints it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from fireflyer.model.fabric import Fabric
from fireflyer.model.switch_config import PortRole, Prefixes, SwitchConfig
from fireflyer.render.classes import code_points
from fireflyer.render.switch_files import switch_files
from fireflyer.render.template import render

STEP = 10
"""Between the entries of an access list, so that one can be put between two."""


def files(fabric: Fabric) -> Iterator[tuple[str, str]]:
    """Yield the configuration of every switch that runs EOS."""
    return switch_files(fabric, "eos", text)


def text(config: SwitchConfig) -> str:
    """Return the configuration of one switch."""
    lossless = config.lossless
    return render(
        "eos/switch.cfg.j2",
        switch=config,
        links=config.ports_of(PortRole.SWITCH),
        points=[
            (" ".join(str(point) for point in points), number)
            for points, number in code_points(config.queues)
        ],
        entries=[(STEP * n, entry) for n, entry in enumerate(_entries(config), start=1)],
        accepted=_rules(config.bgp.accepted) if config.bgp else (),
        detect_s=f"{lossless.watchdog_detect_ms / 1000:.2f}" if lossless else "",
        restore_s=f"{lossless.watchdog_restore_ms / 1000:.2f}" if lossless else "",
    )


@lru_cache(maxsize=4)
def _rules(accepted: tuple[Prefixes, ...]) -> tuple[str, ...]:
    """Return what a prefix list permits, in EOS's words."""
    return tuple(str(p.network) if p.whole else f"{p.network} eq {p.length}" for p in accepted)


def _entries(config: SwitchConfig) -> Iterator[str]:
    """Yield who may reach the management port: the allowed, and answers to the switch."""
    for source in config.management.allowed_sources:
        yield f"permit ip {source} any"
    yield "permit tcp any any established"
    yield "permit udp any eq ntp any"
    yield "deny ip any any"
