"""Buffers in `config_db.json`: is each headroom long enough, and do all of them fit the ASIC?

Nothing here comes from the code that computes headroom. The least headroom is counted in packets
of 64 bytes, each of which takes a cell; the sum is taken over the file's own rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from fireflyer.model.fabric import Fabric, Switch
from fireflyer.prove.switches.result import SwitchCheck
from fireflyer.prove.switches.sonic_xml import Config
from fireflyer.render.switch_files import file_path
from fireflyer.verify.finding import Finding

CHECK: Final = "sonic"
REMEDY: Final = "render the site again, or correct the buffer in hardware/switches/"
FIBRE_M_PER_S: Final = 2.1e8
"""The fastest that light goes in a cable."""
SMALLEST_BYTES: Final = 64
RESPONSE_NS: Final = 1_150
"""A port must stop within 905 quanta of 512 bits at 400 Gb/s, 453 at 200: 1.16 microseconds."""


def check(fabric: Fabric, tree: Path) -> SwitchCheck:
    """Check the buffers of every switch's configuration below `tree/sonic`."""
    lengths: dict[str, dict[int, float]] = {switch.name: {} for switch in fabric.switches}
    for cable in fabric.cables:
        for end in (cable.a, cable.z):
            if end.device in lengths:
                lengths[end.device][end.number] = cable.length_m
    findings: list[Finding] = []
    count = 0
    for switch in fabric.switches:
        subject = file_path("sonic", switch.name)
        file = tree / subject
        if not file.is_file():
            continue
        try:
            tables: Config = json.loads(file.read_text())
            faults = list(_faults(switch, lengths[switch.name], tables))
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            faults = [f"its buffers cannot be read: {type(error).__name__}: {error}"]
        count += 1
        findings += [Finding(CHECK, subject, fault, REMEDY) for fault in faults]
    checker = "sums over the buffer tables, and packets of 64 bytes"
    return SwitchCheck(checker=checker, files=count, findings=tuple(findings))


def _faults(switch: Switch, lengths: Mapping[int, float], tables: Config) -> Iterator[str]:
    buffer = switch.model.buffer
    if buffer is None or "BUFFER_PG" not in tables:
        return
    names = {name: n for n, name in enumerate(switch.model.port_names("sonic"), start=1)}
    profiles = tables["BUFFER_PROFILE"]
    reserved = 0
    lossless: dict[str, set[int]] = {}
    for key, row in tables["BUFFER_PG"].items():
        port, _, span = key.partition("|")
        first, _, last = span.partition("-")
        groups = range(int(first), int(last or first) + 1)
        profile = profiles[str(row["profile"])]
        reserved += int(str(profile["size"])) * len(groups)
        if "xoff" in profile:
            lossless.setdefault(port, set()).update(groups)
        if "xoff" not in profile or port not in names or names[port] not in lengths:
            continue
        speed, mtu = (int(str(tables["PORT"][port][field])) for field in ("speed", "mtu"))
        bytes_per_ns = speed / 8000
        cable_ns = 2 * lengths[names[port]] / FIBRE_M_PER_S * 1e9
        small = (mtu + (cable_ns + RESPONSE_NS) * bytes_per_ns) / SMALLEST_BYTES
        least = mtu + small * buffer.cell_bytes * buffer.small_packet_percent / 100
        if int(str(profile["xoff"])) < least:
            yield (
                f"BUFFER_PG {key} has {profile['xoff']} bytes of headroom, packets of 64 bytes on"
                f" {lengths[names[port]]:g} m of cable need {int(least)}"
            )
        if int(str(profile["size"])) < int(str(profile["xoff"])) + int(str(profile["xon"])):
            yield f"BUFFER_PG {key} reserves {profile['size']} bytes, less than xon and xoff"
    for port, row in tables.get("PORT_QOS_MAP", {}).items():
        paused = {int(number) for number in str(row.get("pfc_enable", "")).split(",") if number}
        if bare := sorted(paused ^ lossless.get(port, set())):
            yield f"{port} has PFC or headroom, not both, on priority {bare[0]}"
    for name, pool in tables["BUFFER_POOL"].items():
        kept = reserved if pool["type"] == "ingress" else 0
        size = int(str(pool["size"]))
        if not 0 < size <= buffer.total_bytes - kept:
            yield (
                f"BUFFER_POOL {name} has {size:,} bytes beside {kept:,} that are reserved, the"
                f" ASIC has {buffer.total_bytes:,}"
            )
