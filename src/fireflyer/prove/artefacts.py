"""Compare a rendered tree with what the intent gives now: stale and edited files."""

from __future__ import annotations

import hashlib
from pathlib import Path

from fireflyer.errors import OperatingError
from fireflyer.model.fabric import Fabric
from fireflyer.render import stream
from fireflyer.render.manifest import manifest, read_manifest
from fireflyer.verify.finding import Finding


def artefact_findings(fabric: Fabric, tree: Path, groups: tuple[str, ...]) -> tuple[Finding, ...]:
    """Return every file of the proved groups that is missing, edited or out of date.

    Raises:
        OperatingError: the folder is no rendered tree, or lacks the proved groups.
    """
    listed = {entry.path for entry in read_manifest(tree)[1]}
    findings = []
    for entry in manifest(stream(fabric, groups)):
        file = tree / entry.path
        if entry.path not in listed or not file.is_file():
            raise OperatingError(f"{file} is not there; render the site again")
        if hashlib.sha256(file.read_bytes()).hexdigest() != entry.sha256:
            message = "differs from what the intent renders: it was edited, or is out of date"
            findings.append(
                Finding("artefact", entry.path, message, "render the site again to replace it")
            )
    return tuple(findings)
