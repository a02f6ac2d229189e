"""Read SONiC's `config_db.json` back: neighbours, routing and classes as planned?"""

from __future__ import annotations

import json
from pathlib import Path

from fireflyer.model.fabric import Fabric
from fireflyer.model.switch_config import SwitchConfig
from fireflyer.prove.switches.readback import STRICT, Seen, check_files
from fireflyer.prove.switches.result import SwitchCheck
from fireflyer.prove.switches.sonic_xml import Config


def check(fabric: Fabric, tree: Path) -> SwitchCheck:
    """Compare the configurations below `tree/sonic` with the fabric."""
    count, findings = check_files(fabric, tree, "sonic", ".json", read)
    return SwitchCheck(checker="our reader of config_db.json", files=count, findings=findings)


def read(text: str, _: SwitchConfig) -> tuple[Seen, list[str]]:
    """Return what a configuration says; a text that is no JSON says nothing."""
    try:
        tables: Config = json.loads(text)
        return _seen(tables), []
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
    for key, neighbour in tables.get("BGP_NEIGHBOR", {}).items():
        seen.sessions[key.split("|")[1]] = str(neighbour["asn"])
    for points in tables.get("DSCP_TO_TC_MAP", {}).values():
        seen.points.update({point: str(queue) for point, queue in points.items()})
    for name, ports in tables.get("PORT_QOS_MAP", {}).items():
        if "pfc_enable" in ports:
            seen.lossless[name] = str(ports["pfc_enable"])
    _queues(tables, seen)
    return seen


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
