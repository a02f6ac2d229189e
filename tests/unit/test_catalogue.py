"""Every hardware model is whole, possible, and named after its file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fireflyer.errors import IntentError
from fireflyer.load.catalogue import load_catalogue
from fireflyer.model.hardware import Gpu, Nic, System
from fireflyer.paths import HARDWARE
from fireflyer.prove.switches.port_table import published

CATALOGUE = load_catalogue()


@pytest.mark.parametrize("name", CATALOGUE.switches)
def test_switch(name: str) -> None:
    model = CATALOGUE.switches[name]
    names = [model.port(number) for number in range(1, model.ports + 1)]
    assert len(set(names)) == model.ports
    assert (model.technology, model.port_gbps) in CATALOGUE.cables
    assert model.power_w < 5000


@pytest.mark.parametrize(
    "name", [name for name, model in CATALOGUE.switches.items() if model.port_table]
)
@pytest.mark.parametrize("system", ["sonic", "eos"])
def test_ports_are_those_that_the_platform_publishes(name: str, system: System) -> None:
    model = CATALOGUE.switches[name]
    assert model.port_table is not None
    table = published(model.port_table, system)
    if system not in model.interfaces or not table:
        return
    names = model.port_names(system)
    assert set(names) <= set(table)
    if name != "lab-8-roce":  # eight of 32
        service = set(table) - set(names)
        assert len(service) == len(table) - model.ports <= 2
    for port, said in zip(names, model.sonic_ports, strict=False):
        model_says = {
            "lanes": ",".join(str(lane) for lane in said.lanes),
            "alias": said.alias,
            "index": str(said.index),
            "subport": str(said.subport),
        }
        assert table[port] == {field: model_says[field] for field in table[port]}
        assert len(table[port]) >= 3


def test_a_cage_of_the_sn4600_has_eight_lanes() -> None:
    """SONiC's platform.json of x86_64-mlnx_msn4600-r0: Ethernet4 and Ethernet252."""
    ports = CATALOGUE.switches["sn4600"].sonic_ports
    assert [list(ports[n].lanes) for n in (1, 2, 63)] == [
        [8, 9, 10, 11],
        [16, 17, 18, 19],
        [504, 505, 506, 507],
    ]


@pytest.mark.parametrize("name", CATALOGUE.nodes)
def test_node(name: str) -> None:
    model = CATALOGUE.nodes[name]
    assert len({nic.hca for nic in model.nics}) == len(model.nics)
    assert len({nic.name for nic in model.nics}) == len(model.nics)
    assert {nic.gbps for nic in model.nics} <= {gbps for _, gbps in CATALOGUE.cables}
    devices: list[Nic | Gpu] = [*model.nics, *model.gpus]
    numa = range(2 * model.cpus.sockets)
    assert all(device.numa in numa for device in devices)
    of_port: dict[int, int] = {}
    for device in devices:
        assert of_port.setdefault(device.root_port, device.numa) == device.numa
    assert bool(model.nvme_drives) == bool(model.nvme_drive_tb)


@pytest.mark.parametrize("key", CATALOGUE.cables, ids=str)
def test_cable_family(key: tuple[str, int]) -> None:
    family = CATALOGUE.cables[key]
    assert family.name == f"{family.technology}-{family.gbps}g"
    for offer in family.offers:
        assert list(offer.lengths_m) == sorted(set(offer.lengths_m))
        assert offer.lengths_m[-1] == offer.reach_m
    copper = [offer.reach_m for offer in family.offers if offer.medium.startswith("dac")]
    assert max(copper) <= 3.0  # what passive copper carries at 50 and 100 Gb/s a lane


def test_the_fire_flyer_node_is_the_papers() -> None:
    """Figure 4: GPU5 and GPU6 share a root port, the adapter shares with nobody."""
    node = CATALOGUE.nodes["fire-flyer-2-compute"]
    gpu = [gpu.root_port for gpu in node.gpus]
    assert len(gpu) == 8
    assert [number for number in range(8) if gpu.count(gpu[number]) > 1] == [5, 6]
    assert node.nics[0].root_port not in gpu
    assert node.nics[0].numa == node.gpus[4].numa


def test_a_model_in_the_wrong_file_is_refused(tmp_path: Path) -> None:
    shutil.copytree(HARDWARE, tmp_path, dirs_exist_ok=True)
    text = (HARDWARE / "cables" / "infiniband-200g.yml").read_text()
    (tmp_path / "cables" / "other.yml").write_text(
        text.replace("name: infiniband-200g", "name: hdr").replace("gbps: 200", "gbps: 100")
    )
    with pytest.raises(IntentError, match=r"name is hdr: the file is named other\.yml"):
        load_catalogue(tmp_path)


def test_two_families_for_one_speed_are_refused(tmp_path: Path) -> None:
    shutil.copytree(HARDWARE, tmp_path, dirs_exist_ok=True)
    text = (HARDWARE / "cables" / "infiniband-200g.yml").read_text()
    (tmp_path / "cables" / "hdr.yml").write_text(text.replace("infiniband-200g", "hdr"))
    with pytest.raises(IntentError, match="for that speed of infiniband too"):
        load_catalogue(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("medium: dac\n", "medium: dac-splitter\n", "two plugs with different numbers of links"),
        ("medium: dac\n", "medium: fibre\n", "is a transceiver and needs its part"),
    ],
)
def test_an_offer_whose_plugs_do_not_fit_its_medium_is_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    shutil.copytree(HARDWARE, tmp_path, dirs_exist_ok=True)
    file = tmp_path / "cables" / "infiniband-200g.yml"
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(IntentError, match=message):
        load_catalogue(tmp_path)


def test_an_empty_catalogue_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(IntentError, match=r"switches:1: folder: holds no model"):
        load_catalogue(tmp_path)
