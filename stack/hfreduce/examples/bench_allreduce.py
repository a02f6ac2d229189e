"""Time the gradients of 46 layers through the calls of the paper's benchmark.

On every node:

RANK=0 WORLD_SIZE=1 python bench_allreduce.py --processes 8

RANK is the node and WORLD_SIZE how many there are; a process a GPU is started here. Ranks meet at
MASTER_ADDR, MASTER_PORT + 5; several nodes need HFREDUCE_SECRET_FILE.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import uuid

import torch
from hfreduce._hfreduce_impl import AsyncReduceFloat
from torch import nn


class Reducer:
    """Adds up a model's gradients into one piece of memory."""

    def __init__(self, model: nn.Module, device: torch.device, local: int, processes: int) -> None:
        self.parameters = dict(model.named_parameters())
        self.cuda = device if device.type == "cuda" else None
        self.reducer = AsyncReduceFloat(
            os.environ.get("MASTER_ADDR", "127.0.0.1"),
            int(os.environ.get("MASTER_PORT", "33140")) + 5,
            local if self.cuda else -1,
            local,
            processes,
            int(os.environ.get("RANK", "0")),
            int(os.environ.get("WORLD_SIZE", "1")),
            len(self.parameters),
            uuid.uuid4().hex,
        )
        for name, parameter in self.parameters.items():
            self.reducer.register_float_tensor(name, parameter.numel())
        self.sums = torch.empty(self.reducer.total_tensor_floats(), device=device)
        self.reducer.set_fused_dest(self.sums.data_ptr())

    def __call__(self) -> None:
        stream = torch.cuda.current_stream(self.cuda).cuda_stream if self.cuda else 0
        for name, parameter in self.parameters.items():
            gradient = parameter.grad
            assert gradient is not None
            self.reducer.async_reduce(stream, name, gradient.data_ptr(), gradient.numel())
        self.reducer.synchronize(stream)
        if self.cuda:
            torch.cuda.synchronize(self.cuda)


def process(local: int, processes: int, args: argparse.Namespace) -> None:
    """Be one of the node's processes."""
    torch.set_num_threads(1)
    device = torch.device("cuda", local) if torch.cuda.is_available() else torch.device("cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    layers = [nn.Linear(args.width, args.width, bias=False) for _ in range(args.layers)]
    model = nn.Sequential(*layers).to(device)
    node, nodes = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    rank, ranks = node * processes + local, nodes * processes
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, float(rank))
    reduce = Reducer(model, device, local, processes)

    for _ in range(args.warm_up):
        reduce()
    start = time.perf_counter()
    for _ in range(args.iterations):
        reduce()
    step_s = (time.perf_counter() - start) / args.iterations
    if not bool((reduce.sums == ranks * (ranks - 1) / 2).all()):
        raise SystemExit(f"rank {rank}: a sum is wrong")
    if rank == 0:
        size = reduce.sums.nbytes
        found = {"ranks": ranks, "bytes": size, "algorithm_gbytes_per_s": size / step_s / 1e9}
        found["bus_gbytes_per_s"] = found["algorithm_gbytes_per_s"] * 2 * (ranks - 1) / ranks
        print(json.dumps(found), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=torch.cuda.device_count() or 2)
    parser.add_argument("--layers", type=int, default=46, help="of 4 MiB (46: the paper's recipe)")
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--warm-up", type=int, default=200)
    parser.add_argument("--iterations", type=int, default=100)
    args = parser.parse_args()
    torch.multiprocessing.spawn(process, args=(args.processes, args), nprocs=args.processes)


if __name__ == "__main__":
    main()
