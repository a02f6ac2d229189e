"""SONiC's BGP tables, read by its management framework's FRR configuration daemon."""

from __future__ import annotations

from collections.abc import Iterator

from fireflyer.model.switch_config import PortConfig, PortRole, SwitchConfig
from fireflyer.render.sonic.rows import Fields, Table, lines, table

GROUP = "FABRIC"
"""Peer group of every neighbour."""
KEEPALIVE_S, HOLD_S = 3, 9
"""RFC 4271, 10 suggests 30 and 90; a fabric's neighbours are one cable away."""
FAMILY = "ipv4_unicast"


def tables(config: SwitchConfig, used: tuple[PortConfig, ...]) -> Iterator[Table]:
    """Yield interfaces and neighbours at the ports to other switches, and what is announced."""
    bgp = config.bgp
    if bgp is None:
        return
    links = [port for port in used if port.role is PortRole.SWITCH]
    if bgp.unnumbered:
        yield (
            "INTERFACE",
            lines(f'"{port.name}": {{"ipv6_use_link_local_only": "enable"}}' for port in links),
        )
    else:
        yield (
            "INTERFACE",
            lines(f'"{p.name}": {{}},\n"{p.name}|{p.address}/31": {{}}' for p in links),
        )
    yield table(
        "BGP_GLOBALS",
        {
            "default": {
                "local_asn": str(bgp.asn),
                "router_id": str(bgp.router_id),
                "load_balance_mp_relax": "true",
                "log_nbr_state_changes": "true",
                "default_ipv4_unicast": "false",
            }
        },
    )
    yield table("BGP_GLOBALS_AF", {f"default|{FAMILY}": {"max_ebgp_paths": str(bgp.maximum_paths)}})
    networks: dict[str, Fields] = {f"default|{FAMILY}|{network}": {} for network in bgp.networks}
    yield table("BGP_GLOBALS_AF_NETWORK", networks)
    yield table(
        "BGP_PEER_GROUP",
        {
            f"default|{GROUP}": {
                "keepalive": str(KEEPALIVE_S),
                "holdtime": str(HOLD_S),
                "capability_ext_nexthop": "true" if bgp.unnumbered else "false",
                "admin_status": "up",
            }
        },
    )
    yield table("BGP_PEER_GROUP_AF", {f"default|{GROUP}|{FAMILY}": {"admin_status": "up"}})
    yield (
        "BGP_NEIGHBOR",
        lines(
            f'"default|{port.name if bgp.unnumbered else port.peer_address}":'
            f' {{"peer_group_name": "{GROUP}", "asn": "{port.peer_asn}", "name": "{port.peer}"}}'
            for port in links
        ),
    )
