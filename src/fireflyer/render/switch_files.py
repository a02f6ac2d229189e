"""The file of each switch's configuration: what it is called, and how a system's are printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from fireflyer.design.switch_config import switch_configs
from fireflyer.model.fabric import Fabric
from fireflyer.model.hardware import System
from fireflyer.model.switch_config import SwitchConfig

ENDINGS: Final[Mapping[System, str]] = {
    "mlnxos": ".cfg",
    "sonic": ".json",
    "nvue": ".yaml",
    "eos": ".cfg",
    "frr": ".conf",
}
"""Of the files' names, which begin with the switch's."""


def file_name(system: System, switch: str) -> str:
    """Return the name of a switch's file in the folder of its system."""
    return f"{switch}{ENDINGS[system]}"


def file_path(system: System, switch: str) -> str:
    """Return the path of a switch's file below the rendered tree.

    >>> file_path("sonic", "a-leaf01")
    'sonic/a-leaf01.json'
    """
    return f"{system}/{file_name(system, switch)}"


def switch_files(
    fabric: Fabric, system: System, text: Callable[[SwitchConfig], str]
) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of every switch's file; none if they run another system."""
    if fabric.system == system:
        for config in switch_configs(fabric):
            yield file_name(system, config.name), text(config)
