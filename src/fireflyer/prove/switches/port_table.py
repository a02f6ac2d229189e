"""Names, lanes, aliases and indexes of ports against the table that the platform publishes.

The tables are `hardware/ports/*.csv`, one row a port, each with its source and commit. The
hardware models, from which configurations are rendered, state the same by a rule, so a wrong
rule or a platform of another wiring shows here.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from fireflyer.model.fabric import Fabric
from fireflyer.model.hardware import System
from fireflyer.paths import HARDWARE
from fireflyer.prove.switches.result import SwitchCheck
from fireflyer.render.switch_files import file_path
from fireflyer.verify.finding import Finding

Ports: TypeAlias = Mapping[str, Mapping[str, str]]
"""What is said of each port, by its name in the system."""
PORTS: Final = HARDWARE / "ports"
REMEDY = "correct the model in hardware/switches/ or the table in hardware/ports/"
FIELDS: Final = ("lanes", "alias", "index", "subport")
"""Of a row of SONiC's `PORT`, as far as the table has columns for them."""
_EOS_PORT = re.compile(r"^interface (Ethernet\S+)$", re.MULTILINE)


def published(table: str, system: System, folder: Path = PORTS) -> Ports:
    """Return the ports of a platform by their names in a system; none where it has no column.

    Args:
        table: Name of the file.
        system: Whose names are wanted.
        folder: Folder of the tables.
    """
    text = (folder / f"{table}.csv").read_text()
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    found: dict[str, Mapping[str, str]] = {}
    for row in rows:
        if system not in row:
            return {}
        said: dict[str, str] = {}
        if system == "sonic":
            first, count = int(row["first_lane"]), int(row["lanes"])
            said["lanes"] = ",".join(str(lane) for lane in range(first, first + count))
            said |= {field: row[field] for field in FIELDS[1:] if field in row}
        found[row[system]] = said
    return found


def sku_of(table: str, folder: Path = PORTS) -> str:
    """Return the SKU that a table was taken from: the folder of its source."""
    return (folder / f"{table}.csv").read_text().splitlines()[0].partition(",")[0].split("/")[-2]


def _other_sku(switch: str, sku: str, text: str) -> Iterator[Finding]:
    said = re.search(r'"hwsku": "([^"]*)"', text)
    if said is None or said[1] != sku:
        found = said[1] if said is not None else "none"
        message = f"hwsku: the port table is that of {sku}, the file has {found}"
        yield Finding("sonic", file_path("sonic", switch), message, REMEDY)


def _sonic_ports(text: str) -> Ports:
    rows: Mapping[str, Mapping[str, str]] = json.loads(text)["PORT"]
    return {
        name: {field: str(row.get(field, "")) for field in FIELDS} for name, row in rows.items()
    }


def _eos_ports(text: str) -> Ports:
    return {name: {} for name in _EOS_PORT.findall(text)}


READERS: Final[Mapping[System, Callable[[str], Ports]]] = {
    "sonic": _sonic_ports,
    "eos": _eos_ports,
}
"""Of the ports in a configuration, for the systems whose names a platform publishes."""


def check(system: System, fabric: Fabric, tree: Path) -> SwitchCheck:
    """Compare the ports in each switch's configuration with its platform's table."""
    findings: list[Finding] = []
    tables: dict[str, Ports] = {}
    unknown: dict[str, str] = {}
    count = 0
    for switch in fabric.switches:
        model = switch.model
        if model.name not in tables:
            name = model.port_table
            if name is not None and not (PORTS / f"{name}.csv").is_file():
                message = f"port_table is {name}: hardware/ports/{name}.csv is not there"
                findings.append(Finding(system, model.name, message, "add the table"))
                name = None
            tables[model.name] = published(name, system) if name is not None else {}
            if not tables[model.name]:
                unknown[model.name] = f"no published port table for {model.name} with {system}"
        table = tables[model.name]
        file = tree / file_path(system, switch.name)
        if not table or not file.is_file():
            continue
        count += 1
        text = file.read_text()
        findings += _differences(system, switch.name, table, text)
        if system == "sonic" and model.port_table is not None:
            findings += _other_sku(switch.name, sku_of(model.port_table), text)
    notes = tuple(f"{note}: its ports are not compared" for note in unknown.values())
    checker = "the platforms' published port tables"
    return SwitchCheck(checker=checker, files=count, findings=tuple(findings), notes=notes)


def _differences(system: System, switch: str, table: Ports, text: str) -> Iterator[Finding]:
    subject = file_path(system, switch)
    try:
        ports = READERS[system](text)
    except (ValueError, KeyError, AttributeError) as error:
        message = f"has no ports that can be read: {type(error).__name__}: {error}"
        yield Finding(system, subject, message, "render the site again")
        return
    for port, said in ports.items():
        if port not in table:
            yield Finding(system, subject, f"port {port}: the platform has none", REMEDY)
            continue
        for field, wanted in table[port].items():
            if said[field] != wanted:
                message = f"{field} of {port}: the platform has {wanted}, the file {said[field]}"
                yield Finding(system, subject, message, REMEDY)


CHECKS: Final[Mapping[System, Callable[[Fabric, Path], SwitchCheck]]] = {
    system: partial(check, system) for system in READERS
}
