"""What a configuration says, read back from its text, against what the switch should hold.

A schema knows words and types; that a port has the wrong neighbour it cannot know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fireflyer.design.switch_config import switch_configs
from fireflyer.model.fabric import Fabric
from fireflyer.model.hardware import System
from fireflyer.model.switch_config import PortRole, SwitchConfig
from fireflyer.render.classes import code_points
from fireflyer.render.switch_files import file_path
from fireflyer.verify.finding import Finding

REMEDY = "mend the file, or render the site again"
STRICT = "strict"


@dataclass(slots=True)
class Seen:
    """The parts of a configuration that every system can say."""

    hostname: str = ""
    ports: dict[str, str] = field(default_factory=dict)
    """Description by port; empty where it is shut."""
    asn: str = ""
    sessions: dict[str, str] = field(default_factory=dict)
    """The neighbour's number by port, or by address on numbered links."""
    networks: set[str] = field(default_factory=set)
    believed: set[str] = field(default_factory=set)
    """Prefixes that every neighbour may announce, as `10.0.0.0/16 of /26`; none is nothing.
    What a rule keeps out is there too, as `not 10.0.0.0/16 of /26`."""
    told: set[str] = field(default_factory=set)
    """Prefixes that every neighbour is told, where the switch has a route to them."""
    timers: str = ""
    """Seconds between keepalives, until a neighbour is given up, and between two tries."""
    bfd: str = ""
    """Packets that may be missing, and milliseconds between them."""
    queues: dict[str, str] = field(default_factory=dict)
    """Share of the link in percent, or `strict`, by queue."""
    points: dict[str, str] = field(default_factory=dict)
    """Queue by code point."""
    lossless: dict[str, str] = field(default_factory=dict)
    """Queues with PFC by port in use, as `1,2,3`."""
    marked: set[str] = field(default_factory=set)
    """Queues with ECN."""


def expected(config: SwitchConfig) -> Seen:
    """Say what a switch should hold in the same words."""
    bgp, queues = config.bgp, config.queues
    found = Seen(
        hostname=config.name,
        ports={port.name: port.description for port in config.ports},
        queues={str(q.number): STRICT if q.strict else str(q.weight_percent) for q in queues},
        points={str(p): str(number) for points, number in code_points(queues) for p in points},
    )
    if bgp is not None:
        found.asn = str(bgp.asn)
        found.networks = {str(network) for network in bgp.networks}
        found.believed = {str(prefixes) for prefixes in bgp.accepted}
        found.told = found.believed if bgp.transit else found.networks
        found.timers = f"{bgp.keepalive_s} {bgp.hold_s} {bgp.connect_s}"
        found.bfd = f"{bgp.bfd_multiplier} of {bgp.bfd_interval_ms} ms"
        found.sessions = {
            port.name if bgp.unnumbered else str(port.peer_address): str(port.peer_asn)
            for port in config.ports_of(PortRole.SWITCH)
        }
    if config.lossless is not None:
        numbers = [str(queue.number) for queue in queues if queue.lossless]
        found.lossless = {port.name: ",".join(numbers) for port in config.ports_in_use}
        found.marked = set(numbers) if config.lossless.ecn else set()
    return found


def ruled(permits: bool, named: str, lists: Mapping[str, set[str]]) -> set[str]:
    """Return what a rule of a route map lets through, in the words of `Seen`.

    Args:
        permits: Whether it lets anything through; if not, it keeps it out.
        named: The prefix list that it asks; empty where it asks none.
        lists: The prefix lists of the file.
    """
    found = lists.get(named, {f"{named}, which is not there"}) if named else {"anything"}
    return found if permits else {f"not {prefixes}" for prefixes in found}


def compare(check: str, subject: str, planned: Seen, seen: Seen) -> Iterator[Finding]:
    """Yield where the two differ."""
    for what, mine, theirs in (
        ("hostname", planned.hostname, seen.hostname),
        ("autonomous system", planned.asn, seen.asn),
        ("announced networks", _text(planned.networks), _text(seen.networks)),
        ("prefixes believed", _text(planned.believed), _text(seen.believed)),
        ("prefixes told", _text(planned.told), _text(seen.told)),
        ("BGP's timers", planned.timers, seen.timers),
        ("BFD", planned.bfd, seen.bfd),
        ("queues with ECN", _text(planned.marked), _text(seen.marked)),
    ):
        if mine != theirs:
            message = f"{what}: planned {mine or 'none'}, the file has {theirs or 'none'}"
            yield Finding(check, subject, message, REMEDY)
    for what, plan, found in (
        ("port", planned.ports, seen.ports),
        ("neighbour", planned.sessions, seen.sessions),
        ("queue", planned.queues, seen.queues),
        ("code point", planned.points, seen.points),
        ("PFC of port", planned.lossless, seen.lossless),
    ):
        yield from _differences(check, subject, what, plan, found)


def _differences(
    check: str, subject: str, what: str, plan: Mapping[str, str], found: Mapping[str, str]
) -> Iterator[Finding]:
    for key in (*plan, *(key for key in found if key not in plan)):
        mine, theirs = plan.get(key, "not there"), found.get(key, "not there")
        if mine != theirs:
            message = f"{what} {key}: planned {mine or 'shut'}, the file has {theirs or 'shut'}"
            yield Finding(check, subject, message, REMEDY)


def _text(values: set[str]) -> str:
    return ", ".join(sorted(values))


def check_files(
    fabric: Fabric,
    tree: Path,
    system: System,
    read: Callable[[str, SwitchConfig], tuple[Seen, list[str]]],
) -> tuple[int, tuple[Finding, ...]]:
    """Read every switch's file back.

    Args:
        fabric: The fabric the tree was rendered from.
        tree: A rendered tree.
        system: Whose files; the check has its name too.
        read: Says what a text holds, and what is wrong with its shape.

    Returns:
        The number of files, and the findings.
    """
    findings: list[Finding] = []
    count = 0
    for config in switch_configs(fabric):
        subject = file_path(system, config.name)
        file = tree / subject
        if not file.is_file():
            findings.append(Finding(system, subject, "is not there", "render the site again"))
            continue
        count += 1
        seen, faults = read(file.read_text(), config)
        findings += [Finding(system, subject, fault, REMEDY) for fault in faults]
        findings += compare(system, subject, expected(config), seen)
    return count, tuple(findings)
