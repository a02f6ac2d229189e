"""Device lists of LibreNMS (its API's `add_device`) and Oxidized (CSV source). No secrets."""

from __future__ import annotations

import json
from typing import Final

from fireflyer.render.exports.prometheus import SNMP
from fireflyer.render.exports.wiring import Files, Wiring

_MODELS: Final = {
    "mlnxos": "mlnxos",
    "nvue": "cumulus",
    "eos": "eos",
    "sonic": "linuxgeneric",
    "frr": "linuxgeneric",
}
"""Oxidized's models. It has none for SONiC's or FRR's own configuration."""
_OXIDIZED: Final = """# Merge into the configuration of Oxidized; user and password belong there.
source:
  default: csv
  csv:
    file: ~/.config/oxidized/router.db
    delimiter: !ruby/regexp /:/
    map: {name: 0, ip: 1, model: 2, group: 3}
"""
_NVUE: Final = "models:\n  cumulus:\n    vars: {cumulus_use_nvue: true}\n"


def librenms(wiring: Wiring) -> Files:
    """Yield `devices.json`: a request body for each device.

    Switches are polled by SNMPv3 where they are configured for it; keys are added when the list
    is loaded. Everything else is pinged.
    """
    fabric = wiring.fabric
    by_snmp = fabric.intent.switch_management.monitoring == "snmpv3" and fabric.system != "frr"
    bodies: list[dict[str, object]] = []
    for switch in fabric.switches:
        device = {"hostname": str(switch.management), "display": switch.name}
        if by_snmp and fabric.system is not None:
            snmp = {"snmpver": "v3", "port": SNMP, "transport": "udp", "authlevel": "authPriv"}
            bodies.append({**device, **snmp, "port_association_mode": "ifName"})
        else:
            bodies.append({**device, **_pinged(switch.name, switch.model.name)})
    bodies += [
        {
            "hostname": str(node.management),
            "display": node.name,
            **_pinged(node.name, node.model.name),
        }
        for node in fabric.nodes
    ]
    yield "devices.json", "[\n" + ",\n".join(map(json.dumps, bodies)) + "\n]\n"


def _pinged(name: str, model: str) -> dict[str, object]:
    return {"snmp_disable": True, "os": "ping", "sysName": name, "hardware": model}


def oxidized(wiring: Wiring) -> Files:
    """Yield `router.db` (name, address, model, group) and `source.yml`, which says so."""
    fabric = wiring.fabric
    model = _MODELS.get(fabric.system or "")
    if model is None:
        return
    yield (
        "router.db",
        "".join(
            f"{switch.name}:{switch.management}:{model}:{switch.tree or switch.layer}\n"
            for switch in fabric.switches
        ),
    )
    yield "source.yml", _OXIDIZED + (_NVUE if model == "cumulus" else "")
