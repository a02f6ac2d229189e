"""`prove` reads Kubernetes' files, device lists and the index back, at every kind of site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.conftest import make_site_in
from tests.sites import ETHERNET, ONE_ZONE, PLANES, THREE_LAYERS

from fireflyer.design import design
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric
from fireflyer.prove.files.exports.consumers import exports
from fireflyer.render.artefacts import stream

GATEWAY = "cluster.addresses.gateway"
MONITORING = "cluster.switch_management"
SHAPES: dict[str, dict[str, Any]] = {
    "lab": {},
    "one zone": ONE_ZONE,
    "three layers": THREE_LAYERS,
    "planes": PLANES,
    "gnmi": ETHERNET | {"cluster.fabric.system": "nvue", MONITORING: {"monitoring": "gnmi"}},
    "frr": ETHERNET | {"cluster.fabric.system": "frr"},
    "no gateway": {key: value for key, value in ETHERNET.items() if key != GATEWAY}
    | {"cluster.fabric.system": "eos", MONITORING: {"monitoring": "none"}},
}
EDITS = [
    ("kubernetes/nodes.yaml", "tier-0: a-leaf01", "tier-0: a-leaf02"),
    ("kubernetes/nodes.yaml", "zone: a\n", "zone: b\n"),
    ("kubernetes/nodes.yaml", "block:zone-a", "block:zone-b"),
    ("kubernetes/topograph-model.yaml", "- switch: a-leaf01", "- switch: a-leaf02"),
    ("kubernetes/slinky-topology.yaml", "nodes: a-cn0001", "nodes: a-cn0002"),
    ("kubernetes/slinky-topology.yaml", "slurm-topology", "slurm"),
    ("librenms/devices.json", "161", "162"),
    ("librenms/devices.json", "a-leaf01", "a-leaf09"),
    ("oxidized/router.db", "a-leaf01", "a-leaf02"),
    ("oxidized/router.db", "linuxgeneric", "eos"),
    ("oxidized/source.yml", "ip: 1", "ip: 2"),
    ("README.md", "`devices.json`", "`device.json`"),
    ("README.md", "| `kea/`", "| `key/`"),
    ("prometheus/switches.json", ":161", ":160"),
]


def rendered(folder: Path, changes: dict[str, Any]) -> tuple[Fabric, Path]:
    fabric = design(load_site(make_site_in(folder, "lab", changes)))
    tree = folder / "out"
    for path, content in stream(fabric, ("exports", "slurm")):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        data = content if isinstance(content, bytes) else content.encode()
        (tree / path).write_bytes(data)
    return fabric, tree


@pytest.mark.parametrize("name", SHAPES)
def test_a_rendered_site_has_no_findings(tmp_path: Path, name: str) -> None:
    fabric, tree = rendered(tmp_path, SHAPES[name])
    assert exports(fabric, tree) == ()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> tuple[Fabric, Path]:
    return rendered(tmp_path_factory.mktemp("site"), ETHERNET)


@pytest.mark.parametrize(("path", "old", "new"), EDITS)
def test_an_edit_is_found(site: tuple[Fabric, Path], path: str, old: str, new: str) -> None:
    fabric, tree = site
    file = tree / "exports" / path
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    try:
        assert any(path in str(finding) for finding in exports(fabric, tree))
    finally:
        file.write_text(text)
