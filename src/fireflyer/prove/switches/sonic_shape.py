"""Read SONiC's `config_db.json` back: neighbours, routing and classes as planned?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from fireflyer.model.fabric import Fabric
from fireflyer.model.switch_config import SwitchConfig
from fireflyer.prove.switches.readback import STRICT, Seen, check_files, ruled
from fireflyer.prove.switches.result import SwitchCheck
from fireflyer.prove.switches.sonic_xml import Config

FRR_BFD = "3 of 300 ms"
"""What FRR does where nobody says otherwise (doc/user/bfd.rst)."""
PERMIT = "permit"
NO_LENGTH = "0m"
"""The only length at which SONiC's buffer manager leaves a port's profiles alone."""


def check(fabric: Fabric, tree: Path) -> SwitchCheck:
    """Compare the configurations below `tree/sonic` with the fabric."""
    count, findings = check_files(fabric, tree, "sonic", read)
    return SwitchCheck(checker="our reader of config_db.json", files=count, findings=findings)


def read(text: str, _: SwitchConfig) -> tuple[Seen, list[str]]:
    """Return what a configuration says; a text that is no JSON says nothing."""
    try:
        tables: Config = json.loads(text)
        return _seen(tables), list(_overruled(tables))
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        return Seen(), [f"cannot be read: {type(error).__name__}: {error}"]


def _seen(tables: Config) -> Seen:
    seen = Seen(hostname=str(tables["DEVICE_METADATA"]["localhost"]["hostname"]))
    for name, port in tables["PORT"].items():
        up = port.get("admin_status") == "up"
        seen.ports[name] = str(port.get("description", "")) if up else ""
    for name, end in tables.get("DEVICE_NEIGHBOR", {}).items():
        said = f"{end['name']} {end['port']}"
        if seen.ports.get(name) not in (said, ""):
            seen.ports[name] = seen.ports.get(name, "nothing") + f", and {said} in DEVICE_NEIGHBOR"
    for bgp in tables.get("BGP_GLOBALS", {}).values():
        seen.asn = str(bgp["local_asn"])
    for key in tables.get("BGP_GLOBALS_AF_NETWORK", {}):
        seen.networks.add(key.split("|")[2])
    _policy(tables, seen)
    for key, neighbour in tables.get("BGP_NEIGHBOR", {}).items():
        group = f"default|{neighbour.get('peer_group_name')}"
        alone = "" if group in tables.get("BGP_PEER_GROUP", {}) else ", in no peer group"
        seen.sessions[key.split("|")[1]] = f"{neighbour['asn']}{alone}"
    for points in tables.get("DSCP_TO_TC_MAP", {}).values():
        seen.points.update({point: str(queue) for point, queue in points.items()})
    for name, ports in tables.get("PORT_QOS_MAP", {}).items():
        if "pfc_enable" in ports:
            seen.lossless[name] = str(ports["pfc_enable"])
    _queues(tables, seen)
    return seen


def _policy(tables: Config, seen: Seen) -> None:
    """Read what neighbours may announce and are told, and how soon a fault shows.

    SONiC has no table of BFD's pace: FRR's own it is.
    """
    for group in tables.get("BGP_PEER_GROUP", {}).values():
        words = ("keepalive", "holdtime", "conn_retry")
        seen.timers = " ".join(str(group.get(word, "none")) for word in words)
        seen.bfd = FRR_BFD if group.get("bfd") == "true" else ""
    sets: dict[str, set[str]] = {}
    for key, entry in tables.get("PREFIX", {}).items():
        name, network, span = key.split("|")
        network = network if entry.get("action") == PERMIT else f"not {network}"
        only = "" if span == "exact" else f" of /{span.split('..')[0]}"
        whole = span == "exact" or len(set(span.split(".."))) == 1
        sets.setdefault(name, set()).add(f"{network}{only}" if whole else f"{network} {span}")
    maps: dict[str, set[str]] = {}
    for key, rule in tables.get("ROUTE_MAP", {}).items():
        named, permits = str(rule.get("match_prefix_set", "")), rule["route_operation"] == PERMIT
        maps.setdefault(key.split("|")[0], set()).update(ruled(permits, named, sets))
    for family in tables.get("BGP_PEER_GROUP_AF", {}).values():
        for name in family.get("route_map_in", []):
            seen.believed |= maps.get(name, set())
        for name in family.get("route_map_out", []):
            seen.told |= maps.get(name, set())


def _overruled(tables: Config) -> Iterator[str]:
    """Yield what would have SONiC's buffer manager put something in the place of our profiles."""
    if "BUFFER_PG" not in tables:
        return
    if tables["DEVICE_METADATA"]["localhost"].get("buffer_model") == "dynamic":
        yield "buffer_model is dynamic: SONiC does not keep the file's profiles"
    for lengths in tables.get("CABLE_LENGTH", {}).values():
        for port, length in lengths.items():
            if length != NO_LENGTH:
                limit = f"at any but {NO_LENGTH} SONiC makes its own profile"
                yield f"CABLE_LENGTH of {port} is {length}: {limit}"


def _queues(tables: Config, seen: Seen) -> None:
    """Read the queues of every port; one that differs from the others is a finding."""
    schedulers = tables.get("SCHEDULER", {})
    for key, queue in tables.get("QUEUE", {}).items():
        number = key.split("|")[1]
        scheduler = schedulers[str(queue["scheduler"])]
        share = STRICT if scheduler["type"] == "STRICT" else str(scheduler["weight"])
        if seen.queues.setdefault(number, share) != share:
            seen.queues[f"{number} of {key.split('|')[0]}"] = share
        if "wred_profile" in queue:
            seen.marked.add(number)
