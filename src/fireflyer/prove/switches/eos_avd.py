"""EOS configurations against Arista's own pyavd, where it is installed.

Each switch is described a second time in AVD's words. AVD's schema checks the description,
AVD prints it, and what it prints must be what was rendered, line for line.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol, cast

from fireflyer.design.switch_config import switch_configs
from fireflyer.model.fabric import Fabric
from fireflyer.prove.switches.eos_structured import structured
from fireflyer.prove.switches.result import SwitchCheck
from fireflyer.render.switch_files import file_path
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import REMEDY, bounded

CHECK = "eos"
COMMENT, END = "!", "end"
BEYOND_AVD = (
    "management api http-commands > vrf default",
    "management api http-commands > vrf default > shutdown",
)
"""What must be there and AVD cannot say: its model of eAPI only opens VRFs."""
INDENT = 3
"""Spaces a level, as EOS prints."""


class _Pyavd(Protocol):
    """What is used of pyavd."""

    __version__: str

    def validate_structured_config(self, structured_config: dict[str, object]) -> Any: ...
    def get_device_config(self, structured_config: dict[str, object]) -> str: ...


def check(fabric: Fabric, tree: Path) -> SwitchCheck:
    """Compare the configurations below `tree/eos` with what pyavd prints."""
    if importlib.util.find_spec("pyavd") is None:
        reason = "pyavd is not there: pip install 'fireflyer[eos]'"
        return SwitchCheck(checker="pyavd", files=0, skipped=reason)
    pyavd = cast(_Pyavd, importlib.import_module("pyavd"))
    findings: list[Finding] = []
    count = 0
    strays = {f"eos/{file.name}" for file in (tree / "eos").glob("*")}
    for config in switch_configs(fabric):
        name = file_path("eos", config.name)
        strays.discard(name)
        described = cast(dict[str, object], structured(config))
        judged = pyavd.validate_structured_config(described).validation_result
        for fault in judged.violations:
            where = ".".join(str(part) for part in fault.path)
            findings.append(Finding(CHECK, name, f"AVD: {where}: {fault.message}", REMEDY))
        file = tree / name
        if not file.is_file():
            findings.append(Finding(CHECK, name, "is not there", "render the site again"))
            continue
        count += 1
        theirs = pyavd.get_device_config(described)
        text = file.read_text(errors="replace")
        findings += bounded(name, differences(name, text, theirs, BEYOND_AVD))
    for name in sorted(strays):
        findings.append(Finding(CHECK, name, "is the file of no switch of the plan", "remove it"))
    return SwitchCheck(checker=f"pyavd {pyavd.__version__}", files=count, findings=tuple(findings))


def differences(
    name: str, rendered: str, printed: str, also: Iterable[str] = ()
) -> Iterator[Finding]:
    """Yield each line that one has and the other has not, in its section; `also` is wanted too."""
    here, there = Counter(lines(rendered)), Counter([*lines(printed), *also])
    for line in (here - there).elements():
        yield Finding(CHECK, name, f"has a line that pyavd has not: {line}", REMEDY)
    for line in (there - here).elements():
        yield Finding(CHECK, name, f"lacks a line that pyavd has: {line}", REMEDY)
    if lost := list(lines(_after_end(rendered))):
        message = f"EOS leaves the configuration at `end`, and {lost[0]} comes after it"
        yield Finding(CHECK, name, message, REMEDY)


def lines(text: str) -> Iterator[str]:
    r"""Yield each command after the sections it stands in.

    >>> list(lines("interface Ethernet1/1\n   shutdown\n!\nend\n"))
    ['interface Ethernet1/1', 'interface Ethernet1/1 > shutdown']
    """
    sections: list[str] = []
    for line in text.splitlines():
        command = line.strip()
        if not command or command == END or command.startswith(COMMENT):
            continue
        depth = (len(line) - len(line.lstrip())) // INDENT
        sections = [*sections[:depth], command]
        yield " > ".join(sections)


def _after_end(text: str) -> str:
    """Return what stands after the first `end`."""
    rows = text.splitlines()
    ends = [number for number, row in enumerate(rows) if row.strip() == END]
    return "\n".join(rows[ends[0] + 1 :]) if ends else ""
