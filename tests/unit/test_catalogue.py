"""Every hardware model is whole, possible, and named after its file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fireflyer.errors import IntentError
from fireflyer.load.catalogue import load_catalogue
from fireflyer.model.hardware import Gpu, Nic
from fireflyer.paths import HARDWARE

CATALOGUE = load_catalogue()


@pytest.mark.parametrize("name", CATALOGUE.switches)
def test_switch(name: str) -> None:
    model = CATALOGUE.switches[name]
    names = [model.port(number) for number in range(1, model.ports + 1)]
    assert len(set(names)) == model.ports
    assert model.port_gbps in CATALOGUE.cables
    assert model.power_w < 5000


@pytest.mark.parametrize("name", CATALOGUE.nodes)
def test_node(name: str) -> None:
    model = CATALOGUE.nodes[name]
    assert len({nic.hca for nic in model.nics}) == len(model.nics)
    assert len({nic.name for nic in model.nics}) == len(model.nics)
    assert all(nic.gbps in CATALOGUE.cables for nic in model.nics)
    devices: list[Nic | Gpu] = [*model.nics, *model.gpus]
    numa = range(2 * model.cpus.sockets)
    assert all(device.numa in numa for device in devices)
    of_port: dict[int, int] = {}
    for device in devices:
        assert of_port.setdefault(device.root_port, device.numa) == device.numa
    assert bool(model.nvme_drives) == bool(model.nvme_drive_tb)


@pytest.mark.parametrize("gbps", CATALOGUE.cables)
def test_cable_family(gbps: int) -> None:
    family = CATALOGUE.cables[gbps]
    reach = 0.0
    for offer in family.offers:
        assert list(offer.lengths_m) == sorted(offer.lengths_m)
        assert offer.lengths_m[-1] == offer.maximum_m > reach
        reach = offer.maximum_m


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
    (tmp_path / "cables" / "other.yml").write_text(
        "name: hdr\ngbps: 200\nsource: none\n"
        "offers: [{medium: dac, maximum_m: 2.0, lengths_m: [2.0], power_w: 0.1}]\n"
    )
    with pytest.raises(IntentError, match=r"name is hdr: the file is named other\.yml"):
        load_catalogue(tmp_path)


def test_an_empty_catalogue_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(IntentError, match=r"switches:1: folder: holds no model"):
        load_catalogue(tmp_path)
