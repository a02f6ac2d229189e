"""Gradients of replicas, for schedules that compute those of weights apart.

DistributedDataParallel reduces a gradient when autograd accumulates it. Schedules that split the
backward compute the gradients of weights past that, so that they are reduced after the schedule.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from haiscale.ddp import gradient_group
from haiscale.expert import average_replicas, expert_parameters

BUCKET_BYTES = 25 << 20


def reduce_now(modules: Iterable[nn.Module]) -> None:
    """Average the gradients of every DistributedDataParallel among the modules, and experts'."""
    for module in modules:
        for name, layer in expert_parameters(module).items():
            average_replicas(layer)(module.get_parameter(name))
        if not isinstance(module, DistributedDataParallel):
            continue
        group = gradient_group(module)
        pending = [
            (bucket, flat, dist.all_reduce(flat, group=group, async_op=True))
            for bucket, flat in _buckets(module)
        ]
        for bucket, flat, work in pending:
            assert work is not None
            work.wait()
            _spread(flat / dist.get_world_size(group), bucket)


def _buckets(module: DistributedDataParallel) -> list[tuple[list[Tensor], Tensor]]:
    """Return the gradients, and copies of them end to end; what has none counts as zero.

    A replica may have no gradient where another has one.
    """
    ignored = module.parameters_to_ignore
    parameters = [
        parameter
        for name, parameter in module.module.named_parameters()
        if parameter.requires_grad and name not in ignored
    ]
    buckets: list[list[Tensor]] = []
    room, kind = 0, None
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        size = parameter.grad.numel() * parameter.grad.element_size()
        if room < size or kind != (parameter.grad.dtype, parameter.grad.device):
            buckets.append([])
            room, kind = BUCKET_BYTES, (parameter.grad.dtype, parameter.grad.device)
        buckets[-1].append(parameter.grad)
        room -= size
    return [(bucket, torch.cat([each.flatten() for each in bucket])) for bucket in buckets]


def _spread(flat: Tensor, bucket: list[Tensor]) -> None:
    for gradient, values in zip(bucket, flat.split([g.numel() for g in bucket]), strict=True):
        gradient.copy_(values.view_as(gradient))
