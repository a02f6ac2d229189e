"""Prove a site: its rendered files in real software, and every check on the result."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from fireflyer.errors import OperatingError
from fireflyer.model.fabric import Fabric
from fireflyer.prove.artefacts import artefact_findings
from fireflyer.prove.ethernet.part import frr_files, living_fabric
from fireflyer.prove.infiniband.part import infiniband
from fireflyer.prove.netbox import netbox
from fireflyer.prove.part import Part, Progress, Proof
from fireflyer.prove.switches.checks import switch_provers
from fireflyer.render import GROUPS

Prover: TypeAlias = Callable[[Fabric, Path, Progress], Part]
"""Given the fabric and its rendered tree."""


def provers(fabric: Fabric) -> Mapping[str, Prover]:
    """Return what proves a site of this technology and switch system, by name."""
    if not fabric.is_ethernet:
        return {"infiniband": infiniband, **switch_provers(fabric), "netbox": netbox}
    routed: Mapping[str, Prover] = {"frr": frr_files, "routing": living_fabric}
    return {**switch_provers(fabric), "netbox": netbox, **routed}


def proved_groups(fabric: Fabric) -> tuple[str, ...]:
    """Return the groups of artefacts that `prove` loads."""
    wanted = {"exports", *(("frr",) if fabric.is_ethernet else ("ibsim", "opensm"))}
    if fabric.system is not None:
        wanted.add(fabric.system)
    return tuple(group for group in GROUPS if group in wanted)


def prove(fabric: Fabric, tree: Path, progress: Progress) -> Proof:
    """Load the rendered tree into real software and check what it computed.

    Raises:
        OperatingError: the tree is none. A program that is missing or refuses its input fails
            its part alone.
    """
    start = time.monotonic()
    tree = tree.resolve()
    findings = list(artefact_findings(fabric, tree, proved_groups(fabric)))
    parts = []
    for name, prover in provers(fabric).items():
        try:
            part = prover(fabric, tree, progress)
        except OperatingError as error:  # what the others find is worth having
            part = Part(name=name, used="not brought to an end", lines=(), failed=str(error))
        parts.append(part)
        findings += part.findings
    return Proof(parts=tuple(parts), findings=tuple(findings), seconds=time.monotonic() - start)
