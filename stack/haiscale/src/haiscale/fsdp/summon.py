"""The whole parameters of a sharded module, for a while."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor, distribute_tensor


@contextmanager
def whole_parameters(module: nn.Module, *, writeback: bool) -> Iterator[None]:
    """Put whole parameters in the place of shares, and what became of them into the shares."""
    for block in module.modules():
        if isinstance(block, FSDPModule):
            block.reshard()
    whole: dict[Tensor, nn.Parameter] = {}
    places: list[tuple[nn.Module, str, Tensor]] = []
    for part in module.modules():
        for name, share in part.named_parameters(recurse=False, remove_duplicate=False):
            assert isinstance(share, DTensor)
            if share not in whole:
                gathered = share.full_tensor().detach()
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
        mine = distribute_tensor(
            full.detach(), share.device_mesh, share.placements, src_data_rank=None
        )
        share.to_local().copy_(mine.to_local())
