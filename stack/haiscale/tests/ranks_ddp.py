"""What the ranks of test_ddp do."""

from __future__ import annotations

import logging
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from haiscale.ddp import DistributedDataParallel
from haiscale.errors import HaiscaleError
from models import STEPS, TASKS, Task, optimizer

FAKE = Path(__file__).parent / "fake_hfreduce"


def losses_of(task: Task, *, reduced: bool = True, **options: Any) -> dict[str, Any]:
    """Train replicas; return the mean loss of every step, and the parameters after them."""
    rank, world = dist.get_rank(), dist.get_world_size()
    model = task.model()
    if rank:
        for parameter in model.parameters():
            parameter.data.zero_()  # the first rank's must be taken
    replica = DistributedDataParallel(model, **options)
    steps = optimizer(replica.parameters())
    losses = []
    for step in range(STEPS):
        x, y = (each.chunk(world)[rank] for each in task.batch(step))
        with nullcontext() if reduced else replica.no_sync():
            loss = task.loss(replica(x), y)
            steps.zero_grad()
            loss.backward()
        steps.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses.append(float(mean) / world)
    state = {name: value.clone() for name, value in replica.module.state_dict().items()}
    replica.reducer.stop()
    return {"losses": losses, "state": state, "after_stop": after_stop(replica, task)}


def after_stop(replica: DistributedDataParallel, task: Task) -> list[str]:
    x, _ = task.batch(0)
    replica.reducer.stop()  # a second time does nothing
    with torch.no_grad():
        replica(x)
    try:
        replica(x)
    except HaiscaleError as error:
        return [str(error)]
    return []


def work(reduce_with: str) -> dict[str, Any]:
    if reduce_with == "fake":
        sys.path.insert(0, str(FAKE))
        reduce_with = "hfreduce"
    found: dict[str, Any] = {
        name: losses_of(task, reduce_with=reduce_with) for name, task in TASKS.items()
    }
    found["control"] = losses_of(TASKS["gpt"], reduced=False, reduce_with=reduce_with)
    return found


def order_of_buckets() -> list[str]:
    """When the fake was given buckets, and when the first layer had its gradient."""
    sys.path.insert(0, str(FAKE))
    from hfreduce.torch import EVENTS

    task = TASKS["gpt"]
    replica = DistributedDataParallel(task.model(), bucket_cap_mb=0.001)
    first = next(replica.parameters())
    first.register_post_accumulate_grad_hook(lambda _: EVENTS.append("first layer"))
    x, y = task.batch(0)
    for _ in range(2):  # torch fills the buckets in the order that the first backward showed
        EVENTS.clear()
        task.loss(replica(x), y).backward()
    return EVENTS


def others() -> dict[str, Any]:
    """What happens where hfreduce is not installed."""
    sys.modules["hfreduce"] = None  # type: ignore[assignment]
    return {"said": said(), "buckets": own_hook(), "wrong": wrong()}


def said() -> list[str]:
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("haiscale").addHandler(handler)
    for _ in range(2):
        DistributedDataParallel(TASKS["gpt"].model()).reducer.stop()
    return lines


def own_hook() -> int:
    """A communication hook of the user's, over the group's backend."""
    replica = DistributedDataParallel(TASKS["gpt"].model(), reduce_with="group")
    seen: list[int] = []

    def hook(_: object, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        seen.append(bucket.index())
        future: torch.futures.Future[torch.Tensor] = torch.futures.Future()
        future.set_result(bucket.buffer())
        return future

    hook.__annotations__.clear()  # torch reads them, and not as text
    replica.register_comm_hook(None, hook)
    x, y = TASKS["gpt"].batch(0)
    TASKS["gpt"].loss(replica(x), y).backward()
    return len(seen)


def wrong() -> list[str]:
    messages = []
    for options in ({"reduce_with": "nccl"}, {"reduce_with": "hfreduce"}):
        try:
            DistributedDataParallel(torch.nn.Linear(1, 1), **options)  # type: ignore[arg-type]
        except HaiscaleError as error:
            messages.append(str(error))
    return messages
