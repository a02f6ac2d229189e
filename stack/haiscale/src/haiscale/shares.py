"""Linear layers whose parameters are plain shares, for what cannot hold DTensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.placement_types import Placement
from torch.nn import functional

from haiscale.errors import HaiscaleError


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """What a plain parameter is a share of."""

    mesh: DeviceMesh
    placements: tuple[Placement, ...]
    shape: torch.Size
    stride: tuple[int, ...]

    def joined(self, local: Tensor) -> DTensor:
        """Return the distributed tensor; gradients go back to the share."""
        return DTensor.from_local(
            local,
            self.mesh,
            self.placements,
            run_check=False,
            shape=self.shape,
            stride=self.stride,
        )


class SharedLinear(nn.Linear):
    """A cut linear layer whose parameters are this rank's shares, joined while it computes.

    torch's DistributedDataParallel and HFReduce reduce plain tensors; DTensor computes the layer.
    """

    shares: dict[str, Share]

    def forward(self, input: Tensor) -> Tensor:
        """Compute the layer, as its styles of tensor parallelism hand it the input."""
        whole = {name: share.joined(getattr(self, name)) for name, share in self.shares.items()}
        return functional.linear(input, whole["weight"], whole.get("bias"))


def _kind(original: type[nn.Linear]) -> type[SharedLinear]:
    return (
        SharedLinear
        if original is nn.Linear
        else type(f"Shared{original.__name__}", (SharedLinear, original), {})
    )


def share_of(part: nn.Module, name: str) -> Share | None:
    """Return what a plain parameter of a module is a share of; None if it is whole."""
    return part.shares.get(name) if isinstance(part, SharedLinear) else None


def take_shares(module: nn.Module) -> None:
    """Replace the DTensors of a module by this rank's shares, in place.

    Raises:
        HaiscaleError: a part that is no linear layer holds one.
    """
    for name, part in module.named_modules():
        cut = {
            key: each
            for key, each in part.named_parameters(recurse=False)
            if isinstance(each, DTensor)
        }
        if not cut:
            continue
        if not isinstance(part, nn.Linear) or type(part).forward is not nn.Linear.forward:
            raise HaiscaleError(
                f"{name} is a {type(part).__name__} that holds DTensors; replicas take linear"
                " layers that haiscale.tensor.parallelize cut: use FullyShardedDataParallel"
            )
        part.__class__ = _kind(type(part))
        assert isinstance(part, SharedLinear)
        part.shares = {}
        for key, each in cut.items():
            part.shares[key] = Share(each.device_mesh, each.placements, each.shape, each.stride())
            local = nn.Parameter(each.to_local().detach(), requires_grad=each.requires_grad)
            part._parameters[key] = local


def whole_state(module: nn.Module) -> dict[str, Any]:
    """Return a module's state with every tensor whole, as one process would hold it.

    Every rank that holds a share must call it. Experts and stages of other ranks are not in it.
    """
    shares = {
        f"{name}.{key}" if name else key: share
        for name, part in module.named_modules()
        if isinstance(part, SharedLinear)
        for key, share in part.shares.items()
    }
    found: dict[str, Any] = {}
    for name, value in module.state_dict().items():
        joined = shares[name].joined(value) if name in shares else value
        found[name] = joined.full_tensor() if isinstance(joined, DTensor) else joined
    return found
