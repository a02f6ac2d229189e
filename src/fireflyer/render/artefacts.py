"""Every artefact of a fabric, by path below the output folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from fireflyer.model.fabric import Fabric
from fireflyer.render import (
    cabling,
    eos,
    frr,
    hosts,
    ibsim,
    mlnxos,
    nvue,
    opensm,
    sonic,
    topology_conf,
)

Content: TypeAlias = str | bytes
Files: TypeAlias = Mapping[str, str] | Iterable[tuple[str, Content]]
"""What a printer gives: contents by name, or pairs of them one after the other."""

_PRINTERS: Mapping[str, Callable[[Fabric], Files]] = {
    "cabling": cabling.files,
    "eos": eos.files,
    "frr": frr.files,
    "ibsim": ibsim.files,
    "inventory": hosts.files,
    "mlnxos": mlnxos.files,
    "nvue": nvue.files,
    "opensm": opensm.files,
    "slurm": topology_conf.files,
    "sonic": sonic.files,
}

GROUPS = tuple(_PRINTERS)
"""Top-level folders of the output; `render --only` takes one of them."""


def stream(fabric: Fabric, groups: tuple[str, ...] = GROUPS) -> Iterator[tuple[str, Content]]:
    """Yield the path and content of every file of the groups, group by group.

    One at a time: the artefacts of a large site together need more memory than a machine
    should give them.
    """
    for group in groups:
        files = _PRINTERS[group](fabric)
        for name, content in files.items() if isinstance(files, Mapping) else files:
            yield f"{group}/{name}", content


def artefacts(fabric: Fabric, groups: tuple[str, ...] = GROUPS) -> dict[str, str]:
    """Return the text files of the groups in order of path; workbooks are in `stream` alone."""
    return dict(
        sorted(
            (path, content) for path, content in stream(fabric, groups) if isinstance(content, str)
        )
    )
