"""The process group of a job that torchrun started."""

from __future__ import annotations

import os

import torch
import torch.distributed as dist


def init() -> torch.device:
    """Join the job; return this rank's GPU, or the processor where there is none."""
    if not torch.cuda.is_available():
        dist.init_process_group("gloo")
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    return device
