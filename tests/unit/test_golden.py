"""The lab's artefacts, printed in full: what an operator would install."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fireflyer.model.fabric import Fabric
from fireflyer.render import artefacts

FILES = (
    "cabling/cables.csv",
    "ibsim/fabric.net",
    "inventory/hosts.yml",
    "mlnxos/a-leaf01.cfg",
    "mlnxos/interzone01.cfg",
    "opensm/mg01/guid-routing-order.conf",
    "opensm/mg01/opensm.conf",
    "opensm/mg01/partitions.conf",
    "opensm/mg01/qos-policy.conf",
    "opensm/mg01/root-guids.conf",
    "slurm/topology.conf",
)


@pytest.mark.parametrize("path", FILES)
def test_lab(path: str, lab: Fabric, golden: Callable[[str, str], None]) -> None:
    golden(f"lab/{path}", artefacts(lab)[path])


def test_management_plane_of_a_switch(fire_flyer_2: Fabric) -> None:
    text = artefacts(fire_flyer_2)["mlnxos/b-spine20.cfg"]
    for line in (
        "ip default-gateway 10.10.0.1",
        "ntp server 10.10.0.2",
        "ntp server 10.10.0.3",
        "logging 10.10.0.4",
        'interface ib 1/40 description "b-leaf40 ib 1/40"',
    ):
        assert line in text.splitlines()
