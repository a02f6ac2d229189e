"""What placement has to know of a node: its GPUs, the NVLink between them, its adapters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from haiscale.errors import HaiscaleError


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """An accelerator, by where it hangs."""

    numa: int = 0
    root_port: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Nic:
    """An adapter, by where it hangs."""

    numa: int = 0
    root_port: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeModel:
    """A node.

    `nvlink` holds the groups of GPUs that NVLink joins: pairs where bridges do, all of them
    where a switch does, none where nothing does. GPUs count from 0, as CUDA shows them.
    """

    name: str
    gpus: tuple[Gpu, ...]
    nvlink: tuple[tuple[int, ...], ...] = ()
    nics: tuple[Nic, ...] = (Nic(),)
    nvlink_assumed: bool = False

    def __post_init__(self) -> None:
        if not self.gpus:
            raise HaiscaleError(f"node {self.name} has no gpus: there is nothing to place on it")
        if not self.nics:
            raise HaiscaleError(f"node {self.name} has no nics; it needs at least one")
        joined = [gpu for group in self.nvlink for gpu in group]
        there = range(len(self.gpus))
        if len(set(joined)) != len(joined) or not set(joined) <= set(there):
            raise HaiscaleError(
                f"node {self.name} has nvlink {[list(group) for group in self.nvlink]}; a GPU is in"
                f" one group at most, and there are GPUs 0 to {len(self.gpus) - 1}"
            )

    @property
    def tp_limit(self) -> int:
        """How many GPUs may share a tensor: those that NVLink joins everywhere in the node."""
        joined = sum(len(group) for group in self.nvlink)
        if joined < len(self.gpus):
            return 1
        return min(len(group) for group in self.nvlink)

    def order(self, tp: int) -> tuple[int, ...]:
        """Return the GPUs such that each `tp` next to each other are joined by NVLink."""
        if tp == 1:
            return tuple(range(len(self.gpus)))
        self.check_tp(tp)
        return tuple(gpu for group in self.nvlink for gpu in group)

    def check_tp(self, tp: int) -> None:
        """Refuse a tensor-parallel degree that leaves NVLink."""
        if tp == 1:
            return
        limit = self.tp_limit
        if tp > limit or any(len(group) % tp for group in self.nvlink):
            joins = f"NVLink joins {limit} GPUs of it" if limit > 1 else "NVLink joins none of it"
            groups = ", ".join("-".join(map(str, group)) for group in self.nvlink) or "none"
            raise HaiscaleError(
                f"tp is {tp} on node {self.name}, where {joins} (groups: {groups}): tensor"
                " parallelism reduces activations twice a layer and would do so over PCIe, which"
                f" all else in the node needs; take tp {_degrees(self)}, or more pipeline stages"
            )

    def nic_of(self, gpu: int) -> int:
        """Return the adapter a GPU sends through: by root port, by NUMA node, or evenly."""
        mine = self.gpus[gpu]
        near = [i for i, nic in enumerate(self.nics) if nic.root_port == mine.root_port]
        peers = [i for i, each in enumerate(self.gpus) if each.root_port == mine.root_port]
        if mine.root_port is None or not near:
            near = [i for i, nic in enumerate(self.nics) if nic.numa == mine.numa]
            peers = [i for i, each in enumerate(self.gpus) if each.numa == mine.numa]
        if not near:
            near, peers = list(range(len(self.nics))), list(range(len(self.gpus)))
        return near[peers.index(gpu) * len(near) // len(peers)]


def plain_node(
    gpus: int, *, nvlink: tuple[tuple[int, ...], ...] | None = None, nics: int = 1
) -> NodeModel:
    """Return a node of so many GPUs and adapters on two processors.

    Without word of NVLink, bridges between neighbours are assumed, as a drawing of the Fire-Flyer
    node has them; `nvidia-smi topo -m` tells.
    """
    if gpus < 1:
        raise HaiscaleError(f"gpus is {gpus}; a node has at least 1")
    if nics < 1:
        raise HaiscaleError(f"nics is {nics}; a node has at least 1")
    pairs = tuple((first, first + 1) for first in range(0, gpus - 1, 2))
    return NodeModel(
        name=f"of {gpus} GPUs",
        gpus=tuple(Gpu(numa=index * 2 // gpus) for index in range(gpus)),
        nvlink=pairs if nvlink is None else nvlink,
        nics=tuple(Nic(numa=index * 2 // nics) for index in range(nics)),
        nvlink_assumed=nvlink is None and gpus > 1,
    )


def node_from(document: object) -> NodeModel:
    """Return the node that a profile describes, as `hardware/nodes` or HFReduce has it.

    Read are `name`, `gpus` and `nics` (each with `numa` and `root_port`) and `nvlink_pairs`, or
    `nvlink_groups` where a switch joins more. Other keys are for others.
    """
    if isinstance(document, Mapping) and isinstance(document.get("profile"), Mapping):
        document = document["profile"]
    if not isinstance(document, Mapping):
        raise HaiscaleError(f"the node profile is {document!r}; it must be an object")
    groups = document.get("nvlink_groups", document.get("nvlink_pairs", []))
    return NodeModel(
        name=str(document.get("name", "unnamed")),
        gpus=tuple(Gpu(numa=n, root_port=p) for n, p in _placed(document, "gpus")),
        nics=tuple(Nic(numa=n, root_port=p) for n, p in _placed(document, "nics")),
        nvlink=tuple(
            tuple(_whole(gpu, "nvlink_pairs") for gpu in _list(g, "nvlink_pairs"))
            for g in _list(groups, "nvlink_pairs")
        ),
    )


def _placed(document: Mapping[str, object], key: str) -> list[tuple[int, int | None]]:
    found = []
    for index, each in enumerate(_list(document.get(key), key)):
        where = f"{key}[{index}]"
        if not isinstance(each, Mapping):
            raise HaiscaleError(f"{where} of the node profile is {each!r}; it must be an object")
        port = each.get("root_port")
        numa = _whole(each.get("numa", 0), f"{where}.numa")
        found.append((numa, None if port is None else _whole(port, f"{where}.root_port")))
    return found


def _list(value: object, key: str) -> list[object]:
    if not isinstance(value, list | tuple):
        raise HaiscaleError(f"{key} of the node profile is {value!r}; it must be a list")
    return list(value)


def _whole(value: object, key: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise HaiscaleError(f"{key} of the node profile is {value!r}; it must be a number from 0")
    return value


def _degrees(node: NodeModel) -> str:
    limit = node.tp_limit
    fits = [d for d in range(1, limit + 1) if all(len(group) % d == 0 for group in node.nvlink)]
    return " or ".join(map(str, fits)) if limit > 1 else "1"
