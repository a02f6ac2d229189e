"""What starts one OpenSM a plane: Debian's /etc/default/opensm and a drop-in of its unit.

`PORTS` names the instances of `opensm@.service` (Debian's package opensm); a drop-in adds to a
unit, and an empty `ExecStart=` clears the one before (systemd.service(5)).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from fireflyer.prove.files.source import read
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Row, Value, fault, row_findings

_UNIT: dict[str, dict[str, Value]] = {
    "[Service] CacheDirectory": {"value": ("opensm/%i",)},
    "[Service] LogsDirectory": {"value": ("opensm/%i",)},
    "[Service] Environment": {
        "value": ("OSM_CACHE_DIR=/var/cache/opensm/%i", "OSM_TMP_DIR=/var/log/opensm/%i")
    },
    "[Service] ExecStart": {"value": ()},
    "[Service] ExecStart after the unit's is cleared": {
        "value": ("/usr/sbin/opensm", "--config", "/etc/opensm/%i/opensm.conf")
    },
}


def instance_findings(tree: Path, folder: str, planes: list[str]) -> Iterator[Finding]:
    """Yield where the files of a host that start an OpenSM for each plane differ."""
    default, unit = f"{folder}/default", f"{folder}/opensm@.service.d/planes.conf"
    yield from read(tree, default, lambda text: _default(default, text, planes))
    yield from read(tree, unit, lambda text: _unit(unit, text))


def _default(path: str, text: str, planes: list[str]) -> Iterator[Finding]:
    rows = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            yield fault(path, f"{line} is no assignment: {error}", number)
            continue
        for word in words:
            name, _, value = word.partition("=")
            rows.append(Row(name, {"planes": tuple(sorted(value.split()))}, number))
    yield from row_findings(path, {"PORTS": {"planes": tuple(sorted(planes))}}, rows)


def _unit(path: str, text: str) -> Iterator[Finding]:
    rows, section, cleared = [], "", False
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if not line or line.startswith(("#", ";")):
            continue
        if line.startswith("["):
            section = line
            continue
        name, equals, value = line.partition("=")
        if not equals:
            yield fault(path, f"{line} is no directive", number)
            continue
        key = f"{section} {name.strip()}"
        key += " after the unit's is cleared" if cleared and name.strip() == "ExecStart" else ""
        cleared = cleared or (name.strip() == "ExecStart" and not value.strip())
        rows.append(Row(key, {"value": tuple(value.split())}, number))
    yield from row_findings(path, _UNIT, rows)
