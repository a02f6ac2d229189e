"""Train two steps as replicas, and the same two alone: every rank must come to the same losses."""

from __future__ import annotations

import json
import os
import sys

import torch
import torch.distributed as dist
from haiscale.ddp import DistributedDataParallel
from torch import Tensor, nn

STEPS = 2
SAMPLES_PER_RANK = 16
FEATURES = 64
CLOSE = 1e-3
"""How far two orders of adding, or a GPU's shorter mantissa, may take a loss from another."""


def model() -> nn.Module:
    """Return the same network on every rank."""
    torch.manual_seed(12345)
    layers = [nn.Linear(FEATURES, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh()]
    return nn.Sequential(*layers, nn.Linear(512, 1))


def batch(step: int, ranks: int) -> tuple[Tensor, Tensor]:
    """Return the samples of all ranks together, and what is to be learnt of them."""
    generator = torch.Generator().manual_seed(step)
    inputs = torch.rand(ranks * SAMPLES_PER_RANK, FEATURES, generator=generator)
    return inputs, inputs.sum(1, keepdim=True) / FEATURES


def train(network: nn.Module, device: torch.device, rank: int, shards: int) -> list[float]:
    """Train on one shard of every batch; return the loss of the whole batch after each step."""
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    losses = []
    for step in range(STEPS):
        inputs, wanted = (part.to(device) for part in batch(step, dist.get_world_size()))
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(
            network(inputs.chunk(shards)[rank]), wanted.chunk(shards)[rank]
        )
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            losses.append(nn.functional.mse_loss(network(inputs), wanted).item())
    return losses


def main() -> int:
    """Return 0 if all ranks agree with each other and with one process alone, else 1."""
    cuda = torch.cuda.is_available()
    local = int(os.environ["LOCAL_RANK"]) % max(torch.cuda.device_count(), 1)
    device = torch.device("cuda", local) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group()
    rank, ranks = dist.get_rank(), dist.get_world_size()
    replica = DistributedDataParallel(
        model().to(device), device_ids=[device] if cuda else None, reduce_with="hfreduce"
    )
    losses = train(replica, device, rank, ranks)
    replica.reducer.stop()
    alone = train(model().to(device), device, 0, 1)

    everyone: list[list[float] | None] = [None] * ranks
    dist.all_gather_object(everyone, losses)
    dist.destroy_process_group()
    if strangers := [other for other in range(ranks) if everyone[other] != losses]:
        print(f"rank {rank} has losses {losses}, rank {strangers[0]} has others", file=sys.stderr)
        return 1
    if any(abs(loss - one) > CLOSE * one for loss, one in zip(losses, alone, strict=True)):
        print(f"losses are {losses}, of one process alone {alone}", file=sys.stderr)
        return 1
    if rank == 0:
        print(json.dumps({"ranks": ranks, "device": device.type, "losses": losses}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
