"""What the report's page knows of devices, ports and cables: columns, not records.

A column of numbers is a little-endian array in base64 with its type before it, so that a
site of 65,536 cables takes about a megabyte and is read without a loop over records.
"""

from __future__ import annotations

import base64
import json
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from fireflyer.model.fabric import CableRole, Fabric, Layer, Node, Role, Switch
from fireflyer.model.hardware import NodeModel, SwitchModel

Json: TypeAlias = str | int | float | bool | Sequence["Json"] | Mapping[str, "Json"]

KINDS = (*(str(layer) for layer in Layer), *(str(role) for role in Role))
"""What a device can be; the page has a colour for each."""


def text(fabric: Fabric) -> str:
    """Return the data as JSON that may stand inside a `script` element."""
    compact = json.dumps(_data(fabric), separators=(",", ":"))
    return compact.replace("<", "\\u003c")


def _data(fabric: Fabric) -> Json:
    devices: list[Switch | Node] = [*fabric.switches, *fabric.nodes]
    groups = (*fabric.trees, *(zone for zone in fabric.zones if zone not in fabric.trees), "")
    models = {device.model.name: device.model for device in devices}
    racks = {device.place.rack: device.place for device in devices}
    return {
        "site": fabric.intent.name,
        "tree_kind": fabric.tree_kind,
        "trees": fabric.trees,
        "groups": groups,
        "kinds": KINDS,
        "models": [_model(model) for model in models.values()],
        "devices": _devices(fabric, devices, list(groups), list(models), list(racks)),
        "racks": {
            "units": fabric.intent.racks.units,
            "limit_kw": fabric.intent.racks.power_kw,
            "name": list(racks),
            "row": [place.row for place in racks.values()],
            "column": [place.column for place in racks.values()],
            "kw": _draws(devices, racks),
        },
        "cables": _cables(fabric, {device.name: i for i, device in enumerate(devices)}),
    }


def _model(model: SwitchModel | NodeModel) -> Json:
    if isinstance(model, SwitchModel):
        ports = [model.port(number) for number in range(1, model.ports + 1)]
    else:
        ports = [f"{nic.name} {nic.hca}" for nic in model.nics]
    return {
        "name": model.name,
        "description": model.description,
        "rack_units": model.rack_units,
        "power_w": model.power_w,
        "ports": ports,
    }


def _devices(
    fabric: Fabric,
    devices: Sequence[Switch | Node],
    groups: Sequence[str],
    models: Sequence[str],
    racks: Sequence[str],
) -> Json:
    group = {name: i for i, name in enumerate(groups)}
    model = {name: i for i, name in enumerate(models)}
    rack = {name: i for i, name in enumerate(racks)}
    kinds = [str(d.layer if isinstance(d, Switch) else d.role) for d in devices]
    stands = [d.tree or "" if isinstance(d, Switch) else d.zone for d in devices]
    guids = [] if fabric.is_ethernet else [switch.guid for switch in fabric.switches]
    return {
        "name": [device.name for device in devices],
        "kind": _column("u8", [KINDS.index(kind) for kind in kinds]),
        "group": _column("u8", [group[name] for name in stands]),
        "model": _column("u8", [model[device.model.name] for device in devices]),
        "rack": _column("u32", [rack[device.place.rack] for device in devices]),
        "unit": _column("u8", [device.place.unit for device in devices]),
        "management": _column("u32", [int(device.management) for device in devices]),
        "loopback": _column("u32", [int(device.loopback) for device in devices]),
        "serial": {str(i): device.serial for i, device in enumerate(devices) if device.serial},
        "guid": _column("u64", [guid.value for guid in guids]),
        "guid_invented": _column("u8", [guid.placeholder for guid in guids]),
    }


def _draws(devices: Iterable[Switch | Node], racks: Iterable[str]) -> list[float]:
    """Return what each rack has to feed, kW."""
    watts = dict.fromkeys(racks, 0.0)
    for device in devices:
        watts[device.place.rack] += device.model.rack_power_w
    return [round(draw / 1000, 3) for draw in watts.values()]


def _cables(fabric: Fabric, number: Mapping[str, int]) -> Json:
    """Return the cables in order; those of hosts come first, and bring their port's address."""
    cables = fabric.cables
    bought = [(c.medium, c.length_m, c.part, c.a_optic, c.z_optic) for c in cables]
    kinds = {kind: i for i, kind in enumerate(sorted(set(bought)))}
    first = {cable.id: i for i, cable in enumerate(cables)}
    roles = {role: i for i, role in enumerate(CableRole)}
    ports = [fabric.node_port[c.a] for c in cables if c.role is CableRole.HOST]
    guids = [] if fabric.is_ethernet else [port.guid for port in ports]
    return {
        "gbps": cables[0].gbps if cables else 0,
        "roles": [str(role) for role in CableRole],
        "bought": {
            name: [kind[at] for kind in kinds]
            for at, name in enumerate(("medium", "length_m", "part", "a_optic", "z_optic"))
        },
        "a": _column("u32", [number[cable.a.device] for cable in cables]),
        "a_port": _column("u16", [cable.a.number for cable in cables]),
        "z": _column("u32", [number[cable.z.device] for cable in cables]),
        "z_port": _column("u16", [cable.z.number for cable in cables]),
        "role": _column("u8", [roles[cable.role] for cable in cables]),
        "kind": _column("u16", [kinds[kind] for kind in bought]),
        "leg_of": {
            str(i): first[cable.assembly]
            for i, cable in enumerate(cables)
            if cable.assembly != cable.id
        },
        "pull": _column("u32", [cable.pull for cable in cables]),
        "address": _column("u32", [int(port.address) for port in ports]),
        "guid": _column("u64", [guid.value for guid in guids]),
        "guid_invented": _column("u8", [guid.placeholder for guid in guids]),
    }


_CODES = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q"}
"""Type codes of `array`."""


def _column(kind: str, values: Sequence[int]) -> list[str]:
    """Return a type and an array: u8, u16, u32 or u64, little-endian, in base64."""
    found = array(_CODES[kind], values)
    if sys.byteorder == "big":
        found.byteswap()
    return [kind, base64.b64encode(found.tobytes()).decode()]
