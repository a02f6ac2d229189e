"""The InfiniBand part of a proof."""

from __future__ import annotations

from pathlib import Path

from fireflyer.model.fabric import Fabric
from fireflyer.prove.infiniband.prove import prove_infiniband
from fireflyer.prove.infiniband.report import as_json, as_lines
from fireflyer.prove.part import Part, Progress


def infiniband(fabric: Fabric, tree: Path, progress: Progress) -> Part:
    """Prove the fabric in ibsim and OpenSM.

    Raises:
        OperatingError: a program or a file is missing, or a program refuses its input.
    """
    found = prove_infiniband(fabric, tree, progress)
    return Part(
        name="infiniband",
        used="OpenSM on ibsim, ibnetdiscover, ibdmchk, saquery",
        lines=as_lines(found),
        data=as_json(found),
        findings=found.findings,
    )
