"""Train a GPT in stages, as replicas of the pipeline where there are ranks enough.

torchrun --nproc-per-node 4 train_gpt_pipeline.py --pp-size 2 --schedule PipeDream
"""

from __future__ import annotations

import argparse

import torch
import torch.distributed as dist
from gpt import GPTLoss, gpt, sample
from launch import init

from haiscale import pipeline
from haiscale.ddp import DistributedDataParallel
from haiscale.pipeline import make_subgroups, partition

ONE_STAGE = ("GPipe", "PipeDream")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedule", default="PipeDream")
    parser.add_argument("--pp-size", type=int, default=2)
    parser.add_argument("--chunks", type=int, default=4)
    parser.add_argument("--batch", type=int, default=32, help="of all replicas together")
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()

    device = init()
    dp_group, pp_group = make_subgroups(pp_size=args.pp_size)
    dp_rank, dp_size = dp_group.rank(), dp_group.size()
    pp_rank, pp_size = pp_group.rank(), pp_group.size()

    # model, in the schedule's own cut
    schedule = getattr(pipeline, args.schedule)
    if args.schedule in ONE_STAGE:
        model = partition(gpt(), pp_rank, pp_size)
        model = DistributedDataParallel(model.to(device), process_group=dp_group)
        replicas = [model]
    else:
        chunks = partition(gpt(), pp_rank, pp_size, num_model_chunks=2, style=schedule.style)
        model = [DistributedDataParallel(c.to(device), process_group=dp_group) for c in chunks]
        replicas = model
    model = schedule(model, args.chunks, process_group=pp_group)

    criterion = GPTLoss(args.chunks)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    model.train()
    for step in range(args.steps):
        tokens = sample(step, args.batch).chunk(dp_size)[dp_rank].to(device)
        loss, _ = model.forward_backward(tokens, criterion=criterion, labels=(tokens,))
        optimizer.step()
        optimizer.zero_grad()
        if model.is_last_stage:
            loss = loss.sum()
            dist.all_reduce(loss, group=dp_group)
            if dp_rank == 0:
                print(f"step {step}, loss {loss / dp_size:.6f}", flush=True)

    # synchronize all processes
    for replica in replicas:
        replica.reducer.stop()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
