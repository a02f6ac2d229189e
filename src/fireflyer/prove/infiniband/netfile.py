"""Read a netfile before ibsim does: ibsim says little of what it does not like.

Every link stands in a netfile twice, once at each end. Where the two ends disagree, because a
person edited one of them, the end that differs from the rendered file is what was meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from fireflyer.errors import OperatingError

_NODE = re.compile(r'^(Switch|Ca)\s+(\d+)\s+"([^"]+)"\s*#\s*"([^"]*)"')
_PORT = re.compile(r'^\[(\d+)\](?:\([0-9a-f]+\))?\s+"([^"]+)"\[(\d+)\](?:\([0-9a-f]+\))?(.*)$')

Plug: TypeAlias = tuple[str, int]
"""Id of a node in the file, and a port of it."""


@dataclass(frozen=True, slots=True)
class NetNode:
    """One switch or adapter."""

    id: str
    description: str
    header: tuple[str, ...]
    """Its lines but for those of its ports."""


@dataclass(frozen=True, slots=True)
class Netfile:
    """What a netfile says."""

    nodes: Mapping[str, NetNode]
    far: Mapping[Plug, Plug]
    """The far end that each port's own line names."""
    rest: Mapping[Plug, str]
    """What follows it: width and speed."""
    line: Mapping[Plug, int]


def read_netfile(file: Path) -> Netfile:
    """Read a netfile.

    Raises:
        OperatingError: with the line that ibsim would stumble over.
    """
    try:
        text = file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise OperatingError(f"{file} cannot be read ({error}); render the site again") from None
    return parse_netfile(text, str(file))


def parse_netfile(text: str, name: str) -> Netfile:
    """Read the text of a netfile; `name` is what errors call it.

    Raises:
        OperatingError: a node is there twice, or a line names a node that is not there.
    """
    nodes: dict[str, NetNode] = {}
    far: dict[Plug, Plug] = {}
    rest: dict[Plug, str] = {}
    lines: dict[Plug, int] = {}
    header: list[str] = []
    here = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if match := _NODE.match(line):
            here = match[3]
            if here in nodes:
                raise OperatingError(f"{name}:{number}: {here} is there twice; remove one of them")
            nodes[here] = NetNode(here, match[4], (*header, line))
            header = []
        elif match := _PORT.match(line):
            plug = (here, int(match[1]))
            if not here or plug in far:
                what = "belongs to no node" if not here else "is there twice"
                raise OperatingError(f"{name}:{number}: port {match[1]} {what}; remove the line")
            far[plug], rest[plug], lines[plug] = (match[2], int(match[3])), match[4], number
        else:
            header.append(line)
    for plug, (other, _) in far.items():
        if other not in nodes:
            raise OperatingError(
                f"{name}:{lines[plug]}: names {other}, which is no node of the file; add the node"
                " or remove the line"
            )
    return Netfile(nodes, far, rest, lines)


def disagreements(found: Netfile) -> tuple[Plug, ...]:
    """Return the ports whose far end does not name them back."""
    return tuple(plug for plug, other in found.far.items() if found.far.get(other) != plug)


def reconciled(found: Netfile, rendered: Netfile) -> str:
    """Return the text of a netfile in which both ends of every link agree."""
    edited = {
        plug
        for plug in found.far.keys() | rendered.far.keys()
        if found.far.get(plug) != rendered.far.get(plug)
    }
    taken: dict[Plug, Plug] = {}
    for plugs in (sorted(edited), sorted(found.far.keys() - edited)):
        for plug in plugs:
            other = found.far.get(plug)
            if other is None or plug in taken or other in taken:
                continue
            meant = found.far.get(other) == plug or (plug in edited and other not in edited)
            if meant:
                taken[plug], taken[other] = other, plug
    return "\n".join(_lines(found, taken)) + "\n"


def _lines(found: Netfile, links: Mapping[Plug, Plug]) -> Iterator[str]:
    by_node: dict[str, list[Plug]] = {}
    for plug in links:
        by_node.setdefault(plug[0], []).append(plug)
    default = next(iter(found.rest.values()), "")
    for node in found.nodes.values():
        yield from node.header
        for plug in sorted(by_node.get(node.id, [])):
            other, port = links[plug]
            yield f'[{plug[1]}] "{other}"[{port}]{found.rest.get(plug, default)}'
