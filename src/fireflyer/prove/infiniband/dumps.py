"""Read what ibnetdiscover and OpenSM print."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from fireflyer.errors import OperatingError
from fireflyer.model.fabric import Fabric
from fireflyer.verify.cabling import End, SeenLink
from fireflyer.verify.routing import RoutedSubnet

_SWITCH = re.compile(r'^Switch\s+(\d+)\s+"S-([0-9a-f]+)"\s*#\s*"(.*?)"')
_ADAPTER = re.compile(r'^Ca\s+(\d+)\s+"H-([0-9a-f]+)"\s*#\s*"(.*?)"')
_LINK = re.compile(
    r'^\[(\d+)\](?:\(([0-9a-f]+)\))?\s+"([SH])-([0-9a-f]+)"\[(\d+)\](?:\(([0-9a-f]+)\))?'
    r"\s*#\s*(.*)$"
)
_NAME = re.compile(r'"(.*?)"')


def read_links(text: str) -> tuple[SeenLink, ...]:
    """Return the links of an ibnetdiscover listing, each once."""
    found: dict[frozenset[End], SeenLink] = {}
    near_guid, near_name, is_switch = 0, "", False
    for line in text.splitlines():
        if match := _SWITCH.match(line):
            near_guid, near_name, is_switch = int(match[2], 16), match[3], True
        elif match := _ADAPTER.match(line):
            near_guid, near_name, is_switch = int(match[2], 16), match[3], False
        elif match := _LINK.match(line):
            guid = near_guid if is_switch else int(match[2] or "0", 16)
            near = End(guid, int(match[1]) if is_switch else 1)
            if match[3] == "S":
                far = End(int(match[4], 16), int(match[5]))
            else:
                far = End(int(match[6] or "0", 16), 1)
            name = _NAME.search(match[7])
            rate = match[7].split()[-1]
            link = SeenLink(near, far, near_name, name[1] if name else "", rate)
            found.setdefault(link.pair, link)
    return tuple(found.values())


def read_subnet(fabric: Fabric, links: Iterable[SeenLink], folder: Path) -> RoutedSubnet:
    """Return OpenSM's forwarding tables over the links that are there.

    Raises:
        OperatingError: a dump is missing, which means OpenSM routed nothing.
    """
    lids = _lids(folder / "guid2lid")
    by_guid = {switch.guid.value: switch for switch in fabric.switches}
    switches = tuple(switch.name for switch in fabric.switches)
    index = {switch.guid.value: number for number, switch in enumerate(fabric.switches)}
    ports = 1 + max(switch.model.ports for switch in fabric.switches)
    shape = (len(switches), ports)
    neighbour = np.full(shape, -1, dtype=np.int32)
    end_port = np.zeros(shape, dtype=np.int32)
    for link in links:
        for near, far in ((link.a, link.z), (link.z, link.a)):
            if near.guid in by_guid and near.number < ports:
                row = index[near.guid]
                if far.guid in by_guid:
                    neighbour[row, near.number] = index[far.guid]
                else:
                    end_port[row, near.number] = lids.get(far.guid, 0)
    forward = np.full((len(switches), 1 + max(lids.values(), default=0)), 255, dtype=np.int32)
    for guid, lid, port in _forwarding(folder / "opensm-lfts.dump"):
        if guid in index and lid < forward.shape[1]:
            forward[index[guid], lid] = port
    return RoutedSubnet(
        switches=switches, forward=forward, neighbour=neighbour, end_port=end_port, lids=lids
    )


def _lids(file: Path) -> Mapping[int, int]:
    lids: dict[int, int] = {}
    for line in _text(file).splitlines():
        fields = line.split()
        if len(fields) >= 2:
            lids[int(fields[0], 16)] = int(fields[1], 16)
    return lids


def _forwarding(file: Path) -> Iterator[tuple[int, int, int]]:
    """Yield (switch GUID, LID, output port) of a dump of forwarding tables."""
    guid = 0
    for line in _text(file).splitlines():
        if line.startswith("Unicast"):
            match = re.search(r"guid (0x[0-9a-f]+)", line)
            guid = int(match[1], 16) if match else 0
        elif line.startswith("0x"):
            yield guid, int(line[:6], 16), int(line[7:10])


def _text(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except FileNotFoundError:
        raise OperatingError(f"OpenSM wrote no {file.name}: it routed nothing") from None
