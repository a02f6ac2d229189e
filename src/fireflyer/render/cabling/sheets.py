"""The cable list, A to Z, and one sheet for the people at each rack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from fireflyer.model.fabric import Cable, Fabric, Guid
from fireflyer.render.cabling.ends import Ends

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
    "need_m",
    "part",
    "a_optic",
    "z_optic",
    "assembly",
    "pull",
    "trunk",
    "a_panel",
    "a_position",
    "z_panel",
    "z_position",
)
"""Of `cables.csv`; new ones come last. Those of trunks are empty where a link has none."""

TRUNK_COLUMNS = (
    "pull",
    "trunk",
    "part",
    "fibres",
    "length_m",
    "a_panel",
    "a_unit",
    "a_position",
    "z_panel",
    "z_unit",
    "z_position",
    "positions",
    "links",
)
"""Of `trunks.csv`: the first position at each end, how many there are, and how many have a link."""

RACK_COLUMNS = (
    "pull",
    "cable_id",
    "near_unit",
    "near_device",
    "near_port",
    "far_rack",
    "far_unit",
    "far_device",
    "far_port",
    "medium",
    "length_m",
    "part",
    "near_optic",
    "near_label",
    "far_label",
    "bundle",
)
"""Of a rack's sheet: the near end is in that rack."""


def cable_list(fabric: Fabric, found: Sequence[Ends]) -> str:
    """Return `cables.csv` (RFC 4180, lines ended by a line feed)."""
    guids = _guids(fabric)
    lines = [",".join(COLUMNS)]
    for entry in found:
        cable, a, z = entry.cable, entry.a, entry.z
        a_guid = guids.get((cable.a.device, 0)) or guids[cable.a.device, cable.a.number]
        z_guid = guids.get((cable.z.device, 0)) or guids[cable.z.device, cable.z.number]
        lines.append(
            f"{cable.id},{a.rack},{a.fields},{z.rack},{z.fields},{cable.gbps},{cable.medium},"
            f"{cable.length_m:g},{entry.a_label},{entry.z_label},{cable.bundle},{cable.role},"
            f"{a_guid},{z_guid},{cable.need_m:.2f},{cable.part},{cable.a_optic},{cable.z_optic},"
            f"{cable.assembly},{cable.pull},{_route(cable)}"
        )
    lines.append("")
    return "\n".join(lines)


def _route(cable: Cable) -> str:
    """Return trunk, panels and positions of a link as CSV fields."""
    if (route := cable.route) is None:
        return ",,,,"
    a, z = route.a, route.z
    return f"{route.trunk},{a.panel},{a.position},{z.panel},{z.position}"


def trunk_list(fabric: Fabric) -> str:
    """Return `trunks.csv`: every trunk in the order they are pulled."""
    unit = {fitting.name: fitting.place.unit for fitting in fabric.fittings}
    pull: dict[str, int] = {}
    links: Counter[str] = Counter()
    for cable in fabric.cables:
        if cable.route is not None:
            pull[cable.route.trunk] = cable.pull
            links[cable.route.trunk] += 1
    lines = [",".join(TRUNK_COLUMNS)]
    lines += (
        f"{pull[trunk.id]},{trunk.id},{trunk.part},{trunk.fibres},{trunk.length_m:g},"
        f"{trunk.a.panel},{unit[trunk.a.panel]},{trunk.a.position},"
        f"{trunk.z.panel},{unit[trunk.z.panel]},{trunk.z.position},"
        f"{trunk.positions},{links[trunk.id]}"
        for trunk in sorted(fabric.trunks, key=lambda trunk: pull[trunk.id])
    )
    lines.append("")
    return "\n".join(lines)


def rack_sheets(ordered: Sequence[Ends]) -> Iterator[tuple[str, str]]:
    """Yield the name and text of each rack's sheet, rows in pull order.

    A cable within one rack is there once, its a end as the near one.
    """
    header = ",".join(RACK_COLUMNS)
    sheets: dict[str, list[str]] = {}
    for entry in ordered:
        cable, a, z = entry.cable, entry.a, entry.z
        first = f"{cable.pull},{cable.id},"
        what = f",{cable.medium},{cable.length_m:g},{cable.part},"
        a_label, z_label = entry.a_label, entry.z_label
        sheets.setdefault(a.rack, [header]).append(
            f"{first}{a.fields},{z.rack},{z.fields}{what}{cable.a_optic},{a_label},{z_label},"
            f"{cable.bundle}"
        )
        if a.rack != z.rack:
            sheets.setdefault(z.rack, [header]).append(
                f"{first}{z.fields},{a.rack},{a.fields}{what}{cable.z_optic},{z_label},{a_label},"
                f"{cable.bundle}"
            )
    for rack in sorted(sheets):
        lines = sheets.pop(rack)
        lines.append("")
        yield f"racks/{rack}.csv", "\n".join(lines)


def _guids(fabric: Fabric) -> Mapping[tuple[str, int], str]:
    """Return GUID and its source by device and port; a switch has one, as port 0."""
    if fabric.is_ethernet:
        none = dict.fromkeys(((switch.name, 0) for switch in fabric.switches), ",")
        return none | dict.fromkeys(((node.name, 0) for node in fabric.nodes), ",")
    found = {(switch.name, 0): _guid(switch.guid) for switch in fabric.switches}
    for node in fabric.nodes:
        found |= {(node.name, port.number): _guid(port.guid) for port in node.ports}
    return found


def _guid(guid: Guid) -> str:
    return f"{guid},{'placeholder' if guid.placeholder else 'asset'}"
