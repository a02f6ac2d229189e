"""What each system calls the interfaces that are no port of the front panel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from fireflyer.model.hardware import System


class InterfaceNames(NamedTuple):
    """Names of one system."""

    management: str
    loopback: str
    vlan: str
    """`{vlan}` stands for its number."""

    def of_vlan(self, vlan: int) -> str:
        """Return the name of the router's interface in a VLAN.

        >>> INTERFACE_NAMES["sonic"].of_vlan(100)
        'Vlan100'
        """
        return self.vlan.format(vlan=vlan)


INTERFACE_NAMES: Final[Mapping[System, InterfaceNames]] = {
    "mlnxos": InterfaceNames("mgmt0", "lo", "vlan{vlan}"),
    "sonic": InterfaceNames("eth0", "Loopback0", "Vlan{vlan}"),
    "nvue": InterfaceNames("eth0", "lo", "vlan{vlan}"),
    "eos": InterfaceNames("Management1", "Loopback0", "Vlan{vlan}"),
    "frr": InterfaceNames("eth0", "lo", "vlan{vlan}"),
}
"""As in the configurations that are rendered; an InfiniBand switch's loopback is in none."""
UNCONFIGURED: Final = InterfaceNames("mgmt0", "lo", "vlan{vlan}")
"""Of nodes, whose management port Linux names by its slot, and of switches without a system."""


def interface_names(system: System | None) -> InterfaceNames:
    """Return the names of a system."""
    return UNCONFIGURED if system is None else INTERFACE_NAMES[system]
