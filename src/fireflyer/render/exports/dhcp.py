"""Reservations on the management network, for dnsmasq and for Kea.

A device is known by the MAC of the asset list. One without is left out and counted: an address
for an invented MAC would go to nobody.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from fireflyer.model.fabric import Fabric, Node, Switch
from fireflyer.render.exports.wiring import Files, Wiring
from fireflyer.render.template import render


@dataclass(frozen=True, slots=True)
class Reservation:
    """A device's address and name, by its MAC."""

    mac: str
    address: str
    name: str


def reservations(fabric: Fabric) -> tuple[list[Reservation], list[str]]:
    """Return the reservations, and the devices whose MAC is not known."""
    known: list[Reservation] = []
    unknown: list[str] = []
    devices: tuple[Switch | Node, ...] = (*fabric.switches, *fabric.nodes)
    for device in devices:
        if mac := _mac(device):
            known.append(Reservation(mac, str(device.management), device.name))
        else:
            unknown.append(device.name)
    return known, unknown


def _mac(device: Switch | Node) -> str:
    """Return the MAC of a device's management port; the asset list has none of switches."""
    return device.mac


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
            for item in known
        ],
        "user-context": {"devices-without-mac": len(unknown)},
    }
    # A reserved address comes with the name it is reserved for (option 12).
    server = {
        "interfaces-config": {"interfaces": ["*"]},
        "host-reservation-identifiers": ["hw-address"],
        "reservations-global": False,
        "reservations-in-subnet": True,
        "reservations-out-of-pool": True,
        "subnet4": [subnet],
    }
    yield "kea-dhcp4.conf", json.dumps({"Dhcp4": server}, indent=1) + "\n"


def _addresses(servers: tuple[str, ...]) -> list[str]:
    """Return those that are addresses: DHCP carries no names for time servers."""
    return [server for server in servers if server.replace(".", "").isdigit()]
