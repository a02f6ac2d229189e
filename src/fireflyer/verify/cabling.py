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
    for cable in sorted(missing.values(), key=lambda c: c.id):
        findings.append(_missing(fabric, cable, at, names))
    for pair in sorted(extra, key=sorted):
        link = links[pair]
        if not pair & {planned_end(fabric, p) for c in missing.values() for p in (c.a, c.z)}:
            findings.append(_unplanned(link, names))
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
    fabric: Fabric, cable: Cable, at: Mapping[End, SeenLink], names: Mapping[End, str]
) -> Finding:
    seen = []
    for port in (cable.a, cable.z):
        end = planned_end(fabric, port)
        if link := at.get(end):
            other, name = (link.z, link.z_name) if link.a == end else (link.a, link.a_name)
            seen.append(f"{port} leads to {names.get(other, f'{name} 0x{other.guid:016x}')}")
    if seen:
        message = f"planned {_path(fabric, cable)}, but {' and '.join(seen)}"
        return Finding("cabling", cable.id, message, f"move it to {_where(fabric, cable.z)}")
    return Finding(
        "cabling",
        cable.id,
        f"no link between {_path(fabric, cable)}",
        f"check the cable at {_where(fabric, cable.a)} and {_where(fabric, cable.z)}",
    )


def _unplanned(link: SeenLink, names: Mapping[End, str]) -> Finding:
    ends = [
        names.get(end, f"{name} 0x{end.guid:016x} port {end.number}")
        for end, name in ((link.a, link.a_name), (link.z, link.z_name))
    ]
    message = f"{ends[0]} is linked to {ends[1]}, which is not planned"
    return Finding(
        "cabling", " and ".join(ends), message, "remove the cable or add it to the intent"
    )


def _path(fabric: Fabric, cable: Cable) -> str:
    return f"{_end(fabric, cable.a)} to {_end(fabric, cable.z)}"


def _end(fabric: Fabric, port: Port) -> str:
    return f"{port.device} {fabric.port_name(port)}"


def _where(fabric: Fabric, port: Port) -> str:
    place = fabric.device_place(port.device)
    return f"{place.rack} U{place.unit:02d} {_end(fabric, port)}"
