"""The whole parameters of a sharded module, for a while."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor

from haiscale.fsdp.optimizers import is_first, share_like


@contextmanager
def whole_parameters(
    module: nn.Module, *, writeback: bool, rank0_only: bool = False, to_cpu: bool = False
) -> Iterator[None]:
    """Put whole parameters in the place of shares, and what became of them into the shares.

    Parameters that are not sharded, experts and ignored ones, stay as they are.
    """
    for block in module.modules():
        if isinstance(block, FSDPModule):
            block.reshard()
    whole: dict[Tensor, nn.Parameter] = {}
    places: list[tuple[nn.Module, str, Tensor]] = []
    for part in module.modules():
        for name, share in part.named_parameters(recurse=False, remove_duplicate=False):
            if not isinstance(share, DTensor):
                continue
            if share not in whole:
                gathered = share.full_tensor().detach()  # by all ranks, though one may keep it
                if rank0_only and not is_first(share):
                    continue
                gathered = gathered.cpu() if to_cpu else gathered
                whole[share] = nn.Parameter(gathered, share.requires_grad)
            places.append((part, name, share))
    try:
        _put((part, name, whole[share]) for part, name, share in places)
        with _loading_plain(module):
            yield
    finally:
        _put(places)
        if writeback:
            for shared, parameter in whole.items():
                _write(shared, parameter)


def _put(places: Iterable[tuple[nn.Module, str, Tensor]]) -> None:
    for part, name, parameter in places:
        assert isinstance(parameter, nn.Parameter)
        # Past register_parameter, which a sharded module does not allow.
        part._parameters[name] = parameter


@contextmanager
def _loading_plain(module: nn.Module) -> Iterator[None]:
    """Leave out what a sharded module does after `load_state_dict`: it looks for shares."""
    hooks = [(part, part._load_state_dict_post_hooks) for part in module.modules()]
    try:
        for part, kept in hooks:
            part._load_state_dict_post_hooks = OrderedDict(
                (key, hook)
                for key, hook in kept.items()
                if not hook.__module__.startswith("torch.distributed.fsdp")
            )
        yield
    finally:
        for part, kept in hooks:
            part._load_state_dict_post_hooks = kept


def _write(share: Tensor, full: Tensor) -> None:
    assert isinstance(share, DTensor)
    with torch.no_grad():
        share.to_local().copy_(share_like(share, full).to_local())
