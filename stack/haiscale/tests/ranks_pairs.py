"""What the ranks of test_pairs do: kinds of parallelism together, from one mesh."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from haiscale import pipeline
from haiscale.clip import clip_grad_norm_
from haiscale.ddp import DistributedDataParallel
from haiscale.expert import MoE
from haiscale.fsdp import FullyShardedDataParallel
from haiscale.mesh import ParallelMesh, make_mesh
from haiscale.pipeline import Pipeline, partition
from haiscale.pipeline.stage import bare
from haiscale.shares import whole_state
from haiscale.tensor import parallelize
from models import BATCH, STEPS, WIDTH, Block, Task, cross_entropy, gpt, optimizer, sentences
from ranks_tensor import PLAN, SWITCH

CLIP = 0.1
ACCUMULATED = 2
CHUNKS = 2
EXPERTS = 4


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Degrees, and what wraps the replicas; the data-parallel degree is what is left."""

    pp: int = 1
    tp: int = 1
    ep: int = 1
    shard: int | None = None
    data: str = "ddp"
    schedule: str = "PipeDream"
    checkpoint: str = "never"


PAIRS = {
    "ddp": Pair(),
    "fsdp": Pair(data="fsdp"),
    "ddp x fsdp": Pair(data="fsdp", shard=2),
    "ddp x pp": Pair(pp=2),
    "ddp x pp, interleaved": Pair(pp=2, schedule="Interleaved1F1B"),
    "ddp x pp, backward split": Pair(pp=2, schedule="ZeroBubble"),
    "ddp x pp, stages recomputed": Pair(pp=2, schedule="GPipe", checkpoint="always"),
    "ddp x tp": Pair(tp=2),
    "ddp x ep": Pair(ep=2),
    "ddp x ep, all": Pair(ep=4),
    "fsdp x pp": Pair(pp=2, data="fsdp"),
    "fsdp x pp, interleaved": Pair(pp=2, data="fsdp", schedule="Interleaved1F1B"),
    "fsdp x pp, stages recomputed": Pair(pp=2, data="fsdp", checkpoint="always"),
    "fsdp x tp": Pair(tp=2, data="fsdp"),
    "fsdp x ep": Pair(ep=2, data="fsdp"),
    "pp x tp": Pair(pp=2, tp=2, data="none"),
    "pp x ep": Pair(pp=2, ep=2),
    "pp x ep, backward split": Pair(pp=2, ep=2, schedule="ZeroBubble"),
    "tp x ep": Pair(tp=2, ep=2),
    "tp x ep, fsdp": Pair(tp=2, ep=2, data="fsdp"),
}
OF_EIGHT = {
    "ddp x pp x tp x ep": Pair(pp=2, tp=2, ep=2),
    "fsdp x pp x tp": Pair(pp=2, tp=2, data="fsdp"),
    "ddp x fsdp x tp": Pair(tp=2, data="fsdp", shard=2),
    "pp x ep, replicas of experts": Pair(pp=2, ep=2, schedule="ZeroBubble"),
}


def model(pair: Pair, mesh: ParallelMesh | None = None) -> nn.Sequential:
    """Return the GPT, of experts if they are spread; what a rank holds is what one would hold."""
    if pair.ep == 1:
        return gpt()
    whole = gpt(4, lambda: MoE(WIDTH, WIDTH, EXPERTS, 2))
    if mesh is None:
        return whole
    groups = (mesh.ep_group, mesh.expert_replicas)
    mine = gpt(4, lambda: MoE(WIDTH, WIDTH, EXPERTS, 2, *groups))
    state = whole.state_dict()
    mine.load_state_dict({name: state[name] for name in mine.state_dict()})
    return mine


def task_of(pair: Pair) -> Task:
    return Task(lambda: model(pair), sentences, cross_entropy)


def wrapped(part: nn.Module, pair: Pair, mesh: ParallelMesh) -> nn.Module:
    """Cut and replicate or shard this rank's layers."""
    for block in part.modules():
        if isinstance(block, Block):
            block.recompute = True
    if pair.tp > 1:
        plan = {name: cut for name, cut in PLAN.items() if pair.ep == 1 or "feed" not in name}
        parallelize(part, mesh.tp, plan)  # type: ignore[arg-type]
    if pair.data == "fsdp":
        return FullyShardedDataParallel(part, auto_wrap_policy={Block}, device_mesh=mesh.data)
    if pair.data == "ddp":
        return DistributedDataParallel(part, process_group=mesh.dp_group, reduce_with="group")
    return part


def built(pair: Pair, mesh: ParallelMesh) -> nn.Module:
    whole = model(pair, mesh)
    if pair.pp == 1:
        return wrapped(whole, pair, mesh)
    kind = getattr(pipeline, pair.schedule)
    rank, size = mesh.pp_group.rank(), mesh.pp_group.size()
    if pair.schedule in ("GPipe", "PipeDream"):
        part = wrapped(partition(whole, rank, size), pair, mesh)
        return kind(part, CHUNKS, process_group=mesh.pp_group, checkpoint=pair.checkpoint)
    parts = partition(whole, rank, size, num_model_chunks=2)
    return kind([wrapped(p, pair, mesh) for p in parts], CHUNKS, process_group=mesh.pp_group)


def backward(run: nn.Module, x: Tensor, y: Tensor, *, last: bool) -> Tensor | None:
    """Add the gradients of one part of a step's batch; return its share of the loss."""
    if isinstance(run, Pipeline):
        losses, _ = run.forward_backward(
            x,
            criterion=lambda out, label: cross_entropy(out, label) / CHUNKS / ACCUMULATED,
            labels=(y,),
        )
        return None if losses is None else losses.sum()
    with nullcontext() if last or not hasattr(run, "no_sync") else run.no_sync():
        loss = cross_entropy(run(x), y) / ACCUMULATED
        loss.backward()
    return loss.detach()


def train(pair: Pair, *, clip_with: str = "model") -> dict[str, Any]:
    mesh = make_mesh(
        "cpu",
        pp=pair.pp,
        tp=pair.tp,
        ep=pair.ep,
        shard=pair.shard,
        node=SWITCH,
        ranks_per_node=dist.get_world_size(),
    )
    run = built(pair, mesh)
    steps = optimizer(run.parameters())
    dp, rank = mesh.layout.dp, mesh.dp_group.rank()
    losses, norms = [], []
    for step in range(STEPS):
        total: Tensor | None = None
        for number in range(ACCUMULATED):
            x, y = (
                each.view(ACCUMULATED, dp, BATCH // dp // ACCUMULATED, -1)[number, rank]
                for each in sentences(step)
            )
            part = backward(run, x, y, last=number == ACCUMULATED - 1)
            total = part if total is None or part is None else total + part
        if clip_with == "model":
            norms.append(float(clip_grad_norm_(run, CLIP)))
        else:
            norms.append(float(nn.utils.clip_grad_norm_(run.parameters(), CLIP)))
        steps.step()
        steps.zero_grad()
        if total is not None:
            dist.all_reduce(total, group=mesh.dp_group)
            losses.append(float(total) / dp)
    parts = run.module if isinstance(run, Pipeline) else run
    parts = parts if isinstance(parts, nn.ModuleList) else [parts]
    state: dict[str, Tensor] = {}
    for each in parts:
        state |= {name: value.clone() for name, value in whole_state(bare(each)).items()}
    return {"losses": losses, "norms": norms, "state": state}


def work(names: dict[str, Pair]) -> dict[str, Any]:
    torch.manual_seed(dist.get_rank())
    return {name: train(pair) for name, pair in names.items()}


def controls() -> dict[str, Any]:
    """What torch's function does, which sees one rank."""
    return {name: train(PAIRS[name], clip_with="torch") for name in ("ddp x ep", "ddp x pp")}
