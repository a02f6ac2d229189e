"""What NCCL makes of an NCCL_TOPO_FILE, step by step: read, fill, trim, merge, connect, search.

Written from the behaviour of NCCL 2.22 to 2.30 (src/graph/xml.cc, topo.cc and paths.cc), for
x86 processors: each process fills in what lies between its own GPU and the processor, keeps that
and every adapter, and merges what all processes have kept.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

LOCAL, PCI, SYSTEM = 5000.0, "PCI", "SYS"
AMD_BETWEEN_CPUS: Final = 16.0
RANKS: Final = ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS")
"""Types of paths, the shortest first."""
_GTS: Final = {"8.0": 60, "16.0": 120, "32.0": 240, "64.0": 480}
"""Mb/s of a lane in hundreds, by GT/s."""
_OF_SYSFS: Final = ("vendor", "device", "subsystem_vendor", "subsystem_device")
Sysfs = Mapping[str, Mapping[str, str]]
"""Attributes of the PCI devices that the node has, by bus id."""


@dataclass(eq=False)
class Element:
    """An element; `kind` is part of what merging compares."""

    name: str
    attributes: dict[str, str]
    kind: str
    parts: list[Element] = field(default_factory=list)

    def copy(self) -> Element:
        parts = [part.copy() for part in self.parts]
        return Element(self.name, dict(self.attributes), self.kind, parts)

    def walk(self) -> Iterable[tuple[Element, ...]]:
        """Yield every element below, as the path that leads to it."""
        for part in self.parts:
            yield (part,)
            for path in part.walk():
                yield (part, *path)


def read(text: str) -> Element:
    def element(item: ET.Element) -> Element:
        kind = "open" if len(item) else "single"
        return Element(item.tag, dict(item.attrib), kind, [element(part) for part in item])

    return element(ET.fromstring(text))


def of_rank(text: str, rank: int, bus_id: str, node: Sysfs) -> Element:
    """Return what one process keeps: its GPU and every adapter, with what it has filled in."""
    system = read(text)
    gpus = [path for path in system.walk() if path[-1].attributes.get("busid") == bus_id]
    assert gpus, f"{bus_id} is not in the file: NCCL would place the GPU by itself"
    for element in gpus[0]:
        (_fill_cpu if element.name == "cpu" else _fill_pci)(element, node)
    (gpu,) = (part for part in gpus[0][-1].parts if part.name == "gpu")
    gpu.attributes |= {"keep": "1", "rank": str(rank), "gdr": "1", "sm": "80"}
    nets = (path[-1] for path in system.walk() if path[-1].name == "net")
    for number, net in enumerate(nets):
        net.attributes |= {"keep": "1", "dev": str(number)}
        for name, value in (("latency", "0"), ("guid", f"0x{number:x}"), ("maxconn", "131072")):
            net.attributes.setdefault(name, value)
    for cpu in system.parts:
        cpu.attributes["host_hash"] = "0x1"
    _trim(system)
    return system


def _fill_cpu(cpu: Element, _: Sysfs) -> None:
    found = {"affinity": "0,1", "arch": "x86_64", "vendor": "AuthenticAMD"}
    for name, value in found.items():
        cpu.attributes.setdefault(name, value)
    if "familyid" not in cpu.attributes:
        cpu.attributes |= {"familyid": "143", "modelid": "49"}


def _fill_pci(pci: Element, node: Sysfs) -> None:
    real = node.get(pci.attributes["busid"])
    if real:
        pci.attributes["class"] = real["class"]
        for name in _OF_SYSFS:
            pci.attributes.setdefault(name, real[name])
    for name in ("link_speed", "link_width"):
        pci.attributes.setdefault(name, real[name] if real else "")


def _trim(element: Element) -> bool:
    """Remove what holds nothing to keep; return whether anything is kept."""
    if element.attributes.pop("keep", ""):
        return True
    kept = [(_trim(part), part) for part in element.parts]
    trimmed = ("pci", "cpu", "nic", "net")
    element.parts = [part for keep, part in kept if keep or part.name not in trimmed]
    return any(keep for keep, _ in kept)


def merge(systems: Iterable[Element]) -> Element:
    """Merge what the processes have kept, in order of ranks."""
    first, *others = systems
    merged = first.copy()
    for other in others:
        _merge(merged, other)
    return merged


def _merge(into: Element, other: Element) -> None:
    for part in other.parts:
        same = (p for p in into.parts if (p.name, p.kind) == (part.name, part.kind))
        equal = next((p for p in same if p.attributes == part.attributes), None)
        if equal is None:
            into.parts.append(part.copy())
        else:
            _merge(equal, part)


@dataclass(eq=False)
class Vertex:
    """A device of NCCL's graph."""

    name: str
    type: str
    edges: list[tuple[Vertex, str, float]] = field(default_factory=list)

    def join(self, other: Vertex, kind: str, gbytes: float) -> None:
        for near, far in ((self, other), (other, self)):
            near.edges.append((far, kind, gbytes))


class Graph:
    """The merged devices; an adapter that two elements describe is the first one's."""

    def __init__(self, system: Element) -> None:
        self.cpus: list[Vertex] = []
        self.gpus: dict[int, Vertex] = {}
        self.nets: dict[str, Vertex] = {}
        self._nics: set[tuple[str, str]] = set()
        for cpu in system.parts:
            vertex = Vertex(f"cpu{cpu.attributes['numaid']}", "CPU")
            for pci in cpu.parts:
                self._add(pci, vertex, cpu.attributes["numaid"])
            self.cpus.append(vertex)
        for number, cpu_vertex in enumerate(self.cpus):
            for other in self.cpus[:number]:
                cpu_vertex.join(other, SYSTEM, AMD_BETWEEN_CPUS)

    def _add(self, pci: Element, parent: Vertex, numa: str) -> None:
        inside = {part.name: part for part in pci.parts}
        bus_id = pci.attributes["busid"]
        if "nic" in inside:
            if (numa, bus_id[:-1]) in self._nics:
                return
            self._nics.add((numa, bus_id[:-1]))
            vertex = Vertex(bus_id, "NIC")
            for net in inside["nic"].parts:
                self.nets[net.attributes["name"]] = vertex
        elif "gpu" in inside:
            vertex = self.gpus[int(inside["gpu"].attributes["rank"])] = Vertex(bus_id, "GPU")
        else:
            vertex = Vertex(bus_id, PCI)
            for part in pci.parts:
                self._add(part, vertex, numa)
        width = int(pci.attributes["link_width"] or 16)
        lane = _GTS[pci.attributes["link_speed"].partition(" ")[0]]
        vertex.join(parent, PCI, width * lane / 80)

    def path_type(self, rank: int, net: str) -> str:
        """Return the type of the path from a GPU to an adapter."""
        start, end = self.nets[net], self.gpus[rank]
        reached: dict[Vertex, tuple[int, float, str]] = {start: (0, LOCAL, "LOC")}
        frontier = [start]
        while frontier:
            following: list[Vertex] = []
            for near in frontier:
                hops, gbytes, so_far = reached[near]
                if near.type == "GPU":
                    continue
                for far, kind, link in near.edges:
                    known = reached.get(far, (hops + 1, 0.0, ""))
                    if known[0] <= hops or known[1] >= min(gbytes, link):
                        continue
                    step = _step(near, far, kind)
                    longer = max(so_far, step, key=RANKS.index)
                    reached[far] = (hops + 1, min(gbytes, link), longer)
                    following.append(far)
            frontier = following
        return reached[end][2]


def _step(near: Vertex, far: Vertex, kind: str) -> str:
    if kind == SYSTEM:
        return "SYS"
    if "CPU" in (near.type, far.type):
        return "PHB"
    return "PXB" if near.type == far.type == PCI else "PIX"


def seen(text: str, bus_ids: Iterable[str], node: Sysfs) -> Graph:
    """Return what NCCL sees with one process for each GPU."""
    ranks = enumerate(bus_ids)
    return Graph(merge([of_rank(text, rank, bus_id, node) for rank, bus_id in ranks]))
