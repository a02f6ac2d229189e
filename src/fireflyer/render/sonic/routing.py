"""SONiC's BGP tables, read by its management framework's FRR configuration daemon."""

from __future__ import annotations

from collections.abc import Iterator

from fireflyer.model.switch_config import Bgp, PortConfig, PortRole, SwitchConfig
from fireflyer.render.sonic.rows import Fields, Table, lines, table

GROUP = "FABRIC"
"""Peer group of every neighbour."""
OWN, FABRIC = "OWN", "FABRIC"
"""Prefix sets: what the switch announces of itself, and what any switch may announce."""
HEARD, TOLD = "FABRIC_IN", "FABRIC_OUT"
"""Route maps. FRR drops all that an eBGP neighbour says for which no policy stands (RFC 8212), and
this daemon has no word to switch that off."""
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
                "keepalive": str(bgp.keepalive_s),
                "holdtime": str(bgp.hold_s),
                "conn_retry": str(bgp.connect_s),
                "bfd": "true",
                "capability_ext_nexthop": "true" if bgp.unnumbered else "false",
                "admin_status": "up",
            }
        },
    )
    policy: Fields = {"admin_status": "up", "route_map_in": [HEARD], "route_map_out": [TOLD]}
    yield table("BGP_PEER_GROUP_AF", {f"default|{GROUP}|{FAMILY}": policy})
    yield from _policy(bgp)
    yield (
        "BGP_NEIGHBOR",
        lines(
            f'"default|{port.name if bgp.unnumbered else port.peer_address}":'
            f' {{"peer_group_name": "{GROUP}", "asn": "{port.peer_asn}", "name": "{port.peer}"}}'
            for port in links
        ),
    )


def _policy(bgp: Bgp) -> Iterator[Table]:
    """Yield what is believed and what is told: prefix sets, and the route maps that ask them.

    A set without its mode is dropped by the daemon, and so is a prefix with a sequence number.
    """
    yield table("PREFIX_SET", {OWN: {"mode": "IPv4"}, FABRIC: {"mode": "IPv4"}})
    permit: Fields = {"action": "permit"}
    rows = {f"{OWN}|{network}|exact": permit for network in bgp.networks}
    for allowed in bgp.accepted:
        span = "exact" if allowed.whole else f"{allowed.length}..{allowed.length}"
        rows[f"{FABRIC}|{allowed.network}|{span}"] = permit
    yield table("PREFIX", rows)
    yield table("ROUTE_MAP_SET", {HEARD: {}, TOLD: {}})
    told = FABRIC if bgp.transit else OWN
    maps: dict[str, Fields] = {
        f"{name}|10": {"route_operation": "permit", "match_prefix_set": prefixes}
        for name, prefixes in ((HEARD, FABRIC), (TOLD, told))
    }
    yield table("ROUTE_MAP", maps)
