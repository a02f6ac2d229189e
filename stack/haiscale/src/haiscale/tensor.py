"""Tensor parallelism: the layers of a model cut over GPUs that NVLink joins."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatch
from typing import Literal

import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    ParallelStyle,
    RowwiseParallel,
    parallelize_module,
)

from haiscale.errors import HaiscaleError
from haiscale.node import NodeModel, plain_node

Cut = Literal["colwise", "rowwise"]
"""By its outputs, or by its inputs with the outputs summed over the ranks."""


def make_tensor_mesh(tp: int, device_type: str, node: NodeModel | None = None) -> DeviceMesh:
    """Return this rank's tensor-parallel mesh: neighbouring ranks. Every rank must call it.

    Args:
        tp: degree. It stays inside what NVLink joins: 2, where bridges join pairs.
        device_type: "cuda" or "cpu".
        node: what NVLink joins; by default pairs.
    """
    (node or plain_node(8)).check_tp(tp)
    world = dist.get_world_size()
    if tp < 1 or world % tp:
        raise HaiscaleError(f"tp is {tp}, which does not divide the {world} ranks")
    mesh = init_device_mesh(device_type, (world // tp, tp), mesh_dim_names=("rest", "tp"))
    return mesh["tp"]


def parallelize(module: nn.Module, mesh: DeviceMesh, plan: Mapping[str, Cut]) -> nn.Module:
    """Cut linear layers over a mesh, in place, and return the module.

    A layer cut "colwise" returns its share of the outputs, which the layer cut "rowwise" behind
    it takes: the two of a feed-forward layer, or those around an attention, whose heads must be
    counted from the width that arrives.

    Args:
        module: the same on every rank of the mesh.
        mesh: as `make_tensor_mesh` returns it.
        plan: names of layers, in which `*` stands for anything, and how to cut them.
    """
    styles: dict[str, ParallelStyle] = {}
    layers = dict(module.named_modules())
    for pattern, cut in plan.items():
        if cut not in ("colwise", "rowwise"):
            raise HaiscaleError(f"plan cuts {pattern!r} {cut!r}; it must be 'colwise' or 'rowwise'")
        found = [name for name in layers if fnmatch(name, pattern)]
        if not found:
            raise HaiscaleError(f"plan names {pattern!r}, and no part of the model is called so")
        for name in found:
            _check_layer(name, layers[name], cut, mesh.size())
            styles[name] = ColwiseParallel() if cut == "colwise" else RowwiseParallel()
    return parallelize_module(module, mesh, styles)


def _check_layer(name: str, layer: nn.Module, cut: Cut, degree: int) -> None:
    if not isinstance(layer, nn.Linear):
        raise HaiscaleError(
            f"{name} is a {type(layer).__name__}; only linear layers are cut: name those inside"
        )
    what = "out_features" if cut == "colwise" else "in_features"
    width = getattr(layer, what)
    if width % degree:
        raise HaiscaleError(
            f"{name} has {what} {width}, which do not divide over {degree} ranks: widen the layer"
            f" to a multiple of {degree}"
        )
