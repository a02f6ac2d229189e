"""MLNX-OS configuration of each InfiniBand switch: its name, its access list, its ports' far ends.

The fabric itself is configured by the subnet manager in band; ports have no LLDP, their
neighbours are seen by `ibnetdiscover`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fireflyer.model.fabric import Fabric
from fireflyer.model.switch_config import SwitchConfig
from fireflyer.render.switch_files import switch_files
from fireflyer.render.template import render


def files(fabric: Fabric) -> Iterator[tuple[str, str]]:
    """Yield the configuration of every switch that runs MLNX-OS."""
    return switch_files(fabric, "mlnxos", text)


def text(config: SwitchConfig) -> str:
    """Return the configuration of one switch."""
    return render("mlnxos/switch.cfg.j2", switch=config)
