"""Read MLNX-OS configurations back: only commands that are known, and every port as planned.

No schema of MLNX-OS can be had. A line passes if it is one of the commands below, written as
the user manual of MLNX-OS 3.12 has them.
"""

from __future__ import annotations

import re
from pathlib import Path

from fireflyer.model.fabric import Fabric
from fireflyer.model.switch_config import SwitchConfig
from fireflyer.prove.switches.result import SwitchCheck
from fireflyer.prove.switches.values import Values, check_values

_IP = r"\d{1,3}(\.\d{1,3}){3}"
_HOST = r"[a-z0-9.-]+"
_RULE = r"ip filter chain input rule append tail target accept dup-delete"
COMMANDS = tuple(
    re.compile(command)
    for command in (
        r"hostname (?P<hostname>[a-z0-9-]+)",
        rf"ip domain-list {_HOST}",
        r"no interface mgmt0 dhcp",
        rf"interface mgmt0 ip address {_IP} /\d{{1,2}}",
        rf"ip default-gateway {_IP}",
        rf"ntp server {_HOST}",
        rf"logging {_HOST}",
        rf"{_RULE} source-addr {_IP} /\d{{1,2}}",
        rf"{_RULE} protocol udp source-port \d+",
        r"ip filter chain input policy drop",
        r"ip filter enable",
        r"(no )?snmp-server enable",
        r"no snmp-server enable communities",
        r'snmp-server location "[^"]{1,255}"',
        r"no ib sm",
        r'interface (?P<port>ib \d+/\d+) description "(?P<description>[^"]{1,255})"',
        r"(?P<up>no) interface (?P<opened>ib \d+/\d+) shutdown",
        r"interface (?P<shut>ib \d+/\d+) shutdown",
    )
)
SHUT = "shut"
CLOSED = "ip filter chain input policy drop"
NO_GNMI = "monitoring: MLNX-OS is watched by SNMP; gNMI is not configured"


def check(fabric: Fabric, tree: Path) -> SwitchCheck:
    """Compare the configurations below `tree/mlnxos` with the fabric."""
    count, findings = check_values(fabric, tree, "mlnxos", ".cfg", read, planned)
    gnmi = fabric.intent.switch_management.monitoring == "gnmi"
    return SwitchCheck(
        checker="this project's list of MLNX-OS commands",
        files=count,
        findings=findings,
        notes=(NO_GNMI,) if gnmi else (),
    )


def planned(config: SwitchConfig) -> Values:
    """Return a switch's name, and what stands at each port."""
    values: Values = {("hostname",): config.name}
    for port in config.ports:
        values["port", port.name] = port.description or SHUT
    return values


def read(text: str) -> tuple[Values, list[str]]:
    """Return what a configuration says, and its faults."""
    values: Values = {}
    faults = []
    descriptions: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("##"):
            continue
        found = next((m for c in COMMANDS if (m := c.fullmatch(line))), None)
        if found is None:
            faults.append(f"line {number} is no command that is known here: {line}")
            continue
        part = found.groupdict()
        if part.get("hostname"):
            values["hostname",] = part["hostname"]
        if part.get("port"):
            descriptions[part["port"]] = part["description"]
        if part.get("opened"):
            values["port", part["opened"]] = descriptions.get(part["opened"], "no description")
        if part.get("shut"):
            values["port", part["shut"]] = SHUT
    commands = text.splitlines()
    if CLOSED not in commands or "ip filter enable" not in commands:
        faults.append("its management port is open to every source")
    return values, faults
