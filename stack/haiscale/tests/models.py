"""A GPT and a CNN, each small enough to train in a second, and how a single process trains them.

All is float64, so that two ways of adding up agree to 1e-9 and a wrong one does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from haiscale.errors import HaiscaleError
from haiscale.utils import on_demand_checkpoint

STEPS = 4
BATCH = 16
VOCABULARY = 19
WIDTH = 16
CONTEXT = 8
TOLERANCE = 1e-9
"""Relative, for losses and parameters of float64."""


def refusals(tries: Iterable[Callable[[], object]]) -> list[str]:
    """Return what each call is refused with; one that is not refused says `no error`."""
    messages = []
    for each in tries:
        try:
            each()
        except HaiscaleError as error:
            messages.append(str(error))
        else:
            messages.append("no error")
    return messages


class Embedding(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Embedding(VOCABULARY, WIDTH)
        self.position = nn.Parameter(torch.randn(CONTEXT, WIDTH) * 0.1)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.token(tokens) + self.position


class Attention(nn.Module):
    def __init__(self, heads: int = 2) -> None:
        super().__init__()
        self.head_width = WIDTH // heads
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        return self.out(
            on_demand_checkpoint(self.attend, self.query(x), self.key(x), self.value(x))
        )

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        heads = [
            each.unflatten(-1, (-1, self.head_width)).transpose(1, 2)
            for each in (query, key, value)
        ]
        return (
            functional.scaled_dot_product_attention(*heads, is_causal=True)
            .transpose(1, 2)
            .flatten(-2)
        )


class Block(nn.Module):
    def __init__(self, feed_forward: nn.Module | None = None) -> None:
        super().__init__()
        self.attention, self.norm, self.norm2 = (
            Attention(),
            nn.LayerNorm(WIDTH),
            nn.LayerNorm(WIDTH),
        )
        self.feed_forward = feed_forward or nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    recompute = False
    """Whether what it computes is forgotten, and computed again for the backward."""

    def forward(self, x: Tensor) -> Tensor:
        if self.recompute:
            return checkpoint(self.compute, x, use_reentrant=False)
        return self.compute(x)

    def compute(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm(x))
        return x + self.feed_forward(self.norm2(x))


class Head(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.norm(x))


def gpt(blocks: int = 6, feed_forward: Callable[[], nn.Module] = lambda: None) -> nn.Sequential:
    """Return a GPT of `blocks` + 2 layers, the same every time."""
    torch.manual_seed(7)
    middle = [Block(feed_forward()) for _ in range(blocks)]
    return nn.Sequential(Embedding(), *middle, Head()).double()


def cnn() -> nn.Sequential:
    """Return a CNN of 8 layers. Its norms see one sample each, as those of a batch would not."""
    torch.manual_seed(7)
    convolutions = [
        nn.Sequential(nn.Conv2d(8 if deep else 1, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.GELU())
        for deep in range(7)
    ]
    head = nn.Sequential(nn.AvgPool2d(2), nn.Flatten(), nn.Linear(128, 4))
    return nn.Sequential(*convolutions, head).double()


@dataclass(frozen=True)
class Task:
    """A model, its data and its loss."""

    model: Callable[[], nn.Sequential]
    batch: Callable[[int], tuple[Tensor, Tensor]]
    loss: Callable[[Tensor, Tensor], Tensor]


def sentences(step: int) -> tuple[Tensor, Tensor]:
    """Return a batch of sequences in which each token follows from the one before."""
    tokens = torch.randint(VOCABULARY, (BATCH, 1), generator=torch.Generator().manual_seed(step))
    for _ in range(CONTEXT):
        tokens = torch.cat([tokens, (tokens[:, -1:] * 3 + 1) % VOCABULARY], dim=1)
    return tokens[:, :-1], tokens[:, 1:]


def pictures(step: int) -> tuple[Tensor, Tensor]:
    """Return a batch of pictures with one bright quarter, and which it is."""
    draw = torch.Generator().manual_seed(step)
    label = torch.randint(4, (BATCH,), generator=draw)
    picture = torch.randn(BATCH, 1, 8, 8, generator=draw, dtype=torch.float64) * 0.3
    for index, quarter in enumerate(label.tolist()):
        row, column = 4 * (quarter // 2), 4 * (quarter % 2)
        picture[index, 0, row : row + 4, column : column + 4] += 1
    return picture, label


def cross_entropy(output: Tensor, label: Tensor) -> Tensor:
    return functional.cross_entropy(output.flatten(0, -2), label.flatten())


TASKS = {"gpt": Task(gpt, sentences, cross_entropy), "cnn": Task(cnn, pictures, cross_entropy)}


def optimizer(parameters: Iterable[Tensor]) -> torch.optim.Optimizer:
    return torch.optim.AdamW(parameters, lr=1e-2)


def alone(task: Task, clip: float | None = None) -> tuple[list[float], dict[str, Tensor]]:
    """Train in one process; return the loss of every step and the model's state after them."""
    model = task.model()
    steps = optimizer(model.parameters())
    losses = []
    for step in range(STEPS):
        x, y = task.batch(step)
        loss = task.loss(model(x), y)
        steps.zero_grad()
        loss.backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        steps.step()
        losses.append(loss.item())
    return losses, model.state_dict()


def learns(losses: list[float]) -> bool:
    """Return whether a trajectory of losses goes down at every step, and by much in all."""
    return losses == sorted(losses, reverse=True) and losses[-1] < 0.8 * losses[0]


def furthest(found: dict[str, Tensor], wanted: dict[str, Tensor]) -> float:
    """Return by how much the parameters differ at most."""
    assert found.keys() <= wanted.keys()
    assert found
    return max(float((found[name] - wanted[name]).abs().max()) for name in found)
