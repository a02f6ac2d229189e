"""Reservations on the management network, for dnsmasq and for Kea.

A device is known by the MAC of the asset list. One without is left out and counted: an address
for an invented MAC would go to nobody. Switches are told where their configuration is: by Kea's
file itself, by dnsmasq's together with `ztp/dhcp-options.conf`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from fireflyer.model.fabric import Fabric, Node, Switch
from fireflyer.render import ztp
from fireflyer.render.exports.wiring import Files, Wiring
from fireflyer.render.template import render

_SWITCH = "switch"
"""Tag (dnsmasq) and class (Kea) of switches."""
_FIRST_PRIVATE = 224
"""Options from here on have no meaning that all agree on (RFC 3942)."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """A device's address and name, by its MAC."""

    mac: str
    address: str
    name: str
    is_switch: bool
    """A switch is told where its configuration is."""


def reservations(fabric: Fabric) -> tuple[list[Reservation], list[str]]:
    """Return the reservations, and the devices whose MAC is not known."""
    known: list[Reservation] = []
    unknown: list[str] = []
    devices: tuple[Switch | Node, ...] = (*fabric.switches, *fabric.nodes)
    for device in devices:
        if device.mac:
            known.append(
                Reservation(
                    device.mac, str(device.management), device.name, isinstance(device, Switch)
                )
            )
        else:
            unknown.append(device.name)
    return known, unknown


def dnsmasq(wiring: Wiring) -> Files:
    """Yield `management.conf` (dnsmasq(8): `conf-file`)."""
    fabric = wiring.fabric
    known, unknown = reservations(fabric)
    network = fabric.networks["management"]
    yield (
        "management.conf",
        render(
            "dnsmasq/management.conf.j2",
            site=fabric.intent.name,
            domain=fabric.intent.domain,
            network=str(network.network),
            netmask=str(network.netmask),
            gateway=fabric.intent.addresses.gateway or "",
            ntp_servers=_addresses(fabric.intent.ntp_servers),
            reservations=known,
            unknown=len(unknown),
        ),
    )


def kea(wiring: Wiring) -> Files:
    """Yield `kea-dhcp4.conf`; interfaces and lease store are the server's, not the fabric's."""
    fabric = wiring.fabric
    intent = fabric.intent
    known, unknown = reservations(fabric)
    first = ztp.dhcp_options(fabric)
    options = [{"name": "domain-name", "data": intent.domain}]
    if intent.addresses.gateway:
        options.append({"name": "routers", "data": intent.addresses.gateway})
    if servers := _addresses(intent.ntp_servers):
        options.append({"name": "ntp-servers", "data": ", ".join(servers)})
    subnet = {
        "id": 1,
        "subnet": str(fabric.networks["management"]),
        "option-data": options,
        "reservations": [
            {"hw-address": item.mac, "ip-address": item.address, "hostname": item.name}
            | ({"client-classes": [_SWITCH]} if item.is_switch and first else {})
            for item in known
        ],
        "user-context": {"devices-without-mac": len(unknown)},
    }
    of_class, definitions = _switch_options(first)
    # A reserved address comes with the name it is reserved for (option 12).
    server = {
        "interfaces-config": {"interfaces": ["*"]},
        "host-reservation-identifiers": ["hw-address"],
        "reservations-global": False,
        "reservations-in-subnet": True,
        "reservations-out-of-pool": True,
        **({"option-def": definitions} if definitions else {}),
        **({"client-classes": [of_class]} if first else {}),
        "subnet4": [subnet],
    }
    yield "kea-dhcp4.conf", json.dumps({"Dhcp4": server}, indent=1) + "\n"


def _switch_options(
    options: tuple[tuple[int, str, str], ...],
) -> tuple[dict[str, object], list[dict[str, object]]]:
    """Return the class of new switches, and the options that Kea does not know.

    Every option is sent whether it was asked for or not.
    """
    data = [{"code": code, "data": value, "always-send": True} for code, value, _ in options]
    definitions: list[dict[str, object]] = [
        {"name": f"switch-{code}", "code": code, "type": "string"}
        for code, _, _ in options
        if code >= _FIRST_PRIVATE
    ]
    return {"name": _SWITCH, "option-data": data}, definitions


def _addresses(servers: tuple[str, ...]) -> list[str]:
    """Return those that are addresses: DHCP carries no names for time servers."""
    return [server for server in servers if server.replace(".", "").isdigit()]
