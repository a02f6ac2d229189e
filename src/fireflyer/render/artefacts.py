"""Every artefact of a fabric, by path below the output folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import TypeAlias

from fireflyer.model.fabric import Fabric
from fireflyer.render.write import Batch

Content: TypeAlias = str | bytes
Files: TypeAlias = Mapping[str, str] | Iterable[tuple[str, Content]]
"""What a printer gives: contents by name, or pairs of them one after the other."""

_MODULES: Mapping[str, str] = {
    "cabling": "cabling",
    "eos": "eos",
    "exports": "exports",
    "frr": "frr",
    "ibsim": "ibsim",
    "inventory": "hosts",
    "mlnxos": "mlnxos",
    "nvue": "nvue",
    "opensm": "opensm",
    "report": "report",
    "slurm": "topology_conf",
    "sonic": "sonic",
    "ztp": "ztp",
}
"""The module of `fireflyer.render` that prints each group, by its function `files`."""

GROUPS = tuple(_MODULES)
"""Top-level folders of the output; `render --only` takes any of them."""


def printer(group: str) -> Callable[[Fabric], Files]:
    """Return what prints a group; its module is read when it is wanted, and not before."""
    found: Callable[[Fabric], Files] = import_module(f"fireflyer.render.{_MODULES[group]}").files
    return found


def stream(fabric: Fabric, groups: tuple[str, ...] = GROUPS) -> Iterator[tuple[str, Content]]:
    """Yield the path and content of every file of the groups, group by group.

    One at a time: the artefacts of a large site together need more memory than a machine
    should give them.
    """
    for group in groups:
        files = printer(group)(fabric)
        for name, content in files.items() if isinstance(files, Mapping) else files:
            yield f"{group}/{name}", content


SWITCH_GROUPS = frozenset({"eos", "exports", "frr", "mlnxos", "nvue", "sonic"})
"""Groups that print what `switch_configs` computes once for all of them."""
SLOW_GROUPS = frozenset({"cabling", "inventory", "report"})
LARGE_CABLES = 2_000
"""A site with so many cables is rendered by two processes."""


def batches(fabric: Fabric, groups: tuple[str, ...] = GROUPS) -> list[Batch]:
    """Return what renders the groups, in parts that share no work."""
    of_switches = tuple(group for group in groups if group in SWITCH_GROUPS)
    rest = [(group,) for group in groups if group not in SWITCH_GROUPS]
    rest.sort(key=lambda part: part[0] not in SLOW_GROUPS)  # so that the last to end is short
    return [partial(stream, fabric, part) for part in (of_switches, *rest) if part]


def workers(fabric: Fabric) -> int:
    """Return how many processes are worth their start; each takes memory of its own."""
    return 2 if len(fabric.cables) > LARGE_CABLES else 1


def artefacts(fabric: Fabric, groups: tuple[str, ...] = GROUPS) -> dict[str, str]:
    """Return the text files of the groups in order of path; workbooks are in `stream` alone."""
    return dict(
        sorted(
            (path, content) for path, content in stream(fabric, groups) if isinstance(content, str)
        )
    )
