"""ECN thresholds are the same on every switch of a site, or DCQCN reacts unevenly.

All links of a site have one speed, and the thresholds follow from it. Only the files are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from fireflyer.model.fabric import Fabric
from fireflyer.model.hardware import System
from fireflyer.prove.switches.result import SwitchCheck
from fireflyer.render.switch_files import file_path
from fireflyer.verify.finding import Finding

THRESHOLDS: Final[Mapping[System, re.Pattern[str]]] = {
    "sonic": re.compile(r'"green_(min)_threshold": "(\d+)"|"green_(max)_threshold": "(\d+)"'),
    "nvue": re.compile(r"\b(min)-threshold: (\d+)|\b(max)-threshold: (\d+)"),
    "eos": re.compile(
        r"random-detect ecn (min)imum-threshold (\d+) bytes|(max)imum-threshold (\d+) bytes"
    ),
}


def check(system: System, fabric: Fabric, tree: Path) -> SwitchCheck:
    """Compare the thresholds in all files below the folder of a system."""
    names: dict[str, list[str]] = {}
    count = 0
    for switch in fabric.switches:
        file = tree / file_path(system, switch.name)
        if not file.is_file():
            continue
        count += 1
        pairs = {
            f"{match[1] or match[3]} {int(match[2] or match[4]):,}"
            for match in THRESHOLDS[system].finditer(file.read_text())
        }
        names.setdefault(", ".join(sorted(pairs, reverse=True)) or "none", []).append(switch.name)
    most = max(names, key=lambda said: len(names[said]), default="")
    findings = [
        Finding(
            system,
            file_path(system, switch),
            f"ECN thresholds in bytes are {said}, {len(names[most])} other switches have {most}",
            "render the site again: the thresholds follow from the speed of its links",
        )
        for said, switches in names.items()
        for switch in switches
        if said != most
    ]
    checker = "a comparison of all switches' ECN thresholds"
    return SwitchCheck(checker=checker, files=count, findings=tuple(findings))


CHECKS: Final[Mapping[System, Callable[[Fabric, Path], SwitchCheck]]] = {
    system: partial(check, system) for system in THRESHOLDS
}
