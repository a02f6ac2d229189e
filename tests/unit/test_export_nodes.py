"""What is said of single devices: inside a compute node, and to monitoring."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.conftest import REPO, MakeSite
from tests.sites import ETHERNET

from fireflyer.design import design
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric, Role
from fireflyer.model.hardware import NodeModel
from fireflyer.render.exports import files, nccl
from fireflyer.render.exports.wiring import wiring


@pytest.mark.parametrize("site", ["fire-flyer-2", "fire-flyer-roce"])
def test_nccl_has_the_devices_that_share_a_root_port(site: str) -> None:
    fabric = design(load_site(REPO / "inventory" / site))
    model = next(fabric.nodes_of(Role.COMPUTE)).model
    content = dict(files(fabric))[f"nccl/{model.name}.xml"]
    assert isinstance(content, str)
    found: list[tuple[int, list[str]]] = []
    for cpu in ET.fromstring(content):
        for root in cpu:
            names = [
                device.attrib.get("name") or f"gpu{device.attrib['dev']}"
                for device in root.iter()
                if device.tag in ("gpu", "net")
            ]
            found.append((int(cpu.attrib["numaid"]), names))
    near = [(0, [f"gpu{n}"]) for n in range(4)]
    far = [(1, ["gpu4"]), (1, ["gpu5", "gpu6"]), (1, ["gpu7"]), (1, ["mlx5_0"])]
    assert found == near + far


def test_no_bus_id_looks_like_a_real_one(fire_flyer_2: Fabric) -> None:
    content = dict(files(fire_flyer_2))["nccl/fire-flyer-2-compute.xml"]
    assert isinstance(content, str)
    ids = [item.attrib["busid"] for item in ET.fromstring(content).iter("pci")]
    assert len(ids) == len(set(ids))
    assert {bus_id[:4] for bus_id in ids} == {"ffff", "fffe"}


@pytest.mark.parametrize(
    ("site", "speed"),
    [
        ("fire-flyer-2", "16.0 GT/s PCIe"),
        ("fire-flyer-roce", "16.0 GT/s PCIe"),
        ("next-gen", "32.0 GT/s PCIe"),
    ],
)
def test_every_pcie_link_has_its_speed(site: str, speed: str) -> None:
    fabric = design(load_site(REPO / "inventory" / site))
    model = next(fabric.nodes_of(Role.COMPUTE)).model
    content = "".join(text for _, text in nccl.files(wiring(fabric)) if isinstance(text, str))
    links = list(ET.fromstring(content).iter("pci"))
    assert len(links) >= len(model.gpus) + len(model.nics)
    assert {(pci.attrib["link_speed"], pci.attrib["link_width"]) for pci in links} == {
        (speed, "16")
    }


def test_gpus_need_a_pcie_speed() -> None:
    model = next(design(load_site(REPO / "inventory/fire-flyer-2")).nodes_of(Role.COMPUTE)).model
    with pytest.raises(ValidationError, match="a node with gpus needs pcie_gts"):
        NodeModel.model_validate(model.model_dump() | {"pcie_gts": None})


def test_monitoring_has_every_device_once(fire_flyer_2: Fabric) -> None:
    contents = dict(files(fire_flyer_2))
    seen: list[str] = []
    for name in ("nodes", "switches"):
        for group in json.loads(contents[f"prometheus/{name}.json"]):
            device = group["labels"]["fabric_device"]
            seen.append(device)
            switch, node = fire_flyer_2.switch.get(device), fire_flyer_2.node.get(device)
            known = switch or node
            assert known is not None
            port = {"nodes": 9100, "switches": 161}[name]
            assert group["targets"] == [f"{known.management}:{port}"]
            assert group["labels"]["fabric_rack"] == known.place.rack
    assert sorted(seen) == sorted([*fire_flyer_2.switch, *fire_flyer_2.node])


NODE_EXPORTER_LABELS = {
    *("address", "adminstate", "broadcast", "chip", "chip_name", "collector", "cpu", "device"),
    *("domainname", "duplex", "fstype", "ifalias", "label", "machine", "mode", "mountpoint"),
    *("name", "nodename", "operstate", "port", "release", "rule", "sensor", "state", "sysname"),
    *("time_zone", "type", "version", "zone"),
}
"""Labels of the metrics that node exporter 1.5 and 1.9 have without options."""


@pytest.mark.parametrize(
    ("changes", "port"),
    [
        ({}, 161),
        ({"cluster.switch_management": {"monitoring": "gnmi"}}, 8080),
        ({"cluster.switch_management": {"monitoring": "none"}}, None),
        ({"cluster.fabric.system": "frr"}, 9100),
    ],
)
def test_switches_are_reached_where_they_are_configured_to_answer(
    make_site: MakeSite, changes: dict[str, Any], port: int | None
) -> None:
    fabric = design(load_site(make_site("lab", ETHERNET | changes)))
    groups = json.loads(dict(files(fabric))["prometheus/switches.json"])
    addresses = [f"{switch.management}:{port}" for switch in fabric.switches]
    assert [target for group in groups for target in group["targets"]] == (
        addresses if port else []
    )


def test_no_target_label_hides_a_label_of_a_metric(fire_flyer_2: Fabric) -> None:
    """Prometheus renames a metric's label to exported_X where the target has an X."""
    contents = dict(files(fire_flyer_2))
    expected = set(re.findall(r'(\w+)="', str(contents["prometheus/expected.prom"])))
    assert expected == {"device", "port", "peer", "peer_port"}
    for name in ("nodes", "switches"):
        for group in json.loads(contents[f"prometheus/{name}.json"]):
            assert not set(group["labels"]) & (expected | NODE_EXPORTER_LABELS)


def test_paths_do_not_collide(fire_flyer_2: Fabric) -> None:
    names = [name for name, _ in files(fire_flyer_2)]
    assert len(names) == len(set(names))
    assert not [name for name in names if Path(name).is_absolute()]
