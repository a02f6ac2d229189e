"""Train a CNN as replicas.

torchrun --nproc-per-node 2 train_cnn_ddp.py
"""

from __future__ import annotations

import argparse

import torch
import torch.distributed as dist
from launch import init
from torch import Tensor, nn

from haiscale.ddp import DistributedDataParallel


def cnn() -> nn.Sequential:
    torch.manual_seed(12345)
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, stride=2, padding=1),
        nn.GroupNorm(4, 16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(128, 10),
    )


def sample(step: int, batch: int) -> tuple[Tensor, Tensor]:
    """Return pictures of one colour and noise, and the colour's number."""
    generator = torch.Generator().manual_seed(step)
    labels = torch.randint(10, (batch,), generator=generator)
    pictures = torch.rand(batch, 3, 16, 16, generator=generator) * 0.1
    pictures[:, 0] += labels.view(-1, 1, 1) / 10
    pictures[:, 1] += (labels % 3).view(-1, 1, 1) / 3
    return pictures, labels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=32, help="of all ranks together")
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()

    device = init()
    rank, world_size = dist.get_rank(), dist.get_world_size()
    device_ids = None if device.type == "cpu" else [device.index]
    model = DistributedDataParallel(cnn().to(device), device_ids=device_ids)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for step in range(args.steps):
        samples, labels = (x.chunk(world_size)[rank].to(device) for x in sample(step, args.batch))
        loss = criterion(model(samples), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        dist.all_reduce(loss.detach_())
        if rank == 0:
            print(f"step {step}, loss {loss / world_size:.6f}", flush=True)

    # synchronize all processes
    model.reducer.stop()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
