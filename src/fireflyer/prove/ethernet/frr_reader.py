"""Read FRR's files back as vtysh takes them: every command against the plan.

The block a command belongs to is the one that is open, so indentation has no meaning. FRR would
try it in the blocks around that one, too, but writes an `exit` after each; other readers of the
file, such as frr-reload, need it. One `exit` too many leaves the configuration.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from fireflyer.model.fabric import Fabric
from fireflyer.prove.ethernet.frr_planned import planned
from fireflyer.prove.switches.values import Key, Values, check_values
from fireflyer.verify.finding import Finding

TOP, INTERFACE, BFD, PROFILE = "", "interface", "bfd", "bfd profile"
ROUTE_MAP, BGP, UNICAST = "route-map", "router bgp", "ipv4 unicast"
BLOCKS: Mapping[str, Mapping[str, re.Pattern[str]]] = {
    TOP: {
        INTERFACE: re.compile(r"interface (?P<row>\S+)"),
        BFD: re.compile(r"bfd"),
        ROUTE_MAP: re.compile(r"route-map (?P<name>\S+) (?P<value>permit|deny) (?P<sequence>\d+)"),
        BGP: re.compile(r"router bgp (?P<value>\d+)"),
    },
    BFD: {PROFILE: re.compile(r"profile (?P<row>\S+)")},
    BGP: {UNICAST: re.compile(r"address-family ipv4 unicast")},
}
"""The commands that open a block, by the block in which they stand."""
COMMANDS: Mapping[str, tuple[re.Pattern[str], ...]] = {
    block: tuple(re.compile(pattern) for pattern in patterns)
    for block, patterns in {
        TOP: (
            r"(?P<field>frr defaults) (?P<value>\S+)",
            r"(?P<field>hostname) (?P<value>\S+)",
            r"(?P<field>log syslog) (?P<value>\S+)",
            r"(?P<field>service integrated-vtysh-config)",
            r"(?P<field>no zebra nexthop kernel enable)",
            r"ip (?P<field>prefix-list) (?P<list>\S+) (seq \d+ )?(?P<value>permit|deny)"
            r" (?P<prefix>\S+( ge \d+)?( le \d+)?)",
        ),
        INTERFACE: (
            r"(?P<field>ip address) (?P<value>\S+)",
            r"(?P<field>description) (?P<value>.+)",
            r"(?P<field>shutdown)",
        ),
        BFD: (),
        PROFILE: (r"(?P<field>detect-multiplier|(receive|transmit)-interval) (?P<value>\d+)",),
        ROUTE_MAP: (r"(?P<field>match ip address prefix-list) (?P<value>\S+)",),
        BGP: (
            r"(?P<field>bgp router-id) (?P<value>\S+)",
            r"(?P<field>bgp log-neighbor-changes)",
            r"(?P<field>bgp suppress-fib-pending)",
            r"(?P<field>bgp bestpath as-path multipath-relax)",
            r"(?P<field>no bgp default ipv4-unicast)",
            r"neighbor (?P<new>\S+) (?P<field>peer-group)",
            r"neighbor (?P<new>\S+) (?P<field>(interface )?remote-as) (?P<value>\d+)",
            r"neighbor (?P<old>\S+) (?P<field>peer-group) (?P<value>\S+)",
            r"neighbor (?P<old>\S+) (?P<field>bfd profile) (?P<value>\S+)",
            r"neighbor (?P<old>\S+) (?P<field>timers) (?P<value>\d+ \d+)",
            r"neighbor (?P<old>\S+) (?P<field>timers connect) (?P<value>\d+)",
        ),
        UNICAST: (
            r"(?P<field>network \S+)",
            r"(?P<field>maximum-paths) (?P<value>\d+)",
            r"neighbor (?P<old>\S+) (?P<field>activate)",
            r"neighbor (?P<old>\S+) (?P<field>route-map) (?P<value>\S+ (in|out))",
        ),
    }.items()
}
"""The commands that are known in each block: a field, and its value where it has one."""


def frr(fabric: Fabric, tree: Path) -> tuple[Finding, ...]:
    """Return where the files below `tree/frr` differ from the plan of their switches."""
    plan = partial(planned, system=fabric.system)
    return check_values(fabric, tree, "frr", ".conf", read, plan)[1]


def read(text: str) -> tuple[Values, list[str]]:
    """Return what a configuration holds, and the lines that are no known command there."""
    reading = _Reading()
    for number, line in enumerate(text.splitlines(), start=1):
        command = " ".join(line.split())
        if not command or command[0] in "!#":
            continue
        if fault := reading.take(command):
            reading.faults.append(f"line {number}: {command}: {fault}")
    if len(reading.blocks) > 1:
        reading.faults.append(f"ends inside {reading.open_block}: `exit` is missing")
    return reading.values, reading.faults


@dataclass(slots=True)
class _Reading:
    """What was read so far."""

    values: Values = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    blocks: list[tuple[str, str]] = field(default_factory=lambda: [(TOP, "")])
    """The open blocks from the outermost on, each with its row."""
    neighbours: set[str] = field(default_factory=set)
    """Those that are made so far, and peer groups."""

    def take(self, command: str) -> str:
        """Take one command; return what is wrong with it."""
        if command in ("exit", "quit"):
            if len(self.blocks) == 1:
                return "leaves the configuration, what follows is lost"
            self.blocks.pop()
            return ""
        if command == "exit-address-family":
            if self.blocks[-1][0] != UNICAST:
                return "no address family is open"
            self.blocks.pop()
            return ""
        inside = self.open_block
        for depth in range(len(self.blocks), 0, -1):
            block, row = self.blocks[depth - 1]
            unclosed = f"stands inside {inside}: `exit` is missing"
            unclosed = unclosed if depth < len(self.blocks) else ""
            if self._opens(block, depth, command):
                return unclosed
            for pattern in COMMANDS[block]:
                if match := pattern.fullmatch(command):
                    del self.blocks[depth:]
                    return self._put(block, row, match) or unclosed
        return "is no command that is known here"

    @property
    def open_block(self) -> str:
        """The command that opened the block, but for its values."""
        return " ".join(part for part in self.blocks[-1] if part)

    def _opens(self, block: str, depth: int, command: str) -> bool:
        for name, pattern in BLOCKS.get(block, {}).items():
            if match := pattern.fullmatch(command):
                parts = match.groupdict()
                row = parts.get("row") or ""
                if name == ROUTE_MAP:
                    row = f"{parts['name']} {parts['sequence']}"
                del self.blocks[depth:]
                self.blocks.append((name, row))
                self._add((name, row) if row else (name,), parts.get("value") or "")
                return True
        return False

    def _put(self, block: str, row: str, match: re.Match[str]) -> str:
        parts = match.groupdict()
        named, value = parts["field"], parts.get("value") or ""
        if named == "frr defaults" and (BGP,) in self.values:
            return "has no effect after router bgp"
        if block == TOP:
            section = (f"{named} {parts['list']}", parts["prefix"]) if "list" in parts else (named,)
            self._add(section, value)
            return ""
        neighbour = parts.get("new") or parts.get("old")
        if neighbour is None:
            self._add((block, row, named) if row else (block, named), value)
            return ""
        if "new" in parts:
            self.neighbours.add(neighbour)
        for used in (neighbour, value) if value and named == "peer-group" else (neighbour,):
            if used not in self.neighbours:
                return f"{used} is not there yet, FRR refuses the line"
        if named == "route-map":
            value, _, way = value.partition(" ")
            named = f"{named} {way}"
        self._add((block, f"neighbor {neighbour}", named), value)
        return ""

    def _add(self, key: Key, value: str) -> None:
        """Put a value; FRR keeps the last of several, but two are never planned."""
        before = self.values.setdefault(key, value)
        if value not in before.split(", "):
            self.values[key] = f"{before}, {value}"
