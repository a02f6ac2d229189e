"""The inside of a compute node as NCCL reads it: what shares a root port and a processor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from fireflyer.model.fabric import Fabric, Role
from fireflyer.model.hardware import NodeModel
from fireflyer.prove.files.exports.links import Link
from fireflyer.prove.files.source import read_xml
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Row, Value, fault, row_findings

_BRIDGE, _GPU = "0x060400", "0x030200"
_ADAPTER = {True: "0x020000", False: "0x020700"}
"""PCI classes: bridge, 3D controller; Ethernet and InfiniBand controllers."""


def nccl(fabric: Fabric, links: list[Link], tree: Path) -> Iterator[Finding]:
    """Yield where the file of a model with GPUs and a known CPUID differs."""
    models = {node.model.name: node.model for node in fabric.nodes_of(Role.COMPUTE)}
    for name, model in models.items():
        path = f"exports/nccl/{name}.xml"
        if model.gpus and model.cpus.cpuid is not None:
            yield from read_xml(tree, path, lambda root: _system(path, root, model, fabric))  # noqa: B023 - called at once


def _planned(model: NodeModel, fabric: Fabric) -> dict[str, dict[str, Value]]:
    speed = f"{model.pcie_gts:.1f} GT/s PCIe"
    on_port: dict[int, list[str]] = {}
    devices = [(f"gpu {n}", gpu.numa, gpu.root_port) for n, gpu in enumerate(model.gpus)]
    devices += [(f"net {nic.hca}", nic.numa, nic.root_port) for nic in model.nics]
    for name, _, port in devices:
        on_port.setdefault(port, []).append(name)
    plan: dict[str, dict[str, Value]] = {"system": {"version": "1"}}
    for name, numa, port in devices:
        plan[name] = {
            "numa": str(numa),
            "on one root port": tuple(sorted(on_port[port])),
            "class": _GPU if name.startswith("gpu") else _ADAPTER[fabric.is_ethernet],
            "root port's class": _BRIDGE,
            "link_speed": speed,
            "link_width": "16",
        }
    for n, nic in enumerate(model.nics):
        plan[f"net {nic.hca}"] |= {"dev": str(n), "speed": str(nic.gbps * 1000), "port": "1"}
    return plan


def _system(
    path: str, root: ElementTree.Element, model: NodeModel, fabric: Fabric
) -> Iterator[Finding]:
    rows = [Row(root.tag, dict(root.attrib))]
    buses: list[str] = []
    for cpu in root.findall("cpu"):
        for bridge in cpu.findall("pci"):
            buses.append(str(bridge.get("busid")))
            below = [_name(pci) for pci in bridge.findall("pci")]
            for pci in bridge.findall("pci"):
                buses.append(str(pci.get("busid")))
                held: dict[str, Value] = {
                    "numa": cpu.get("numaid"),
                    "on one root port": tuple(sorted(below)),
                    "class": pci.get("class"),
                    "root port's class": bridge.get("class"),
                    "link_speed": pci.get("link_speed"),
                    "link_width": pci.get("link_width"),
                }
                if (net := pci.find("nic/net")) is not None:
                    held |= {key: net.get(key) for key in ("dev", "speed", "port")}
                rows.append(Row(_name(pci), held))
    yield from row_findings(path, _planned(model, fabric), rows)
    for bus in sorted({bus for bus in buses if buses.count(bus) > 1}):
        yield fault(path, f"bus id {bus} is there twice")
    yield from _alike(path, "cpu", root.findall("cpu"), {"numaid", "affinity"})
    yield from _alike(path, "root port", root.findall("cpu/pci"), {"busid"})
    yield from _processors(path, root, model)


def _name(pci: ElementTree.Element) -> str:
    """Return what a device is: a GPU by its number, an adapter by its name."""
    gpu, net = pci.find("gpu"), pci.find("nic/net")
    if gpu is not None:
        return f"gpu {gpu.get('dev')}"
    return f"net {net.get('name')}" if net is not None else f"device {pci.get('busid')}"


def _alike(
    path: str, what: str, elements: list[ElementTree.Element], own: set[str]
) -> Iterator[Finding]:
    """Yield elements unlike the first: NCCL merges those whose attributes are equal."""
    kept = [{k: v for k, v in e.attrib.items() if k not in own} for e in elements]
    for element, held in zip(elements, kept, strict=True):
        if max(kept.count(other) for other in kept) > kept.count(held) or (
            len(kept) == 2 and kept[0] != kept[1]
        ):
            name = element.get("numaid") or element.get("busid")
            yield fault(path, f"{what} {name} has other attributes than the rest: {held}")


def _processors(path: str, root: ElementTree.Element, model: NodeModel) -> Iterator[Finding]:
    """Yield NUMA nodes whose processors overlap, or that leave some out."""
    cpus = model.cpus
    threads = cpus.sockets * cpus.cores_per_socket * cpus.threads_per_core
    masks = []
    for cpu in root.findall("cpu"):
        try:
            masks.append(int((cpu.get("affinity") or "0").replace(",", ""), 16))
        except ValueError:
            yield fault(path, f"cpu {cpu.get('numaid')}: affinity {cpu.get('affinity')} is no set")
    together = 0
    for mask in masks:
        together |= mask
    total = sum(mask.bit_count() for mask in masks)
    numas = {gpu.numa for gpu in model.gpus} | {nic.numa for nic in model.nics}
    if any(masks) and (
        total != together.bit_count()
        or together >= 1 << threads
        or len({mask.bit_count() for mask in masks}) > 1
        or (len(numas) == cpus.sockets and total != threads)
    ):
        yield fault(path, f"the affinities are not even shares of {threads} processors")
