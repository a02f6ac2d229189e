"""Every check there is for the system that a site's switches run."""

from __future__ import annotations

from pathlib import Path

from fireflyer.model.fabric import Fabric
from fireflyer.prove.switches import eos_avd, mlnxos_shape, nvue_shape, sonic_shape, sonic_yang
from fireflyer.prove.switches.result import SwitchCheck


def switch_checks(
    fabric: Fabric, tree: Path, sonic_models: Path | None = None
) -> tuple[SwitchCheck, ...]:
    """Check the switch configurations of a rendered tree.

    Args:
        fabric: The fabric the tree was rendered from.
        tree: A rendered tree with the group of the fabric's system.
        sonic_models: Folder of SONiC's YANG models; see `sonic_yang.check`.

    Raises:
        OperatingError: a checker is there and cannot do its work.
    """
    if fabric.system == "sonic":
        return sonic_yang.check(fabric, tree, sonic_models), sonic_shape.check(fabric, tree)
    if fabric.system == "nvue":
        return (nvue_shape.check(fabric, tree),)
    if fabric.system == "eos":
        return (eos_avd.check(fabric, tree),)
    if fabric.system == "mlnxos":
        return (mlnxos_shape.check(fabric, tree),)
    return ()
