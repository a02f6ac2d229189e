"""The cable list: each cable once, A to Z, with what a person needs to pull it."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from fireflyer.model.fabric import Cable, Fabric, Guid, Port

COLUMNS = (
    "cable_id",
    "a_rack",
    "a_unit",
    "a_device",
    "a_port",
    "z_rack",
    "z_unit",
    "z_device",
    "z_port",
    "speed_gbps",
    "medium",
    "length_m",
    "a_label",
    "z_label",
    "bundle",
    "role",
    "a_guid",
    "a_guid_source",
    "z_guid",
    "z_guid_source",
)


def files(fabric: Fabric) -> Mapping[str, str]:
    """Return `cables.csv` (RFC 4180, lines ended by a line feed)."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_row(fabric, cable) for cable in fabric.cables)
    return {"cables.csv": text.getvalue()}


def _row(fabric: Fabric, cable: Cable) -> tuple[object, ...]:
    a, z = fabric.device_place(cable.a.device), fabric.device_place(cable.z.device)
    near, far = _end(fabric, cable.a), _end(fabric, cable.z)
    return (
        cable.id,
        a.rack,
        a.unit,
        cable.a.device,
        fabric.port_name(cable.a),
        z.rack,
        z.unit,
        cable.z.device,
        fabric.port_name(cable.z),
        cable.gbps,
        cable.medium,
        f"{cable.length_m:g}",
        f"{near} / {far}",
        f"{far} / {near}",
        cable.bundle,
        cable.role,
        *_guid(fabric.guid(cable.a)),
        *_guid(fabric.guid(cable.z)),
    )


def _end(fabric: Fabric, port: Port) -> str:
    place = fabric.device_place(port.device)
    return f"{place.rack}-U{place.unit:02d}:{fabric.port_name(port)}"


def _guid(guid: Guid) -> tuple[str, str]:
    return str(guid), "placeholder" if guid.placeholder else "asset"
