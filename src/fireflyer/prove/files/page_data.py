"""The data inside the report's page, decoded as the page's program decodes it."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from netaddr import IPAddress

from fireflyer.model.fabric import Fabric, Node, Switch
from fireflyer.prove.files import plain_json
from fireflyer.prove.files.marked_yaml import Tree, flattened
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Row, Value, fault, row_findings

_TYPES = {"u8": "<u1", "u16": "<u2", "u32": "<u4", "u64": "<u8"}
_CABLE = ("medium", "length_m", "part", "a_optic", "z_optic")


def data_findings(fabric: Fabric, path: str, text: str) -> Iterator[Finding]:
    """Yield where devices, racks, models or cables of the page differ from the fabric's."""
    findings: list[Finding] = []
    data = plain_json.load(path, text, findings)
    yield from findings
    if not isinstance(data, Mapping):
        return
    try:
        seen = [*_heads(data), *_devices(data), *_racks(data), *_cables(data)]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, binascii.Error) as error:
        yield fault(path, f"the data of the page cannot be decoded: {error!r}")
        return
    yield from row_findings(path, _planned(fabric), seen)


def _column(column: Any) -> list[int]:
    kind, coded = column
    values = np.frombuffer(base64.b64decode(coded, validate=True), dtype=_TYPES[kind])
    return [int(value) for value in values]


def _heads(data: Any) -> Iterator[Row]:
    for key in ("site", "tree_kind"):
        yield Row(f"data {key}", {"value": data[key]})
    for key in ("trees", "groups", "kinds"):
        yield Row(f"data {key}", {"value": tuple(data[key])})
    yield Row("data gbps", {"value": data["cables"]["gbps"]})
    for model in data["models"]:
        held = dict(flattened({k: v for k, v in model.items() if k != "name"}))
        yield Row(f"model {model['name']}", held)


def _devices(data: Any) -> Iterator[Row]:
    held = data["devices"]
    names, racks = held["name"], data["racks"]["name"]
    models = [model["name"] for model in data["models"]]
    columns = ("kind", "group", "model", "rack", "unit", "management", "loopback")
    read = {key: _column(held[key]) for key in columns}
    guids, invented = _column(held["guid"]), _column(held["guid_invented"])
    if {len(column) for column in read.values()} != {len(names)} or len(guids) != len(invented):
        raise ValueError("columns of devices are not of one length")
    for n, name in enumerate(names):
        values: dict[str, Value] = {
            "kind": data["kinds"][read["kind"][n]],
            "group": data["groups"][read["group"][n]],
            "model": models[read["model"][n]],
            "rack": racks[read["rack"][n]],
            "unit": read["unit"][n],
            "management": str(IPAddress(read["management"][n])),
            "loopback": str(IPAddress(read["loopback"][n])),
            "serial": held["serial"].get(str(n), ""),
        }
        if n < len(guids):
            values |= {"guid": guids[n], "guid_invented": bool(invented[n])}
        yield Row(f"device {name}", values)


def _racks(data: Any) -> Iterator[Row]:
    racks = data["racks"]
    yield Row("racks", {"units": racks["units"], "limit_kw": float(racks["limit_kw"])})
    columns = [racks[key] for key in ("name", "row", "column", "kw")]
    for name, row, column, kw in zip(*columns, strict=True):
        yield Row(f"rack {name}", {"row": row, "column": column, "kw": float(kw)})


def _cables(data: Any) -> Iterator[Row]:
    held, devices = data["cables"], data["devices"]["name"]
    keys = ("a", "a_port", "z", "z_port", "role", "kind", "pull")
    read = {key: _column(held[key]) for key in keys}
    if len({len(column) for column in read.values()}) != 1:
        raise ValueError("columns of cables are not of one length")
    ports = [_column(held[key]) for key in ("address", "guid", "guid_invented")]
    for n, a in enumerate(read["a"]):
        bought = {key: held["bought"][key][read["kind"][n]] for key in _CABLE}
        values: dict[str, Value] = {
            "z": f"{devices[read['z'][n]]}/{read['z_port'][n]}",
            "role": held["roles"][read["role"][n]],
            "pull": read["pull"][n],
            **bought,
            "length_m": float(bought["length_m"]),
        }
        if (leg := held["leg_of"].get(str(n))) is not None:
            values["leg of"] = f"{devices[read['a'][leg]]}/{read['a_port'][leg]}"
        if n < len(ports[0]):
            values["address"] = str(IPAddress(ports[0][n]))
        if n < len(ports[1]):
            values |= {"guid": ports[1][n], "guid_invented": bool(ports[2][n])}
        yield Row(f"cable {devices[a]}/{read['a_port'][n]}", values)


def _planned(fabric: Fabric) -> dict[str, dict[str, Value]]:
    trees, zones = fabric.trees, fabric.zones
    groups = (*trees, *(zone for zone in zones if zone not in trees), "")
    kinds = ("leaf", "spine", "core", "interzone", "compute", "storage", "management")
    racks = fabric.intent.racks
    planned: dict[str, dict[str, Value]] = {
        "data site": {"value": fabric.intent.name},
        "data tree_kind": {"value": fabric.tree_kind},
        "data trees": {"value": trees},
        "data groups": {"value": groups},
        "data kinds": {"value": kinds},
        "data gbps": {"value": fabric.cables[0].gbps if fabric.cables else 0},
        "racks": {"units": racks.units, "limit_kw": float(racks.power_kw)},
    }
    drawn: dict[str, float] = {}
    devices: list[Switch | Node] = [*fabric.switches, *fabric.nodes]
    for device in devices:
        model, place = device.model, device.place
        is_switch = isinstance(device, Switch)
        ports: list[Tree] = (
            [device.model.port(n) for n in range(1, device.model.ports + 1)]
            if isinstance(device, Switch)
            else [f"{nic.name} {nic.hca}" for nic in device.model.nics]
        )
        shown: Tree = {
            "description": model.description,
            "rack_units": model.rack_units,
            "power_w": model.power_w,
            "ports": ports,
        }
        planned[f"model {model.name}"] = dict(flattened(shown))
        planned[f"device {device.name}"] = {
            "kind": str(device.layer if isinstance(device, Switch) else device.role),
            "group": (device.tree or "") if isinstance(device, Switch) else device.zone,
            "model": model.name,
            "rack": place.rack,
            "unit": place.unit,
            "management": str(device.management),
            "loopback": str(device.loopback),
            "serial": device.serial,
        }
        if is_switch and not fabric.is_ethernet:
            guid = fabric.switch[device.name].guid
            planned[f"device {device.name}"] |= {
                "guid": guid.value,
                "guid_invented": guid.placeholder,
            }
        drawn[place.rack] = drawn.get(place.rack, 0.0) + model.rack_power_w
        planned[f"rack {place.rack}"] = {"row": place.row, "column": place.column}
    for rack, watts in drawn.items():
        planned[f"rack {rack}"]["kw"] = round(watts / 1000, 3)
    ids = {cable.id: cable for cable in fabric.cables}
    for cable in fabric.cables:
        values: dict[str, Value] = {
            "z": str(cable.z),
            "role": str(cable.role),
            "pull": cable.pull,
            "medium": str(cable.medium),
            "length_m": float(cable.length_m),
            "part": cable.part,
            "a_optic": cable.a_optic,
            "z_optic": cable.z_optic,
        }
        if cable.assembly != cable.id:
            values["leg of"] = str(ids[cable.assembly].a)
        if (port := fabric.node_port.get(cable.a)) is not None:
            values["address"] = str(port.address)
            if not fabric.is_ethernet:
                values |= {"guid": port.guid.value, "guid_invented": port.guid.placeholder}
        planned[f"cable {cable.a}"] = values
    return planned
