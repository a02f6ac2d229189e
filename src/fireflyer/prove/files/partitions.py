"""OpenSM's partitions.conf: `Name=PKey, flags : members ;`, as its partition-config.txt has it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from fireflyer.model.fabric import Fabric
from fireflyer.prove.files.source import read
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Row, Value, fault, row_findings

_RATES = {10: 3, 20: 6, 40: 7, 56: 12, 100: 16, 200: 17, 50: 20, 400: 21, 800: 23}
"""Codes of a path's rate by Gb/s, as Linux has them (rdma/ib_verbs.h); an MTU's code is 1 for
256 bytes and one more for each doubling."""
_COMMENT = re.compile(r"#[^\n]*")
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+")


def partition_findings(fabric: Fabric, tree: Path, path: str) -> tuple[Finding, ...]:
    """Return where the partitions differ: one, of every port, with IPoIB on it."""
    (subnet,) = fabric.subnets
    plan: dict[str, dict[str, Value]] = {
        "Default": {
            "P_Key": 0x7FFF,
            "ipoib": "",
            "rate": _RATES[subnet.gbps],
            "mtu": subnet.mtu_bytes.bit_length() - 8,
            "sl": fabric.traffic_default.sl,
            "member ALL": "full",
            "member ALL_SWITCHES": "full",
            "member SELF": "full",
        }
    }
    return read(tree, path, lambda text: _partitions(path, text, plan))


def _partitions(path: str, text: str, plan: dict[str, dict[str, Value]]) -> Iterator[Finding]:
    text = _COMMENT.sub("", text)
    *entries, rest = text.split(";")
    if rest.strip():
        yield fault(path, f"{' '.join(rest.split())} has no ; at its end")
    rows, line = [], 1
    for entry in entries:
        line += len(entry[: len(entry) - len(entry.lstrip())].splitlines()[1:])
        if entry.strip():
            rows.append(_row(entry, line))
        line += entry.strip().count("\n")
    yield from row_findings(path, plan, rows)


def _row(entry: str, line: int) -> Row:
    definition, _, members = entry.partition(":")
    first, *flags = (flag.strip() for flag in definition.split(","))
    name, _, key = (part.strip() for part in first.partition("="))
    values: dict[str, Value] = {"P_Key": _value(key)}
    default = "limited"  # what a member is where neither it nor defmember says
    for flag in flags:
        option, _, value = (part.strip() for part in flag.partition("="))
        if option == "defmember":
            default = value
        elif option in values:
            values[f"{option}, again"] = _value(value)
        else:
            values[option] = _value(value)
    for member in members.split(","):
        who, _, kind = (part.strip() for part in member.partition("="))
        if who:
            values[f"member {who}"] = kind or default
    return Row(name, values, line)


def _value(text: str) -> Value:
    return int(text, 0) if _NUMBER.fullmatch(text) else text
