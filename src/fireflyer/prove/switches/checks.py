"""Every check there is for the system that a site's switches run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from fireflyer.model.fabric import Fabric
from fireflyer.model.hardware import System
from fireflyer.prove.part import Part, Progress
from fireflyer.prove.switches import (
    eos_avd,
    marking,
    mlnxos_shape,
    nvue_shape,
    port_table,
    sonic_buffers,
    sonic_shape,
    sonic_yang,
)
from fireflyer.prove.switches.result import SwitchCheck

Check: TypeAlias = Callable[[Fabric, Path], SwitchCheck]

CHECKS: Mapping[System, Mapping[str, Check]] = {
    "sonic": {
        "sonic-models": sonic_yang.check,
        "sonic": sonic_shape.check,
        "sonic-ports": port_table.CHECKS["sonic"],
        "sonic-buffers": sonic_buffers.check,
        "sonic-marking": marking.CHECKS["sonic"],
    },
    "nvue": {"nvue": nvue_shape.check, "nvue-marking": marking.CHECKS["nvue"]},
    "eos": {
        "eos": eos_avd.check,
        "eos-ports": port_table.CHECKS["eos"],
        "eos-marking": marking.CHECKS["eos"],
    },
    "mlnxos": {"mlnxos": mlnxos_shape.check},
}
"""By system, and by the name of the part of a proof."""


def switch_provers(fabric: Fabric) -> Mapping[str, Callable[[Fabric, Path, Progress], Part]]:
    """Return the parts of a proof that check switch configurations."""
    checks = CHECKS.get(fabric.system, {}) if fabric.system is not None else {}
    return {name: _prover(name, check) for name, check in checks.items()}


def _prover(name: str, check: Check) -> Callable[[Fabric, Path, Progress], Part]:
    def prove(fabric: Fabric, tree: Path, progress: Progress) -> Part:
        progress(f"{name}: {len(fabric.switches)} switch configurations")
        return _part(name, check(fabric, tree))

    return prove


def _part(name: str, done: SwitchCheck) -> Part:
    counted = () if done.skipped else (f"configurations read   {done.files:>12,}",)
    return Part(
        name=name,
        used=done.checker,
        lines=(*counted, *(f"note: {note}" for note in done.notes)),
        data={"files": done.files, "notes": list(done.notes)},
        findings=done.findings,
        skipped=done.skipped,
    )
