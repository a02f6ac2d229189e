"""Which blocks of a module are gathered on their own, and when their neighbours are fetched."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from itertools import pairwise
from typing import Any

from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule
from torch.utils._pytree import tree_leaves

from haiscale.errors import HaiscaleError

Policy = Callable[..., bool]
"""A policy of `torch.distributed.fsdp.wrap`, called with `module`, `recurse` and
`nonwrapped_numel`."""


class BackwardPrefetch(Enum):
    """When a block's parameters are gathered for its backward."""

    BACKWARD_PRE = "before the block behind it computes: overlaps best, holds one block more"
    BACKWARD_POST = "once the block behind it has computed: overlaps with its reduction only"


def blocks_of(module: nn.Module, policy: Policy | Iterable[type[nn.Module]] | None) -> list[str]:
    """Return the names of the parts to shard on their own, inner ones first, without the root."""
    if policy is None:
        return []
    if callable(policy):
        decide = policy
    else:
        classes = tuple(policy)

        def decide(module: nn.Module, recurse: bool, **_: Any) -> bool:
            return recurse or isinstance(module, classes)

    found: list[str] = []
    _visit("", module, decide, found)
    return [name for name in found if name]


def _visit(name: str, module: nn.Module, policy: Policy, found: list[str]) -> int:
    """Append the blocks inside a module; return how many numbers they hold."""
    numel = sum(parameter.numel() for parameter in module.parameters())
    wrapped = 0
    if policy(module=module, recurse=True, nonwrapped_numel=numel):
        for child_name, child in module.named_children():
            wrapped += _visit(f"{name}.{child_name}" if name else child_name, child, policy, found)
    if not policy(module=module, recurse=False, nonwrapped_numel=numel - wrapped):
        return wrapped
    found.append(name)
    return numel


def check_prefetch(given: object) -> None:
    """Refuse what is no moment to gather a block for its backward."""
    if not isinstance(given, BackwardPrefetch):
        names = ", ".join(f"BackwardPrefetch.{each.name}" for each in BackwardPrefetch)
        raise HaiscaleError(f"backward_prefetch is {given!r}; it must be one of {names}")


def fetch_ahead(root: nn.Module, backward: BackwardPrefetch, *, forward: bool) -> None:
    """Have every block of a sharded module fetch its neighbour in the order of definition."""
    blocks = [module for module in root.modules() if isinstance(module, FSDPModule)]
    for block, following in pairwise(blocks):
        if forward:
            block.set_modules_to_forward_prefetch([following])
    if backward is BackwardPrefetch.BACKWARD_PRE:
        # The root's backward begins first and ends last.
        for following, block in pairwise((*blocks[1:], blocks[0])):
            block.set_modules_to_backward_prefetch([following])
        return
    for block in blocks:
        # A list, though of what is there already, takes the place of torch's own choice.
        block.set_modules_to_backward_prefetch([block])
    for following, block in pairwise(blocks[1:]):
        _after_backward(block, following)


def _after_backward(block: FSDPModule, following: FSDPModule) -> None:
    """Gather a block once another has computed the gradients of its inputs."""

    def fetch(_: Tensor) -> None:
        following.unshard(async_op=True)

    def watch(_: nn.Module, inputs: tuple[Any, ...], options: dict[str, Any]) -> None:
        for value in tree_leaves((inputs, options)):
            if isinstance(value, Tensor) and value.requires_grad:
                value.register_hook(fetch)

    assert isinstance(block, nn.Module)
    block.register_forward_pre_hook(watch, with_kwargs=True)
