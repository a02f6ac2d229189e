"""What sites share in NetBox: manufacturers, platforms, device types, roles, AS numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from fireflyer.design.switch_config import switch_configs
from fireflyer.model.fabric import Fabric, Node, Switch
from fireflyer.model.hardware import DeviceType, NodeModel, SwitchModel, System
from fireflyer.render.exports.netbox_table import Row, Table, slug

_UNNAMED: Final = "Generic"
"""Manufacturer of models that no vendor sells as they are, as in the community's library."""
PLATFORMS: Final[Mapping[System, str]] = {
    "mlnxos": "MLNX-OS",
    "sonic": "SONiC",
    "nvue": "Cumulus Linux",
    "eos": "Arista EOS",
    "frr": "FRRouting",
}
RIR: Final = "RFC 6996"
"""Registry of private AS numbers."""


def device_type(model: SwitchModel | NodeModel) -> DeviceType:
    """Return the names of a model's device type."""
    if model.device_type is not None:
        return model.device_type
    return DeviceType(manufacturer=_UNNAMED, model=model.name, slug=model.name)


def shared_tables(fabric: Fabric) -> Iterator[Table]:
    """Yield the tables in the order of import; the last two on Ethernet alone."""
    devices: tuple[Switch | Node, ...] = (*fabric.switches, *fabric.nodes)
    models = {device.model.name: device.model for device in devices}
    types = {model.name: device_type(model) for model in models.values()}
    makers = sorted({found.manufacturer for found in types.values()})
    yield Table(
        folder="shared",
        number=1,
        name="manufacturers",
        columns=("name", "slug"),
        rows=[(name, slug(name)) for name in makers],
    )
    platforms = (PLATFORMS[fabric.system],) if fabric.system else ()
    yield Table(
        folder="shared",
        number=2,
        name="platforms",
        columns=("name", "slug"),
        rows=[(name, slug(name)) for name in platforms],
    )
    yield Table(
        folder="shared",
        number=3,
        name="device-types",
        columns=("manufacturer", "model", "slug", "u_height"),
        rows=[
            (found.manufacturer, found.model, found.slug, str(models[name].rack_units))
            for name, found in types.items()
        ],
    )
    roles = dict.fromkeys(str(switch.layer) for switch in fabric.switches)
    roles |= dict.fromkeys(str(node.role) for node in fabric.nodes)
    yield Table(
        folder="shared",
        number=4,
        name="device-roles",
        columns=("name", "slug", "color", "vm_role"),
        rows=[(role, role, "9e9e9e", "false") for role in roles],
    )
    numbers = sorted(set(asns(fabric).values()))
    yield Table(
        folder="shared",
        number=5,
        name="rirs",
        columns=("name", "slug", "is_private"),
        rows=[(RIR, slug(RIR), "true")] if numbers else [],
    )
    rows: list[Row] = [(str(number), RIR) for number in numbers]
    yield Table(folder="shared", number=6, name="asns", columns=("asn", "rir"), rows=rows)


def asns(fabric: Fabric) -> dict[str, int]:
    """Return each switch's AS number; empty on InfiniBand."""
    return {switch.name: switch.bgp.asn for switch in switch_configs(fabric) if switch.bgp}
