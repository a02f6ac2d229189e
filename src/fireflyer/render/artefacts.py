"""Every artefact of a fabric, by path below the output folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fireflyer.model.fabric import Fabric
from fireflyer.render import cabling, hosts, ibsim, mlnxos, opensm, topology_conf

_PRINTERS: Mapping[str, Callable[[Fabric], Mapping[str, str]]] = {
    "cabling": cabling.files,
    "ibsim": ibsim.files,
    "inventory": hosts.files,
    "mlnxos": mlnxos.files,
    "opensm": opensm.files,
    "slurm": topology_conf.files,
}

GROUPS = tuple(_PRINTERS)
"""Top-level folders of the output; `render --only` takes one of them."""


def artefacts(fabric: Fabric, groups: tuple[str, ...] = GROUPS) -> dict[str, str]:
    """Return the text of every file of the groups, in order of path."""
    files: dict[str, str] = {}
    for group in groups:
        for name, text in _PRINTERS[group](fabric).items():
            files[f"{group}/{name}"] = text
    return dict(sorted(files.items()))
