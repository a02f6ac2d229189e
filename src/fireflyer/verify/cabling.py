"""Compare cables as planned with links as seen, and name the crossed ones.

Devices are known by GUID: a port is a switch's GUID and a front-panel number, or an
adapter's port GUID. Two swapped host cables show in nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fireflyer.model.fabric import Cable, Fabric, Port
from fireflyer.verify.finding import Finding


@dataclass(frozen=True, slots=True, order=True)
class End:
    """One end of a link as the network reports it."""

    guid: int
    number: int
    """Front-panel port of a switch; 1 at an adapter."""


@dataclass(frozen=True, slots=True)
class SeenLink:
    """A link that is up. Descriptions are what the devices call themselves."""

    a: End
    z: End
    a_name: str
    z_name: str
    rate: str
    """Width and speed, such as 4xHDR."""

    @property
    def pair(self) -> frozenset[End]:
        return frozenset((self.a, self.z))


def planned_end(fabric: Fabric, port: Port) -> End:
    """Return how the network reports a port of the plan."""
    number = port.number if port.device in fabric.switch else 1
    return End(fabric.guid(port).value, number)


def cabling_findings(
    fabric: Fabric, seen: Iterable[SeenLink], rate: str = "4xHDR"
) -> tuple[Finding, ...]:
    """Return every cable that is missing, crossed, misplaced, slow or not planned."""
    links = {link.pair: link for link in seen}
    names = {
        planned_end(fabric, port): str(port)
        for cable in fabric.cables
        for port in (cable.a, cable.z)
    }
    planned = {
        frozenset((planned_end(fabric, c.a), planned_end(fabric, c.z))): c for c in fabric.cables
    }
    partner = {end: other for pair in planned for end in pair for other in pair - {end}}
    extra = set(links.keys() - planned.keys())
    missing = {pair: cable for pair, cable in planned.items() if pair not in links}
    findings: list[Finding] = []
    for pair in sorted(extra, key=sorted):
        if pair not in extra or len(pair) != 2:
            continue
        crossed = _crossed(pair, partner, extra)
        planned_pairs = [p for p in _pairs(pair, partner) if p in missing]
        if crossed is None or len(planned_pairs) != 2:
            continue
        first, second = sorted((missing.pop(p) for p in planned_pairs), key=lambda c: c.id)
        extra -= {pair, crossed}
        findings.append(_swap(fabric, first, second))
    at = {end: link for link in links.values() if link.pair in extra for end in link.pair}
    seen_devices = {end.guid for link in links.values() for end in link.pair}
    descriptions = _descriptions(fabric)
    dark: dict[str, list[Cable]] = {}
    for cable in sorted(missing.values(), key=lambda c: c.id):
        ends = (cable.a, cable.z)
        unseen = [p.device for p in ends if fabric.guid(p).value not in seen_devices]
        if len(unseen) == 2 or (unseen and not any(planned_end(fabric, p) in at for p in ends)):
            for device in unseen:
                dark.setdefault(device, []).append(cable)
        else:
            findings.append(_missing(fabric, cable, at, names, descriptions))
    findings += _dark(fabric, dark)
    known = {planned_end(fabric, p) for c in missing.values() for p in (c.a, c.z)}
    for pair in sorted(extra, key=sorted):
        if not pair & known:
            findings.append(_unplanned(links[pair], names))
    findings += _names(descriptions, links.values())
    findings += [
        Finding(
            "cabling",
            str(cable.id),
            f"the link is up at {links[pair].rate}, planned {rate}",
            "reseat or replace the cable",
        )
        for pair, cable in planned.items()
        if pair in links and links[pair].rate not in ("", rate)
    ]
    return tuple(findings)


def adapters_as_planned(fabric: Fabric, seen: Iterable[SeenLink]) -> bool:
    """Return whether the adapters that are seen are those of the plan."""
    switches = {switch.guid.value for switch in fabric.switches}
    found = {end.guid for link in seen for end in (link.a, link.z)} - switches
    return found == {port.guid.value for port in fabric.node_port.values()}


def _dark(fabric: Fabric, dark: Mapping[str, list[Cable]]) -> list[Finding]:
    """Return one finding for each device of which nothing is seen, or one for many."""
    remedy = "check that they have power, and the cables towards what is seen"
    if len(dark) > 8:
        some = ", ".join(sorted(dark)[:8])
        message = f"nothing is seen of {len(dark)} devices and their cables: {some}, ..."
        return [Finding("cabling", f"{len(dark)} devices", message, remedy)]
    found = []
    for device, cables in sorted(dark.items()):
        where = fabric.device_place(device)
        cut = ", ".join(sorted({cable.id for cable in cables})[:4])
        message = f"nothing is seen of it; none of its cables is up ({cut})"
        found.append(
            Finding("cabling", device, message, f"check its power and its cables at {where}")
        )
    return found


def _names(planned: Mapping[int, str], seen: Iterable[SeenLink]) -> list[Finding]:
    """Return the devices that call themselves something else than planned."""
    called: dict[int, str] = {}
    for link in seen:
        called |= {link.a.guid: link.a_name, link.z.guid: link.z_name}
    return [
        Finding(
            "cabling",
            planned[guid],
            f"the device with its GUID 0x{guid:016x} calls itself {name!r}",
            "correct its name, or the row of its GUID in assets.csv",
        )
        for guid, name in sorted(called.items())
        if guid in planned and name != planned[guid]
    ]


def _pairs(pair: frozenset[End], partner: Mapping[End, End]) -> tuple[frozenset[End], ...]:
    return tuple(frozenset((end, partner[end])) for end in pair if end in partner)


def _crossed(
    pair: frozenset[End], partner: Mapping[End, End], extra: set[frozenset[End]]
) -> frozenset[End] | None:
    """Return the other link of a crossed pair: the planned partners of both ends, joined."""
    one, two = pair
    if one not in partner or two not in partner:
        return None
    other = frozenset((partner[one], partner[two]))
    return other if other in extra and other != pair else None


def _swap(fabric: Fabric, first: Cable, second: Cable) -> Finding:
    return Finding(
        "cabling",
        f"{first.id} and {second.id}",
        f"the cables are crossed: planned {_path(fabric, first)} and {_path(fabric, second)}",
        f"swap their ends at {_where(fabric, first.z)} and {_where(fabric, second.z)}",
    )


def _missing(
    fabric: Fabric,
    cable: Cable,
    at: Mapping[End, SeenLink],
    names: Mapping[End, str],
    descriptions: Mapping[int, str],
) -> Finding:
    """Say of a cable that is not up what its two ends hold instead."""
    held: dict[Port, str] = {}
    for port in (cable.a, cable.z):
        end = planned_end(fabric, port)
        if link := at.get(end):
            other, name = (link.z, link.z_name) if link.a == end else (link.a, link.a_name)
            held[port] = _called(other, name, names)
            planned = cable.z if port == cable.a else cable.a
            expected = descriptions[fabric.guid(planned).value]
            if name == expected and other.guid not in descriptions:
                return Finding(
                    "cabling",
                    cable.id,
                    f"{_end(fabric, port)} leads to {name}, whose GUID 0x{other.guid:016x} is not"
                    " in the plan",
                    "if the device was replaced, put the GUID into assets.csv",
                )
    if not held:
        return Finding(
            "cabling",
            cable.id,
            f"no link between {_path(fabric, cable, 'and')}",
            f"check the cable at {_where(fabric, cable.a)} and {_where(fabric, cable.z)}",
        )
    seen = " and ".join(f"{_end(fabric, port)} leads to {what}" for port, what in held.items())
    # An end that is taken by its own cable is right, and the cable's other end is astray.
    astray = [
        _where(fabric, cable.z if port == cable.a else cable.a)
        for port in (cable.a, cable.z)
        if port in held
    ]
    return Finding(
        "cabling",
        cable.id,
        f"planned {_path(fabric, cable)}, but {seen}",
        f"move the far end to {' and '.join(astray)}",
    )


def _descriptions(fabric: Fabric) -> Mapping[int, str]:
    """Return what each device of the plan should call itself, by GUID."""
    called = {switch.guid.value: switch.name for switch in fabric.switches}
    for node in fabric.nodes:
        called |= {port.guid.value: f"{node.name} {port.hca}" for port in node.ports}
    return called


def _called(end: End, name: str, names: Mapping[End, str]) -> str:
    return names.get(end, f"{name} 0x{end.guid:016x} port {end.number}")


def _unplanned(link: SeenLink, names: Mapping[End, str]) -> Finding:
    ends = [
        _called(end, name, names) for end, name in ((link.a, link.a_name), (link.z, link.z_name))
    ]
    message = f"{ends[0]} is linked to {ends[1]}, which is not planned"
    return Finding(
        "cabling", " and ".join(ends), message, "remove the cable or add it to the intent"
    )


def _path(fabric: Fabric, cable: Cable, joint: str = "to") -> str:
    return f"{_end(fabric, cable.a)} {joint} {_end(fabric, cable.z)}"


def _end(fabric: Fabric, port: Port) -> str:
    return f"{port.device} {fabric.port_name(port)}"


def _where(fabric: Fabric, port: Port) -> str:
    return f"{fabric.device_place(port.device)} {_end(fabric, port)}"
