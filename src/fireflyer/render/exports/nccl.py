"""The inside of a compute node as NCCL reads it (NCCL_TOPO_FILE).

It says which devices share a root port, which no program can see in a virtual machine, and which
a container may hide. Devices have the bus ids of their model's `bus_id`, or placeholders in PCI
domain `fffe`. A root port has a placeholder in any case: NCCL finds nothing under it and so adds
nothing to it.

From 2.22 on each process reads this file, adds what it finds on the way from its own GPU to the
processor, and all of them merge what they have: elements whose attributes are all equal become
one. So every attribute that NCCL would add to a shared element is stated here. What is left
out, NCCL reads from the node.
"""

from __future__ import annotations

from dataclasses import dataclass

from fireflyer.model.fabric import Role
from fireflyer.model.hardware import CpuId, Cpus, Gpu, Nic, NodeModel
from fireflyer.render.exports.wiring import Files, Wiring
from fireflyer.render.template import render

_MBPS_PER_GBPS = 1000
_WORD_BITS = 32
"""Linux prints a set of processors in words of 32."""
_LAST_BASE_FAMILY = 15
"""Families above it are told by CPUID's extended field."""


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
    affinity: str
    """Its processors, as Linux prints them in `cpumap`."""
    root_ports: tuple[RootPort, ...]


def files(wiring: Wiring) -> Files:
    """Yield `<node model>.xml` for every model of compute node with GPUs and a CPUID."""
    models = {node.model.name: node.model for node in wiring.fabric.nodes_of(Role.COMPUTE)}
    for model in models.values():
        if model.gpus and model.cpus.cpuid is not None:
            yield f"{model.name}.xml", topology(model, model.cpus.cpuid, wiring.fabric.is_ethernet)


def topology(model: NodeModel, cpuid: CpuId, ethernet: bool) -> str:
    """Return the file of one model with GPUs."""
    return render(
        "nccl/node.xml.j2",
        model=model,
        vendor=cpuid.vendor,
        family=nccl_family(cpuid.family),
        cpu_model=cpuid.model,
        placeholders=any(gpu.bus_id is None for gpu in model.gpus),
        nic_class="0x020000" if ethernet else "0x020700",
        link_speed=f"{model.pcie_gts:.1f} GT/s PCIe" if model.pcie_gts else "",
        cpus=cpus(model),
    )


def nccl_family(family: int) -> int:
    """Return a processor family as NCCL computes it: the extended field counts by 16.

    >>> nccl_family(0x17), nccl_family(6)
    (143, 6)
    """
    return family if family <= _LAST_BASE_FAMILY else family * 16 - _LAST_BASE_FAMILY * 15


def cpumap(cpus: Cpus, numa: int) -> str:
    """Return the set of a NUMA node's processors, as Linux prints it.

    Linux counts the first thread of every core, NUMA node by NUMA node, then the second threads.

    >>> cpumap(Cpus(model="", sockets=2, cores_per_socket=24, threads_per_core=1), 1)
    '0000ffff,ff000000'
    """
    cores = cpus.sockets * cpus.cores_per_socket
    of_node = cores // cpus.numa_count
    mask = sum(
        ((1 << of_node) - 1) << (thread * cores + numa * of_node)
        for thread in range(cpus.threads_per_core)
    )
    words = -(-cores * cpus.threads_per_core // _WORD_BITS)
    text = f"{mask:0{words * 8}x}"
    return ",".join(text[start : start + 8] for start in range(0, len(text), 8))


def cpus(model: NodeModel) -> tuple[Cpu, ...]:
    """Return the node's devices by NUMA node and root port."""
    found: dict[int, dict[int, list[tuple[int, Gpu | Nic]]]] = {}
    devices: list[tuple[int, Gpu | Nic]] = [*enumerate(model.gpus), *enumerate(model.nics)]
    for index, device in devices:
        ports = found.setdefault(device.numa, {})
        ports.setdefault(device.root_port, []).append((index, device))
    return tuple(
        Cpu(
            numa,
            cpumap(model.cpus, numa),
            tuple(_root_port(port, on_port) for port, on_port in sorted(ports.items())),
        )
        for numa, ports in sorted(found.items())
    )


def _root_port(port: int, devices: list[tuple[int, Gpu | Nic]]) -> RootPort:
    return RootPort(
        bus_id=f"ffff:ff:{port:02x}.0",
        devices=tuple(
            Device(
                bus_id=device.bus_id or f"fffe:{port:02x}:{slot:02x}.0",
                index=index,
                hca=device.hca if isinstance(device, Nic) else "",
                mbps=device.gbps * _MBPS_PER_GBPS if isinstance(device, Nic) else 0,
            )
            for slot, (index, device) in enumerate(devices)
        ),
    )
