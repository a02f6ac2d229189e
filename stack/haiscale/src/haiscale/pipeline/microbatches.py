"""Cutting a batch into microbatches."""

from __future__ import annotations

from math import gcd
from typing import Any

from torch import Tensor

from haiscale.errors import HaiscaleError

Chunks = list[tuple[Any, ...]]


def batch_size(inputs: tuple[Any, ...]) -> int:
    """Return the number of samples: the rows of the first tensor."""
    for value in inputs:
        if isinstance(value, Tensor) and value.dim():
            return value.shape[0]
    raise HaiscaleError(
        "no argument of the pipeline is a tensor with rows; every rank passes the batch, though"
        " only the first stage reads it"
    )


def split(values: tuple[Any, ...], batch: int, chunks: int) -> Chunks:
    """Cut every tensor that has a row a sample; hand anything else to every microbatch whole."""
    columns = [
        value.chunk(chunks)
        if isinstance(value, Tensor) and value.dim() and value.shape[0] == batch
        else (value,) * chunks
        for value in values
    ]
    return [tuple(column[chunk] for column in columns) for chunk in range(chunks)]


def check_batch(batch: int, chunks: int) -> None:
    """Refuse a batch that does not fall into equal microbatches."""
    if batch == 0 or batch % chunks:
        nearest = gcd(batch, chunks) if batch else 1
        raise HaiscaleError(
            f"the batch has {batch} rows, which do not fall into {chunks} equal chunks: pad or drop"
            f" to a multiple of {chunks}, or take chunks={nearest}"
        )
