"""What Ansible is given of OpenSM's files against the files themselves, which are proved apart."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from fireflyer.prove.files.marked_yaml import Marked
from fireflyer.verify.rows import Row, Value

_BESIDE = {
    "default": "/etc/default/opensm",
    "opensm@.service.d/planes.conf": "/etc/systemd/system/opensm@.service.d/planes.conf",
}
"""Files that go elsewhere than below /etc/opensm (docs/intent.md, "OpenSM's files")."""


def planned_manager_files(hosts: tuple[str, ...], tree: Path) -> dict[str, dict[str, Value]]:
    """Return a row for each file of each host's folder in the tree."""
    rows: dict[str, dict[str, Value]] = {}
    for host in hosts:
        folder = tree / "opensm" / host
        for file in sorted((*folder.glob("default"), *folder.rglob("*.conf"))):
            path = file.relative_to(folder).as_posix()
            installed = _BESIDE.get(path) or f"/etc/opensm/{path}"
            rows[f"{host}:{installed}"] = _row(file.read_text(errors="replace"))
    return rows


def seen_manager_files(hosts: tuple[str, ...], held: Marked) -> Iterator[Row]:
    """Yield the rows of `fabric_opensm`: those of all managers for each host, and its own."""
    for host in (*hosts, *(held.at("hosts").mapping.keys() - set(hosts))):
        for given in (held.at("shared"), held.at("hosts", host)):
            for file in given.value if isinstance(given.value, list) else ():
                text = str(file.at("content").value)
                yield Row(f"{host}:{file.at('dest').value}", _row(text), file.line)


def _row(text: str) -> dict[str, Value]:
    return {"sha256": hashlib.sha256(text.encode()).hexdigest(), "lines": text.count("\n")}
