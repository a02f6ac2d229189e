"""Read MLNX-OS configurations back: only commands that are known, and every value as planned.

No schema of MLNX-OS can be had. A line passes if it is one of the commands below, written as
the user manual of MLNX-OS 3.12 has them. Commands run one after the other: what they set stands
in rows here, a row for each thing that can be set.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from fireflyer.model.fabric import Fabric, Port, Switch
from fireflyer.prove.files.source import read
from fireflyer.prove.switches.result import SwitchCheck
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Row, Value, fault, row_findings

_IP = r"\d{1,3}(?:\.\d{1,3}){3}"
_HOST = r"[a-z0-9.-]+"
_RULE = r"ip filter chain input rule append tail target accept dup-delete "
_ALLOWED = "allowed source"
COMMANDS: tuple[tuple[re.Pattern[str], str, str], ...] = tuple(
    (re.compile(command), key, value)
    for command, key, value in (
        (r"hostname ([a-z0-9-]+)", "hostname", r"\1"),
        (rf"ip domain-list ({_HOST})", "domain", r"\1"),
        (r"(no )?interface mgmt0 dhcp", "interface mgmt0 dhcp", r"\1"),
        (rf"interface mgmt0 ip address ({_IP}) /(\d{{1,2}})", "interface mgmt0 address", r"\1/\2"),
        (rf"ip default-gateway ({_IP})", "default gateway", r"\1"),
        (rf"ntp server ({_HOST})", r"ntp server \1", ""),
        (rf"logging ({_HOST})", r"log server \1", ""),
        (rf"{_RULE}source-addr ({_IP}) /(\d{{1,2}})", rf"{_ALLOWED} \1/\2", ""),
        (rf"{_RULE}protocol udp source-port (\d+)", rf"{_ALLOWED} port udp \1", ""),
        (r"ip filter chain input policy (drop|accept)", "policy of the filter", r"\1"),
        (r"(no )?ip filter enable", "filter", r"\1"),
        (r"(no )?snmp-server enable", "SNMP", r"\1"),
        (r"(no )?snmp-server enable communities", "SNMP communities", r"\1"),
        (r'snmp-server location "([^"]{1,255})"', "SNMP location", r"\1"),
        (r"(no )?ib sm", "subnet manager on the switch", r"\1"),
        (r'interface (ib \d+/\d+) description "([^"]{1,255})"', r"port \1 description", r"\2"),
        (r"(no )?interface (ib \d+/\d+) shutdown", r"port \2 shutdown", r"\1"),
    )
)
"""A command, what it sets, and to what; a command that may begin with `no` sets yes or no."""
TIME = 123
"""UDP port of time servers (RFC 5905), whose answers must come in."""
NO_GNMI = "monitoring: MLNX-OS is watched by SNMP; gNMI is not configured"


def check(fabric: Fabric, tree: Path) -> SwitchCheck:
    """Compare the configurations below `tree/mlnxos` with the fabric."""
    cabled: dict[str, dict[int, Port]] = {}
    for port, peer in fabric.far_end.items():
        cabled.setdefault(port.device, {})[port.number] = peer
    findings: list[Finding] = []
    for switch in fabric.switches:
        path = f"mlnxos/{switch.name}.cfg"
        plan = planned(fabric, switch, cabled.get(switch.name, {}))
        findings += read(tree, path, lambda text: configuration_findings(path, text, plan))  # noqa: B023 - called at once
    files = sum(1 for s in fabric.switches if (tree / f"mlnxos/{s.name}.cfg").is_file())
    gnmi = fabric.intent.switch_management.monitoring == "gnmi"
    return SwitchCheck(
        checker="the commands of the MLNX-OS manual, and their values",
        files=files,
        findings=tuple(findings),
        notes=(NO_GNMI,) if gnmi else (),
    )


def planned(
    fabric: Fabric, switch: Switch, cabled: Mapping[int, Port]
) -> dict[str, dict[str, Value]]:
    """Return what a switch's configuration should set."""
    intent, network = fabric.intent, fabric.networks["management"]
    management = intent.switch_management
    watched = management.monitoring == "snmpv3"
    values = {
        "hostname": switch.name,
        "domain": intent.domain,
        "interface mgmt0 dhcp": "no",
        "interface mgmt0 address": f"{switch.management}/{network.prefixlen}",
        "policy of the filter": "drop",
        "filter": "yes",
        "SNMP": "yes" if watched else "no",
        "subnet manager on the switch": "no",
        f"{_ALLOWED} 127.0.0.1/32": "",
        f"{_ALLOWED} port udp {TIME}": "",
    }
    if watched:
        values |= {"SNMP communities": "no", "SNMP location": str(switch.place)}
    if intent.addresses.gateway:
        values["default gateway"] = intent.addresses.gateway
    values |= {f"ntp server {server}": "" for server in intent.ntp_servers}
    values |= {f"log server {server}": "" for server in intent.syslog_servers}
    allowed = management.allowed_sources or (str(network),)
    values |= {f"{_ALLOWED} {source}": "" for source in allowed}
    for number in range(1, switch.model.ports + 1):
        port = f"port {switch.model.interface('mlnxos', number)}"
        peer = cabled.get(number)
        values[f"{port} shutdown"] = "no" if peer else "yes"
        if peer is not None:
            values[f"{port} description"] = f"{peer.device} {_port_name(fabric, peer)}"
    return {key: {"value": value} for key, value in values.items()}


def _port_name(fabric: Fabric, port: Port) -> str:
    """Return a port as its own device calls it."""
    if port.device in fabric.switch:
        return fabric.switch[port.device].model.interface("mlnxos", port.number)
    return fabric.node_port[port].hca


def configuration_findings(
    path: str, text: str, plan: Mapping[str, Mapping[str, Value]]
) -> Iterator[Finding]:
    """Yield where a configuration differs from the plan of its switch."""
    rows: list[Row] = []
    for number, raw in enumerate(text.splitlines(), start=1):
        line = " ".join(raw.split())
        if not line or line.startswith(("#", "!")):
            continue
        for command, key, value in COMMANDS:
            if match := command.fullmatch(line):
                said = match.expand(value) if value else ""
                if command.pattern.startswith("(no )?"):
                    said = "no" if match[1] else "yes"
                rows.append(Row(match.expand(key), {"value": said}, number))
                break
        else:
            yield fault(path, f"is no command that is known here: {line}", number)
    yield from row_findings(path, plan, rows)
    if _closed_early(rows):
        yield fault(path, "the filter drops before all sources are allowed", 0)


def _closed_early(rows: list[Row]) -> bool:
    """Return whether a source is allowed only after the filter shuts out all others."""
    keys = [row.key for row in rows]
    shut = max(
        (n for n, key in enumerate(keys) if key in ("policy of the filter", "filter")), default=0
    )
    return any(key.startswith(_ALLOWED) for key in keys[shut:])
