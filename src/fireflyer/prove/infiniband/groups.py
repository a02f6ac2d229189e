"""Ask the subnet administrator for IPoIB's broadcast group: its MTU, its rate, its service level.

ibsim's ports have an MTU of 2048, so that none of them could join a group of 4096; no host of
the simulation does, and the group is what OpenSM makes of partitions.conf all the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fireflyer.model.fabric import Subnet
from fireflyer.prove.infiniband.simulator import Simulator
from fireflyer.verify.finding import Finding

_FIELD = re.compile(r"(?m)^\s*(MGID|Mtu|pkey|Rate|SL)\.+(\S+)$")
_BROADCAST = re.compile(r"ff12:401b:ffff::ffff:ffff$")
"""MGID of the default partition's broadcast group (RFC 4391, 4)."""
_CODE = 0x3F
"""The lower bits of Mtu and Rate; the upper two say how to compare."""
_MTU_BYTES = {1: 256, 2: 512, 3: 1024, 4: 2048, 5: 4096}
_RATE_GBPS = {3: 10, 6: 20, 7: 40, 12: 56, 16: 100, 17: 200, 20: 50, 21: 400, 23: 800}


@dataclass(frozen=True, slots=True)
class Group:
    """A multicast group as the subnet administrator has it; None for a code without a meaning."""

    mtu_bytes: int | None
    gbps: int | None
    pkey: int
    sl: int


def broadcast_group(simulator: Simulator) -> Group | None:
    """Return IPoIB's broadcast group of the default partition, None if there is none."""
    return read_group(simulator.run("saquery", "-g", check=False))


def read_group(said: str) -> Group | None:
    """Return the broadcast group in what `saquery -g` prints."""
    groups: list[dict[str, str]] = []
    for name, value in _FIELD.findall(said):
        if name == "MGID":
            groups.append({})
        if groups:
            groups[-1][name] = value
    for fields in groups:
        if _BROADCAST.match(fields["MGID"]) and len(fields) == 5:
            mtu, rate = (int(fields[name], 16) & _CODE for name in ("Mtu", "Rate"))
            pkey, sl = int(fields["pkey"], 16), int(fields["SL"], 16)
            return Group(_MTU_BYTES.get(mtu), _RATE_GBPS.get(rate), pkey, sl)
    return None


def group_findings(group: Group | None, subnet: Subnet, sl: int) -> tuple[Finding, ...]:
    """Return what differs from the plan; `sl` is the default class's."""
    remedy = "check partitions.conf: rate, mtu, sl"
    if group is None:
        message = "the subnet administrator has no such group, so IPoIB has no network"
        return (Finding("partition", "IPoIB's broadcast group", message, remedy),)
    planned = Group(subnet.mtu_bytes, subnet.gbps, 0xFFFF, sl)
    if group == planned:
        return ()
    message = f"is {_shown(group)}; planned {_shown(planned)}"
    return (Finding("partition", "IPoIB's broadcast group", message, remedy),)


def _shown(group: Group) -> str:
    mtu = group.mtu_bytes or "unknown"
    return f"MTU {mtu}, {group.gbps or 'unknown'} Gb/s, partition 0x{group.pkey:04x}, SL {group.sl}"
