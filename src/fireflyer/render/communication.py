"""What HFReduce on a node is told of the fabric: the node, its traffic's class, its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby

from fireflyer.design.rank_order import tree_order
from fireflyer.model.fabric import Fabric, Role
from fireflyer.model.hardware import NodeModel

_DSCP_SHIFT = 2
"""DSCP is the upper six bits of the traffic class (RFC 2474); the lower two are ECN's."""


@dataclass(frozen=True, slots=True)
class Accelerator:
    """A GPU, by where it hangs."""

    numa: int
    root_port: int


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter, by where it hangs."""

    gbit_per_s: int
    numa: int
    root_port: int


@dataclass(frozen=True, slots=True)
class Profile:
    """A node as `hfreduce.bound` reads it."""

    name: str
    gpus: tuple[Accelerator, ...]
    nvlink_pairs: tuple[tuple[int, int], ...]
    nics: tuple[Adapter, ...]
    memory_gbytes_per_s: float | None
    root_port_gbytes_per_s: float | None


@dataclass(frozen=True, slots=True)
class Marking:
    """What a sender sets for its traffic to be of a class; None leaves it to the fabric."""

    service_level: int | None
    """InfiniBand's."""
    traffic_class: int | None
    """Of RoCE, where it stands for the type of service."""


def profiles(fabric: Fabric) -> Mapping[str, Profile]:
    """Return the profile of every model of compute node."""
    models = {node.model.name: node.model for node in fabric.nodes_of(Role.COMPUTE)}
    return {name: _profile(model) for name, model in models.items()}


def _profile(model: NodeModel) -> Profile:
    return Profile(
        name=model.name,
        gpus=tuple(Accelerator(gpu.numa, gpu.root_port) for gpu in model.gpus),
        nvlink_pairs=model.nvlink_pairs,
        nics=tuple(Adapter(nic.gbps, nic.numa, nic.root_port) for nic in model.nics),
        memory_gbytes_per_s=model.memory_gbytes_per_s,
        root_port_gbytes_per_s=model.root_port_gbytes_per_s,
    )


def markings(fabric: Fabric) -> Mapping[str, Marking]:
    """Return the marking of every class of traffic."""
    return {
        row.name: Marking(
            service_level=None if fabric.is_ethernet else row.sl,
            traffic_class=row.dscp[0] << _DSCP_SHIFT if fabric.is_ethernet and row.dscp else None,
        )
        for row in fabric.intent.traffic.classes
    }


def positions(fabric: Fabric) -> Mapping[str, int]:
    """Return every compute node's place among its zone's, from 0, in the order of the trees."""
    ordered = tree_order(list(fabric.nodes_of(Role.COMPUTE))).nodes
    return {
        node.name: position
        for _, nodes in groupby(ordered, key=lambda node: node.zone)
        for position, node in enumerate(nodes)
    }
