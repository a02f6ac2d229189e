"""Prove a site: its rendered files in real software, and every check on the result."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from fireflyer.errors import OperatingError
from fireflyer.model.fabric import Fabric
from fireflyer.prove.artefacts import (
    artefact_findings,
    groups_of,
    planned_files,
    require_groups,
)
from fireflyer.prove.ethernet.frr_reader import frr
from fireflyer.prove.ethernet.part import frr_files, living_fabric
from fireflyer.prove.files.cabling import cabling
from fireflyer.prove.files.exports import exports
from fireflyer.prove.files.ibsim import ibsim
from fireflyer.prove.files.inventory import inventory
from fireflyer.prove.files.opensm import opensm
from fireflyer.prove.files.report import report
from fireflyer.prove.files.slurm import slurm
from fireflyer.prove.files.ztp import ztp
from fireflyer.prove.infiniband.part import infiniband
from fireflyer.prove.netbox import netbox
from fireflyer.prove.part import Part, Progress, Proof
from fireflyer.prove.switches.checks import switch_provers
from fireflyer.verify.finding import Finding

Prover: TypeAlias = Callable[[Fabric, Path, Progress], Part]
"""Given the fabric and its rendered tree."""
Reader: TypeAlias = Callable[[Fabric, Path], tuple[Finding, ...]]
"""Reads a group of files back. A finding's subject is the file's path below the tree, with
`:LINE` where there is one."""

READERS: Mapping[str, Reader] = {
    "cabling": cabling,
    "exports": exports,
    "frr": frr,
    "ibsim": ibsim,
    "inventory": inventory,
    "opensm": opensm,
    "report": report,
    "slurm": slurm,
    "ztp": ztp,
}
"""By group. A switch system is read by its check suite where it has one."""


def provers(fabric: Fabric) -> Mapping[str, Prover]:
    """Return what proves a site of this technology and switch system, by name."""
    if not fabric.is_ethernet:
        return {"infiniband": infiniband, **switch_provers(fabric), "netbox": netbox}
    routed: Mapping[str, Prover] = {"frr": frr_files, "routing": living_fabric}
    return {**switch_provers(fabric), "netbox": netbox, **routed}


def prove(fabric: Fabric, tree: Path, progress: Progress) -> Proof:
    """Load the rendered tree into real software and check what it computed.

    Raises:
        OperatingError: the tree is none, or lacks a group. A program that is missing or refuses
            its input fails its part alone.
    """
    start = time.monotonic()
    tree = tree.resolve()
    planned = planned_files(fabric)
    groups = groups_of(planned)
    require_groups(tree, groups)
    parts = [_files(fabric, tree, groups, progress)]
    for name, prover in provers(fabric).items():
        try:
            part = prover(fabric, tree, progress)
        except OperatingError as error:  # what the others find is worth having
            part = Part(name=name, used="not brought to an end", lines=(), failed=str(error))
        parts.append(part)
    findings = [finding for part in parts for finding in part.findings]
    reported = {finding.subject.partition(":")[0] for finding in findings}
    findings += artefact_findings(tree, planned, reported)
    return Proof(parts=tuple(parts), findings=tuple(findings), seconds=time.monotonic() - start)


def read_back(fabric: Fabric, tree: Path, groups: Sequence[str]) -> tuple[Finding, ...]:
    """Return what everything that reads files of these groups finds, no running fabric."""
    findings: list[Finding] = []
    suites = {fabric.system: switch_provers(fabric), "exports": {"netbox": netbox}}
    for group in groups:
        if group in READERS:
            findings += READERS[group](fabric, tree)
        for suite in suites.get(group, {}).values():
            findings += suite(fabric, tree, lambda _: None).findings
    return tuple(findings)


def _files(fabric: Fabric, tree: Path, groups: Sequence[str], progress: Progress) -> Part:
    """Read every group of files back that has a reader."""
    read = [group for group in groups if group in READERS]
    findings: list[Finding] = []
    for group in read:
        progress(f"files: reading {group} back")
        findings += READERS[group](fabric, tree)
    return Part(
        name="files",
        used="this project's readers of each format",
        lines=(f"groups read back      {len(read):>12}   {', '.join(read)}",),
        data={"groups": read},
        findings=tuple(findings),
    )
