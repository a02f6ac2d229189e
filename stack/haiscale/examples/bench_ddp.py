"""Time a training step of replicas whose gradients HFReduce adds, and one whose group does.

torchrun --nproc-per-node 4 bench_ddp.py --layers 8
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import time

import torch
import torch.distributed as dist
from launch import init
from torch import nn

from haiscale.ddp import DistributedDataParallel, ReduceWith

WIDTH = 1024


def step_s(reduce_with: ReduceWith, args: argparse.Namespace, device: torch.device) -> float:
    """Return the median time of a step, the slowest rank's."""
    torch.manual_seed(0)
    layers = [nn.Linear(WIDTH, WIDTH, bias=False, device=device) for _ in range(args.layers)]
    model = DistributedDataParallel(nn.Sequential(*layers), reduce_with=reduce_with)
    x = torch.randn(args.batch, WIDTH, device=device)
    times = []
    for step in range(args.warm_up + args.steps):
        dist.barrier()
        start = time.perf_counter()
        model(x).square().mean().backward()
        model.zero_grad()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        taken = torch.tensor(time.perf_counter() - start, device=device)
        dist.all_reduce(taken, dist.ReduceOp.MAX)
        if step >= args.warm_up:
            times.append(float(taken))
    model.reducer.stop()
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=46, help="of 4 MiB (46: the paper's recipe)")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--warm-up", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10)
    args = parser.parse_args()

    device = init()
    group_s = step_s("group", args, device)
    found = {"ranks": dist.get_world_size(), "gradient_mib": args.layers * WIDTH * WIDTH * 4 >> 20}
    found |= {"backend": dist.get_backend(), "group_step_s": group_s}
    if importlib.util.find_spec("hfreduce"):
        found["hfreduce_step_s"] = step_s("hfreduce", args, device)
        found["ratio"] = group_s / found["hfreduce_step_s"]
    if dist.get_rank() == 0:
        print(json.dumps(found), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
