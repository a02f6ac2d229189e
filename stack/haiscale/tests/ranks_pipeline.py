"""What the ranks of test_pipeline do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from haiscale import pipeline
from haiscale.ddp import DistributedDataParallel
from haiscale.pipeline import (
    Batched,
    DualPipeV,
    GPipe,
    Interleaved1F1B,
    PipeDream,
    Pipeline,
    Replicated,
    SequentialModel,
    make_subgroups,
    partition,
)
from models import BATCH, STEPS, TASKS, Attention, Task, cross_entropy, optimizer, refusals

ONE_STAGE = ["GPipe", "PipeDream"]
MANY_STAGES = ["Interleaved1F1B", "ZeroBubble", "ZBV", "DualPipeV"]
SCHEDULES = ONE_STAGE + MANY_STAGES


def make(
    name: str,
    model: nn.Sequential,
    group: dist.ProcessGroup | None = None,
    wrap: Callable[[nn.Module], nn.Module] = lambda part: part,
    few: int = 4,
    **options: Any,
) -> Pipeline:
    """Return a pipeline over a group, each part wrapped."""
    kind = getattr(pipeline, name)
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    if name in ONE_STAGE:
        part = partition(model, rank, size)
        return kind(wrap(part), few, process_group=group, **options)
    parts = partition(model, rank, size, num_model_chunks=2, style=kind.style)
    chunks = 2 * size if name == "DualPipeV" else 4
    return kind([wrap(part) for part in parts], chunks, process_group=group, **options)


def bare_state(pipe: Pipeline) -> dict[str, Tensor]:
    """Return what this rank holds of the model, under the model's names."""
    parts = pipe.module if isinstance(pipe.module, nn.ModuleList) else [pipe.module]
    found: dict[str, Tensor] = {}
    for part in parts:
        inner = part.module if isinstance(part, DistributedDataParallel) else part
        found |= {name: value.clone() for name, value in inner.state_dict().items()}
    return found


def train(pipe: Pipeline, task: Task, dp: dist.ProcessGroup | None = None) -> dict[str, Any]:
    """Train; return the losses, the state, and the outputs for a batch that is no multiple."""
    steps = optimizer(pipe.parameters())
    losses = []
    for step in range(STEPS):
        x, y = task.batch(step)
        if dp is not None:
            x, y = (each.chunk(dp.size())[dp.rank()] for each in (x, y))
        loss, outputs = pipe.forward_backward(
            x, criterion=lambda out, label: task.loss(out, label) / pipe.chunks, labels=(y,)
        )
        assert outputs is None
        if step == 2:
            pipe(x)  # an evaluation in between leaves the gradients alone
        steps.step()
        steps.zero_grad()
        if loss is not None:
            assert loss.shape == (pipe.chunks,)
            total = loss.sum()
            if dp is not None:
                dist.all_reduce(total, group=dp)
                total /= dp.size()
            losses.append(float(total))
    state = bare_state(pipe)
    outputs = pipe(task.batch(9)[0][:6])
    return {"losses": losses, "state": state, "outputs": outputs, "last": pipe.is_last_stage}


def work() -> dict[str, Any]:
    """Four stages on four ranks."""
    found: dict[str, Any] = {
        f"{name} gpt": train(make(name, TASKS["gpt"].model()), TASKS["gpt"]) for name in SCHEDULES
    }
    found |= {
        f"{name} cnn": train(make(name, TASKS["cnn"].model()), TASKS["cnn"])
        for name in ("GPipe", "Interleaved1F1B")
    }
    for name, checkpoint in (
        ("GPipe", "except_last"),
        ("PipeDream", "always"),
    ):
        pipe = make(name, TASKS["gpt"].model(), checkpoint=checkpoint)
        found[f"{name} gpt {checkpoint}"] = train(pipe, TASKS["gpt"])
    for name in ONE_STAGE:
        for few in (1, 2):
            pipe = make(name, TASKS["gpt"].model(), few=few)
            found[f"{name} gpt {few}"] = train(pipe, TASKS["gpt"])
    found["both"] = both()
    found["return outputs"] = returned()
    found["tuples"] = [tuples(5), tuples(BATCH)]
    found["norms"] = norms()
    found["runs"] = runs()
    found["reshaped"] = reshaped()
    found["wrong"] = wrong()
    return found


def returned() -> Tensor | None:
    x, y = TASKS["gpt"].batch(0)
    pipe = make("PipeDream", TASKS["gpt"].model())
    _, outputs = pipe.forward_backward(x, criterion=cross_entropy, labels=(y,), return_outputs=True)
    return outputs


class Gather(nn.Module):
    """Adds rows of a table that every microbatch gets whole, by an index that passes along."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor, index: Tensor, table: Tensor) -> tuple[Tensor, ...]:
        return self.linear(x).tanh() + table[index], index, table


class Last(nn.Module):
    def forward(self, x: Tensor, index: Tensor, table: Tensor) -> Tensor:
        return x * (1 + index.unsqueeze(-1))


def gather_model() -> SequentialModel:
    torch.manual_seed(3)
    return SequentialModel(*[Gather() for _ in range(7)], Last()).double()


def tuples(rows: int) -> dict[str, Any]:
    """Stages that pass on several tensors: of floats, of numbers, and a table that is no batch.

    The criterion has a constant too: a weight of each sample of a chunk, as many as the batch has.
    """
    draw = torch.Generator().manual_seed(1)
    x = torch.randn(BATCH, 4, generator=draw, dtype=torch.float64)
    index = torch.randint(rows, (BATCH,), generator=draw)
    table = torch.randn(rows, 4, generator=draw, dtype=torch.float64)
    offsets = torch.randn(BATCH, dtype=torch.float64, generator=draw)

    def criterion(out: Tensor, wanted: Tensor, offsets: Tensor) -> Tensor:
        return (out.sum(-1) - wanted).square().mean() * offsets.square().sum()

    model = gather_model()
    loss = criterion(model(x, index, table), index, offsets)
    loss.backward()
    wanted = {name: p.grad for name, p in model.named_parameters()}
    worst, losses = [], []
    for name in ("PipeDream", "Interleaved1F1B", "ZBV"):
        pipe = make(name, gather_model())
        total, _ = pipe.forward_backward(
            Batched(x),
            Batched(index),
            Replicated(table),
            criterion=lambda *given: criterion(*given) / 4,
            labels=(Batched(index), Replicated(offsets)),
        )
        if total is not None:
            losses.append(float(total.sum() - loss))
        parts = pipe.module if isinstance(pipe.module, nn.ModuleList) else [pipe.module]
        for part in parts:
            for key, parameter in part.named_parameters():
                worst.append(float((parameter.grad - wanted[key]).abs().max()))
    return {"worst": max(map(abs, worst + losses))}


def norms() -> dict[str, Any]:
    """Running averages see every microbatch once, and nothing else."""
    torch.manual_seed(3)
    model = nn.Sequential(*[nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)) for _ in range(4)])
    pipe = make("GPipe", model.double())
    x = torch.randn(BATCH, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    random = torch.get_rng_state()
    pipe.forward_backward(x, criterion=lambda out: out.square().mean())
    counts = [int(buffer) for name, buffer in pipe.named_buffers() if "num_batches" in name]
    return {"counts": counts, "random": bool(torch.equal(random, torch.get_rng_state()))}


def runs() -> dict[str, tuple[int, int]]:
    """How often this rank's stage and its attentions run in a step, once it has been set up."""
    task, found = TASKS["gpt"], {}
    x, y = task.batch(0)
    for checkpoint in ("never", "except_last", "always"):
        pipe = make("GPipe", task.model(), checkpoint=checkpoint)
        stage: list[None] = []
        attention: list[None] = []
        pipe.forward_backward(x, criterion=task.loss, labels=(y,))
        pipe.module.register_forward_pre_hook(lambda *_, ran=stage: ran.append(None))
        for part in pipe.modules():
            if isinstance(part, Attention):
                part.attend = counted(part.attend, attention)  # type: ignore[method-assign]
        pipe.forward_backward(x, criterion=task.loss, labels=(y,))
        found[checkpoint] = (len(stage), len(attention))
    return found


def counted(function: Callable[..., Tensor], ran: list[None]) -> Callable[..., Tensor]:
    def call(*arguments: Tensor) -> Tensor:
        ran.append(None)
        return function(*arguments)

    return call


def reshaped() -> dict[str, Any]:
    """A second shape of batch, and the first again."""
    task = TASKS["gpt"]
    pipe = make("PipeDream", task.model())
    losses = []
    for rows in (BATCH, BATCH // 2, BATCH):
        x, y = (each[:rows] for each in task.batch(0))
        loss, _ = pipe.forward_backward(x, criterion=task.loss, labels=(y,))
        losses.append(None if loss is None else float(loss.mean()))
    return {"losses": losses}


def wrong() -> list[str]:
    model = TASKS["gpt"].model()
    rank, size = dist.get_rank(), dist.get_world_size()
    pipe = make("PipeDream", model)
    x, y = TASKS["gpt"].batch(0)
    loop = partition(model, rank, size, num_model_chunks=2)
    tries: list[Callable[[], object]] = [
        lambda: pipe.forward_backward(x[:14], criterion=cross_entropy, labels=(y[:14],)),
        lambda: pipe.forward_backward(criterion=cross_entropy),
        lambda: pipe.forward_backward(x, "text", criterion=cross_entropy),
        lambda: pipe.forward_backward(x, x[:5], criterion=cross_entropy),
        lambda: pipe.forward_backward(x, criterion=cross_entropy, labels=(y, y)),
        lambda: pipe.forward_backward(x, criterion=cross_entropy, labels=(y[:5],)),
        lambda: pipe(Batched(x), y),
        lambda: GPipe(partition(model, rank, size), 0),
        lambda: GPipe(partition(model, rank, size), 8, checkpoint="often"),
        lambda: GPipe(loop, 8),
        lambda: PipeDream(partition(model, (rank + 1) % size, size), 8),
        lambda: Interleaved1F1B(model, 8),
        lambda: Interleaved1F1B(loop, 10 + 1),
        lambda: DualPipeV(partition(model, rank, size, num_model_chunks=2, style="v"), 4),
        lambda: pipeline.ZBV(loop, 8),
        lambda: make_subgroups(3),
    ]
    return refusals(tries)


def both() -> dict[str, Any]:
    """Two pipelines of two stages, as data-parallel replicas."""
    dp, pp = make_subgroups(pp_size=2, ranks_per_node=2)
    task = TASKS["gpt"]

    def replica(part: nn.Module) -> nn.Module:
        return DistributedDataParallel(part, process_group=dp)

    found: dict[str, Any] = {
        name: train(make(name, task.model(), pp, replica), task, dp) for name in SCHEDULES
    }
    found["checkpoint"] = train(
        make("GPipe", task.model(), pp, replica, checkpoint="except_last"), task, dp
    )
    found["always"] = train(
        make("PipeDream", task.model(), pp, replica, checkpoint="always"), task, dp
    )
    found["control"] = train(make("PipeDream", task.model(), pp), task, dp)
    found["ranks"] = [dist.get_process_group_ranks(group) for group in (dp, pp)]
    found["stops"] = stops(dp, pp)
    return found


def stops(dp: dist.ProcessGroup, pp: dist.ProcessGroup) -> bool:
    """As the published example ends: `gpt.module.reducer.stop()`."""
    part = partition(TASKS["gpt"].model(), pp.rank(), pp.size())
    gpt = PipeDream(DistributedDataParallel(part, process_group=dp), 4, process_group=pp)
    gpt.module.reducer.stop()
    return bool(gpt.module.module.state_dict())
