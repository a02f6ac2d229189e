"""The inside of a compute node as NCCL reads it (NCCL_TOPO_FILE).

It says which devices share a root port, which no program can see in a virtual machine, and which
a container may hide. Bus ids here are placeholders in PCI domain `fffe`: a node's own come from
its `lspci`. Widths and speeds are said, because NCCL finds no device under a placeholder and
would take the third generation of PCIe. What is left out, NCCL reads from the node.
"""

from __future__ import annotations

from dataclasses import dataclass

from fireflyer.model.fabric import Role
from fireflyer.model.hardware import Gpu, Nic, NodeModel
from fireflyer.render.exports.wiring import Files, Wiring
from fireflyer.render.template import render

_MBPS_PER_GBPS = 1000


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU, or an adapter where it has an HCA."""

    bus_id: str
    index: int
    hca: str
    mbps: int


@dataclass(frozen=True, slots=True)
class RootPort:
    """A root port and the devices that share its bandwidth."""

    bus_id: str
    devices: tuple[Device, ...]


@dataclass(frozen=True, slots=True)
class Cpu:
    """A NUMA node."""

    numa: int
    root_ports: tuple[RootPort, ...]


def files(wiring: Wiring) -> Files:
    """Yield `<node model>.xml` for every model of compute node."""
    ethernet = wiring.fabric.is_ethernet
    models = {node.model.name: node.model for node in wiring.fabric.nodes_of(Role.COMPUTE)}
    for model in models.values():
        yield (
            f"{model.name}.xml",
            render(
                "nccl/node.xml.j2",
                model=model,
                vendor="AuthenticAMD" if model.cpus.model.startswith("AMD") else "GenuineIntel",
                nic_class="0x020000" if ethernet else "0x020700",
                link_speed=f"{model.pcie_gts:.1f} GT/s PCIe" if model.pcie_gts else "",
                cpus=cpus(model),
            ),
        )


def cpus(model: NodeModel) -> tuple[Cpu, ...]:
    """Return the node's devices by NUMA node and root port."""
    found: dict[int, dict[int, list[tuple[int, Gpu | Nic]]]] = {}
    devices: list[tuple[int, Gpu | Nic]] = [*enumerate(model.gpus), *enumerate(model.nics)]
    for index, device in devices:
        ports = found.setdefault(device.numa, {})
        ports.setdefault(device.root_port, []).append((index, device))
    return tuple(
        Cpu(numa, tuple(_root_port(port, on_port) for port, on_port in sorted(ports.items())))
        for numa, ports in sorted(found.items())
    )


def _root_port(port: int, devices: list[tuple[int, Gpu | Nic]]) -> RootPort:
    return RootPort(
        bus_id=f"ffff:ff:{port:02x}.0",
        devices=tuple(
            Device(
                bus_id=f"fffe:{port:02x}:{slot:02x}.0",
                index=index,
                hca=device.hca if isinstance(device, Nic) else "",
                mbps=device.gbps * _MBPS_PER_GBPS if isinstance(device, Nic) else 0,
            )
            for slot, (index, device) in enumerate(devices)
        ),
    )
