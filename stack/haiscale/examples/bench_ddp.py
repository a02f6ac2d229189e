"""Time a training step of replicas whose gradients HFReduce adds, and one whose group does.

torchrun --nproc-per-node 4 bench_ddp.py --models gpt cnn
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import gpt
import torch
import torch.distributed as dist
import train_cnn_ddp
from launch import init
from torch import Tensor, nn

from haiscale.ddp import DistributedDataParallel, ReduceWith

WIDTH = 1024
Loss = Callable[[nn.Module, int], Tensor]


@dataclass(frozen=True)
class Model:
    """What is trained, and a step's loss on this rank's share of the batch."""

    make: Callable[[], nn.Module]
    loss: Loss


def models(args: argparse.Namespace, device: torch.device) -> dict[str, Model]:
    rank, ranks = dist.get_rank(), dist.get_world_size()

    def linear() -> nn.Module:
        return nn.Sequential(*(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(args.layers)))

    def linear_loss(model: nn.Module, step: int) -> Tensor:
        return model(torch.ones(args.batch // ranks, WIDTH, device=device)).square().mean()

    def gpt_loss(model: nn.Module, step: int) -> Tensor:
        tokens = gpt.sample(step, args.batch).chunk(ranks)[rank].to(device)
        return gpt.GPTLoss()(model(tokens), tokens)

    def cnn_loss(model: nn.Module, step: int) -> Tensor:
        drawn = train_cnn_ddp.sample(step, args.batch)
        pictures, labels = (x.chunk(ranks)[rank].to(device) for x in drawn)
        return nn.functional.cross_entropy(model(pictures), labels)

    known = {
        "gpt": Model(gpt.gpt, gpt_loss),
        "cnn": Model(train_cnn_ddp.cnn, cnn_loss),
        "linear": Model(linear, linear_loss),
    }
    return {name: known[name] for name in args.models}


def times_s(replica: nn.Module, loss: Loss, steps: int, device: torch.device) -> list[float]:
    """Return what each step took, on the slowest rank."""
    optimizer = torch.optim.SGD(replica.parameters(), lr=1e-4)
    taken = torch.zeros(steps, device=device)
    for step in range(steps):
        dist.barrier()
        start = time.perf_counter()
        optimizer.zero_grad()
        loss(replica, step).backward()
        optimizer.step()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        taken[step] = time.perf_counter() - start
    dist.all_reduce(taken, dist.ReduceOp.MAX)
    return taken.tolist()


def compared(
    model: Model, ways: list[ReduceWith], args: argparse.Namespace, device: torch.device
) -> dict[str, float]:
    """Return the median step of each way; they take turns."""
    torch.manual_seed(0)
    replicas = {
        way: DistributedDataParallel(model.make().to(device), reduce_with=way) for way in ways
    }
    times: dict[ReduceWith, list[float]] = {way: [] for way in ways}
    for turn in range(args.rounds + 1):
        for way, replica in replicas.items():
            taken = times_s(replica, model.loss, args.steps, device)
            times[way] += taken if turn else []  # the first warms up
    found = {f"{way}_step_s": statistics.median(times[way]) for way in ways}
    parameters = replicas[ways[0]].parameters()
    found["gradient_bytes"] = sum(each.nbytes for each in parameters)
    if "hfreduce" in ways:
        found["ratio"] = found["group_step_s"] / found["hfreduce_step_s"]
    for replica in replicas.values():
        replica.reducer.stop()
    return found


def table(found: dict[str, dict[str, float]], backend: str, ranks: int) -> str:
    lines = [
        f"{'model':8} {'gradients':>14} {backend:>10} {'hfreduce':>10} {'ratio':>6} {ranks} ranks"
    ]
    for name, each in found.items():
        line = f"{name:8} {each['gradient_bytes']:>12,} B {each['group_step_s'] * 1e3:>7.2f} ms"
        if "ratio" in each:
            line += f" {each['hfreduce_step_s'] * 1e3:>7.2f} ms {each['ratio']:>6.2f}"
        lines.append(line)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="+", choices=("gpt", "cnn", "linear"), default=["linear"])
    parser.add_argument("--layers", type=int, default=46, help="of 4 MiB (46: the paper's recipe)")
    parser.add_argument("--batch", type=int, default=64, help="of all ranks together")
    parser.add_argument("--steps", type=int, default=5, help="of a turn")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()

    device = init()
    ways: list[ReduceWith] = ["group"]
    if importlib.util.find_spec("hfreduce"):
        ways.append("hfreduce")
    backend, ranks = dist.get_backend(), dist.get_world_size()
    found = {
        name: compared(model, ways, args, device) for name, model in models(args, device).items()
    }
    if dist.get_rank() == 0 and args.json:
        print(json.dumps({"ranks": ranks, "backend": backend, "models": found}), flush=True)
    elif dist.get_rank() == 0:
        print(table(found, backend, ranks), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
