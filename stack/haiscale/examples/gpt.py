"""A small GPT as a sequence of layers, its loss, and text that it can learn."""

from __future__ import annotations

import torch
from torch import Tensor, nn

VOCABULARY, WIDTH, HEADS, CONTEXT = 97, 32, 4, 16


class Embedding(nn.Module):
    """Tokens and their positions."""

    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Embedding(VOCABULARY, WIDTH)
        self.position = nn.Parameter(torch.randn(1, CONTEXT, WIDTH) * 0.02)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.token(tokens) + self.position


class Block(nn.Module):
    """An attention that looks back, and a feed-forward layer."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.TransformerEncoderLayer(
            WIDTH, HEADS, 4 * WIDTH, 0.0, "gelu", batch_first=True, norm_first=True
        )
        mask = torch.ones(CONTEXT, CONTEXT, dtype=torch.bool).triu(1)
        self.register_buffer("mask", mask)

    def forward(self, x: Tensor) -> Tensor:
        return self.encoder(x, self.mask)


class Head(nn.Module):
    """What comes next."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.norm(x))


class GPTLoss(nn.Module):
    """The mean over a batch that comes in chunks: those of the chunks add up to it."""

    def __init__(self, chunks: int = 1) -> None:
        super().__init__()
        self.chunks = chunks

    def forward(self, logits: Tensor, tokens: Tensor) -> Tensor:
        predicted, wanted = logits[:, :-1], tokens[:, 1:]
        loss = nn.functional.cross_entropy(predicted.flatten(0, 1), wanted.flatten())
        return loss / self.chunks


def gpt(blocks: int = 6) -> nn.Sequential:
    """Return the layers, the same on every rank."""
    torch.manual_seed(12345)
    return nn.Sequential(Embedding(), *(Block() for _ in range(blocks)), Head())


def sample(step: int, batch: int) -> Tensor:
    """Return sentences in which each word follows from the one before."""
    generator = torch.Generator().manual_seed(step)
    words = [torch.randint(VOCABULARY, (batch,), generator=generator)]
    while len(words) < CONTEXT:
        words.append((words[-1] * 5 + 3) % VOCABULARY)
    return torch.stack(words, dim=1)
