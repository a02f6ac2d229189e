"""Reservations on the management network: Kea's JSON and dnsmasq's options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from netaddr import IPAddress, valid_ipv4

from fireflyer.model.fabric import Fabric, Node, Switch
from fireflyer.prove.files import plain_json
from fireflyer.prove.files.exports.links import Link
from fireflyer.prove.files.exports.ranks import json_findings
from fireflyer.prove.files.marked_yaml import Tree
from fireflyer.prove.files.source import read
from fireflyer.prove.files.ztp import switch_options
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Row, Value, row_findings

KEA, DNSMASQ = "exports/kea/kea-dhcp4.conf", "exports/dnsmasq/management.conf"
_PRIVATE = range(224, 255)
"""Options that Kea has to be told of (RFC 3942)."""


def dhcp(fabric: Fabric, links: list[Link], tree: Path) -> Iterator[Finding]:
    """Yield where what the DHCP servers get differs from the asset list and the plan."""
    yield from read(tree, KEA, lambda text: _kea(fabric, text))
    yield from read(tree, DNSMASQ, lambda text: _dnsmasq(fabric, text))


def _devices(fabric: Fabric) -> list[Switch | Node]:
    return [*fabric.switches, *fabric.nodes]


def _time_servers(fabric: Fabric) -> list[str]:
    """Return the time servers that are addresses: option 42 takes no names."""
    return [server for server in fabric.intent.ntp_servers if valid_ipv4(server)]


def _kea(fabric: Fabric, text: str) -> Iterator[Finding]:
    findings: list[Finding] = []
    seen = plain_json.load(KEA, text, findings)
    yield from findings
    if seen is None:
        return
    intent, first = fabric.intent, switch_options(fabric)
    options: list[Tree] = [{"name": "domain-name", "data": intent.domain}]
    if intent.addresses.gateway:
        options.append({"name": "routers", "data": intent.addresses.gateway})
    if servers := _time_servers(fabric):
        options.append({"name": "ntp-servers", "data": ", ".join(servers)})
    reservations: list[Tree] = []
    for device in _devices(fabric):
        if device.mac:
            row: dict[str, Tree] = {
                "hw-address": device.mac,
                "ip-address": str(device.management),
                "hostname": device.name,
            }
            if first and isinstance(device, Switch):
                row["client-classes"] = ["switch"]
            reservations.append(row)
    unknown = sum(not device.mac for device in _devices(fabric))
    server: dict[str, Tree] = {
        "interfaces-config": {"interfaces": ["*"]},
        "host-reservation-identifiers": ["hw-address"],
        "reservations-global": False,
        "reservations-in-subnet": True,
        "reservations-out-of-pool": True,
        "subnet4": [
            {
                "id": 1,
                "subnet": str(fabric.networks["management"]),
                "option-data": options,
                "reservations": reservations,
                "user-context": {"devices-without-mac": unknown},
            }
        ],
    }
    if first:
        server["client-classes"] = [
            {
                "name": "switch",
                "option-data": [
                    {"code": int(code), "data": value, "always-send": True}
                    for code, value in first.items()
                ],
            }
        ]
    if own := [int(code) for code in first if int(code) in _PRIVATE]:
        server["option-def"] = [
            {"name": f"switch-{code}", "code": code, "type": "string"} for code in own
        ]
    yield from json_findings(KEA, {"Dhcp4": server}, seen)


def _dnsmasq(fabric: Fabric, text: str) -> Iterator[Finding]:
    """Yield the differences of `name=value` lines (dnsmasq(8)); `#` begins a comment."""
    network, intent = fabric.networks["management"], fabric.intent
    plan: dict[str, dict[str, Value]] = {
        f"domain {intent.domain}": {},
        f"dhcp-range {network.network},static,{network.netmask}": {},
    }
    if intent.addresses.gateway:
        plan[f"dhcp-option option:router,{intent.addresses.gateway}"] = {}
    if servers := _time_servers(fabric):
        plan[f"dhcp-option option:ntp-server,{','.join(servers)}"] = {}
    for device in _devices(fabric):
        if device.mac:
            tag = "set:switch," if isinstance(device, Switch) else ""
            plan[f"dhcp-host {device.mac},{tag}{IPAddress(device.management)},{device.name}"] = {}
    rows = []
    for number, raw in enumerate(text.splitlines(), start=1):
        line = re.sub(r"(^|\s)#.*", "", raw).strip()
        if line:
            name, _, value = line.partition("=")
            rows.append(Row(f"{name.strip()} {value.strip()}", {}, number))
    yield from row_findings(DNSMASQ, plan, rows)
