"""SONiC's `config_db.json` of each switch, a row a line.

Tables are as in SONiC's YANG models (sonic-buildimage, src/sonic-yang-models); ports are
those that the switch's SKU makes (its hwsku.json), so no breakout is asked for here, and what
the platform says of them is in the hardware model. Rows
that many switches share are made once: a large site has a hundred thousand ports.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from fireflyer.model.fabric import Fabric
from fireflyer.model.hardware import SwitchModel
from fireflyer.model.switch_config import PortConfig, PortRole, SwitchConfig
from fireflyer.model.switch_parts import SonicPort
from fireflyer.render.sonic import qos, routing, system
from fireflyer.render.sonic.rows import Table, lines, table
from fireflyer.render.switch_files import switch_files
from fireflyer.render.template import render


def files(fabric: Fabric) -> Iterator[tuple[str, str]]:
    """Yield the configuration of every switch that runs SONiC."""
    return switch_files(fabric, "sonic", text)


def text(config: SwitchConfig) -> str:
    """Return the configuration of one switch."""
    return render("sonic/config_db.json.j2", tables=[t for t in tables(config) if t[1]])


def tables(config: SwitchConfig) -> Iterator[Table]:
    """Yield every table; those of a feature that is not asked for have no rows."""
    used = config.ports_in_use
    yield from system.tables(config)
    yield "PORT", lines(_port(config.model, config.mtu, port) for port in config.ports)
    yield (
        "DEVICE_NEIGHBOR",
        lines(f'"{p.name}": {{"name": "{p.peer}", "port": "{p.peer_port}"}}' for p in used),
    )
    yield from _host_network(config)
    yield from routing.tables(config, used)
    yield from qos.tables(config, used)


def _port(model: SwitchModel, mtu: int, port: PortConfig) -> str:
    platform = model.sonic_ports[port.number - 1]
    head = _head(port.name, platform, port.gbps, mtu)
    if not port.in_use:
        return f'{head}, "admin_status": "down"}}'
    return f'{head}, "admin_status": "up", "description": "{port.peer} {port.peer_port}"}}'


@lru_cache(maxsize=4096)
def _head(name: str, platform: SonicPort, gbps: int, mtu: int) -> str:
    """Return the part of a port's row that no cable changes.

    Reed-Solomon error correction is part of every PAM4 link (IEEE 802.3, clauses 91 and 119).
    """
    lanes = ",".join(str(lane) for lane in platform.lanes)
    return (
        f'"{name}": {{"alias": "{platform.alias}", "lanes": "{lanes}",'
        f' "index": "{platform.index}", "subport": "{platform.subport}",'
        f' "speed": "{gbps * 1000}", "mtu": "{mtu}", "fec": "rs", "autoneg": "off"'
    )


def _host_network(config: SwitchConfig) -> Iterator[Table]:
    """Yield a leaf's VLAN, its members and its router's address."""
    hosts = config.hosts
    if hosts is None:
        return
    vlan = f"Vlan{hosts.vlan}"
    yield table("VLAN", {vlan: {"vlanid": str(hosts.vlan), "mtu": str(config.mtu)}})
    yield (
        "VLAN_MEMBER",
        lines(
            f'"{vlan}|{port.name}": {{"tagging_mode": "untagged"}}'
            for port in config.ports_of(PortRole.HOST)
        ),
    )
    address = f"{vlan}|{hosts.gateway}/{hosts.network.prefixlen}"
    yield table("VLAN_INTERFACE", {vlan: {}, address: {}})
