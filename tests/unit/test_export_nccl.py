"""NCCL_TOPO_FILE, by NCCL's own rules: one process for each GPU sees the node as it is."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET

import pytest
from pydantic import ValidationError
from tests import nccl_rules
from tests.conftest import REPO

from fireflyer.design import design
from fireflyer.load import load_site
from fireflyer.load.catalogue import load_catalogue
from fireflyer.model.hardware import Gpu, Nic, NodeModel
from fireflyer.render.exports import nccl
from fireflyer.render.exports.wiring import wiring

MODELS = [model for model in load_catalogue(REPO / "hardware").nodes.values() if model.gpus]
"""Of every shipped node with GPUs."""
REAL = {
    "vendor": "0x1022",
    "device": "0x1483",
    "subsystem_vendor": "0x0",
    "subsystem_device": "0x0",
}
LINK = {"link_speed": "16.0 GT/s PCIe", "link_width": "16"}


def exported(model: NodeModel) -> str:
    assert model.cpus.cpuid is not None, f"hardware/nodes/{model.name}.yml needs cpus.cpuid"
    return nccl.topology(model, model.cpus.cpuid, ethernet=False)


def with_bus_ids(model: NodeModel) -> NodeModel:
    """Return the model with the addresses that a node might have, GPUs ascending."""
    data = model.model_dump()
    for number, gpu in enumerate(data["gpus"]):
        gpu["bus_id"] = f"0000:{0x07 + 0x11 * number:02x}:00.0"
    for number, nic in enumerate(data["nics"]):
        nic["bus_id"] = f"0000:{0x0C + 0x11 * number:02x}:00.0"
    return NodeModel.model_validate(data)


def in_sysfs(text: str, *prefixes: str) -> nccl_rules.Sysfs:
    """Return the file's PCI devices whose bus ids begin so, as Linux would show them."""
    return {
        pci.attrib["busid"]: {"class": pci.attrib["class"], **REAL, **LINK}
        for pci in ET.fromstring(text).iter("pci")
        if pci.attrib["busid"].startswith(prefixes)
    }


def cases(model: NodeModel) -> list[tuple[str, nccl_rules.Sysfs]]:
    """Return the file with placeholders, with devices' real ids, and with real root ports too."""
    placeholders, real = exported(model), exported(with_bus_ids(model))
    edited = re.sub("ffff:ff:(..)", r"0000:\1:01", real).replace(":01.0.0", ":01.1")
    return [
        (placeholders, {}),
        (real, in_sysfs(real, "0000:")),
        (edited, in_sysfs(edited, "0000:")),
    ]


def gpu_ids(text: str) -> list[str]:
    found = {
        int(pci[0].attrib["dev"]): pci.attrib["busid"]
        for pci in ET.fromstring(text).iter("pci")
        if pci[0].tag == "gpu"
    }
    return [found[index] for index in sorted(found)]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
@pytest.mark.parametrize("case", range(3), ids=["placeholders", "devices", "root ports too"])
def test_a_process_for_each_gpu_sees_the_paths_of_the_model(model: NodeModel, case: int) -> None:
    text, node = cases(model)[case]
    graph = nccl_rules.seen(text, gpu_ids(text), node)
    devices: tuple[Gpu | Nic, ...] = (*model.gpus, *model.nics)
    assert len(graph.cpus) == len({device.numa for device in devices})
    for rank, gpu in enumerate(model.gpus):
        for nic in model.nics:
            near = "PIX" if gpu.root_port == nic.root_port else "PHB"
            expected = near if gpu.numa == nic.numa else "SYS"
            assert graph.path_type(rank, nic.hca) == expected, (rank, nic.hca)


def model_of(name: str) -> NodeModel:
    (model,) = (model for model in MODELS if model.name == name)
    return model


@pytest.mark.parametrize(
    ("name", "cpus", "rest"), [("fire-flyer-2-compute", 3, "SYS"), ("next-gen-compute", 4, "PIX")]
)
@pytest.mark.parametrize("left_out", ["affinity", "familyid"])
def test_the_rules_find_an_attribute_that_is_left_out(
    name: str, cpus: int, rest: str, left_out: str
) -> None:
    """Without it NCCL sees more than two processors, and GPUs 4 to 7 on another than their nic."""
    model = model_of(name)
    text = re.sub(rf'( <cpu.*) {left_out}="[^"]*"', r"\1", exported(model))
    graph = nccl_rules.seen(text, gpu_ids(text), {})
    assert len(graph.cpus) == cpus
    own = [nic.hca for nic in model.nics] * (8 // len(model.nics))
    types = [graph.path_type(rank, net) for rank, net in enumerate(own)]
    assert types == [rest] * 4 + ["SYS"] * 4


def test_a_real_root_port_without_its_maker_hides_adapters() -> None:
    text, node = cases(model_of("next-gen-compute"))[2]
    text = re.sub(' (subsystem_)?(vendor|device)="0x0"', "", text)
    graph = nccl_rules.seen(text, gpu_ids(text), node)
    assert {graph.path_type(rank, f"mlx5_{rank}") for rank in range(1, 8)} == {"PHB"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ["00000000,ffffffff", "ffffffff,00000000"]),
        (
            {"threads_per_core": 2},
            ["00000000,ffffffff,00000000,ffffffff", "ffffffff,00000000,ffffffff,00000000"],
        ),
        ({"numa_nodes": 4}, ["00000000,0000ffff", "00000000,ffff0000"]),
    ],
)
def test_affinity_is_the_set_that_linux_prints(
    changes: dict[str, int], expected: list[str]
) -> None:
    model = model_of("fire-flyer-2-compute")
    cpus = model.cpus.model_copy(update=changes)
    assert [nccl.cpumap(cpus, numa) for numa in (0, 1)] == expected


def problem(**changes: object) -> str:
    model = model_of("fire-flyer-2-compute")
    with pytest.raises(ValidationError) as caught:
        NodeModel.model_validate_json(json.dumps(with_bus_ids(model).model_dump() | changes))
    return str(caught.value)


def test_wrong_bus_ids_and_processors_are_refused() -> None:
    model = model_of("fire-flyer-2-compute")
    data = with_bus_ids(model).model_dump()
    gpus = data["gpus"]
    assert "set for some" in problem(gpus=[gpus[0] | {"bus_id": None}, *gpus[1:]])
    assert "same bus_id" in problem(nics=[data["nics"][0] | {"bus_id": gpus[0]["bus_id"]}])
    assert "do not ascend" in problem(gpus=[gpus[1], gpus[0], *gpus[2:]])
    assert "not below cpus.numa_nodes" in problem(cpus=data["cpus"] | {"numa_nodes": 1})
    assert "does not divide" in problem(cpus=data["cpus"] | {"numa_nodes": 7})
    assert "bus_id" in problem(gpus=[gpus[0] | {"bus_id": "07:00.0"}, *gpus[1:]])


def test_nodes_without_gpus_have_no_file() -> None:
    fabric = design(load_site(REPO / "inventory" / "lab"))
    assert list(nccl.files(wiring(fabric))) == []
