"""Train a GPT in shards, the optimizer inside the backward.

torchrun --nproc-per-node 2 train_gpt_fsdp.py
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
import torch.distributed as dist
from gpt import Block, GPTLoss, gpt, sample
from launch import init

from haiscale.fsdp import BackwardPrefetch, FullyShardedDataParallel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=32, help="of all ranks together")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--save", type=Path, help="where to keep the trained model")
    args = parser.parse_args()

    device = init()
    rank, world_size = dist.get_rank(), dist.get_world_size()
    model = FullyShardedDataParallel(
        gpt().to(device),
        auto_wrap_policy={Block},
        backward_prefetch=BackwardPrefetch.BACKWARD_POST,
    )
    criterion = GPTLoss()
    optimizer = model.fuse_optimizer(torch.optim.AdamW, lr=3e-3)
    for step in range(args.steps):
        tokens = sample(step, args.batch).chunk(world_size)[rank].to(device)
        loss = criterion(model(tokens), tokens)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        dist.all_reduce(loss.detach_())
        if rank == 0:
            print(f"step {step}, loss {loss / world_size:.6f}", flush=True)

    if args.save:
        with model.summon_full_params(writeback=False):
            if rank == 0:
                torch.save(model.module.state_dict(), args.save)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
