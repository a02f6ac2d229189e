"""Cutting a batch into microbatches: what is cut and what goes whole is said by the caller."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass
from math import gcd
from typing import Any

from torch import Tensor

from haiscale.errors import HaiscaleError

Chunks = list[tuple[Any, ...]]
_SAY = "write Batched(...) around it to cut it into chunks, or Replicated(...) to pass it whole"


@dataclass(frozen=True, slots=True, eq=False)
class Batched:
    """A tensor that has a row a sample, and is cut into chunks."""

    value: Tensor

    def __post_init__(self) -> None:
        if not isinstance(self.value, Tensor) or not self.value.dim():
            raise HaiscaleError(
                f"Batched is given {_described(self.value)}; it takes a tensor with a row a sample"
            )


@dataclass(frozen=True, slots=True, eq=False)
class Replicated:
    """A value that every chunk gets whole, whatever its shape."""

    value: Any


@dataclass(frozen=True, slots=True)
class Arguments:
    """The inputs or the labels of a batch, and which of them are cut.

    Attributes:
        what: "input" or "label", for errors.
        values: without Batched and Replicated around them.
        cut: by value, whether it has a row a sample.
    """

    what: str
    values: tuple[Any, ...]
    cut: tuple[bool, ...]

    @property
    def rows(self) -> int | None:
        """Samples: the rows of the first value that is cut; None if none is."""
        return next((v.shape[0] for v, cut in zip(self.values, self.cut, strict=True) if cut), None)

    def split(self, batch: int | None, chunks: int) -> Chunks:
        """Return the values of each chunk.

        Raises:
            HaiscaleError: a value that is cut has another number of rows than the batch.
        """
        columns = []
        for position, (value, cut) in enumerate(zip(self.values, self.cut, strict=True)):
            if cut and value.shape[0] != batch:
                raise HaiscaleError(
                    f"{self.what} {position} has {value.shape[0]} rows, the batch {batch}: {_SAY}"
                )
            columns.append(value.chunk(chunks) if cut else (value,) * chunks)
        return [tuple(column[chunk] for column in columns) for chunk in range(chunks)]


def arguments(what: str, values: tuple[Any, ...], *, cuts: bool) -> Arguments:
    """Return the values, and which of them are cut.

    A tensor of which nothing is said is the batch if it is the only one; shapes are not asked, as
    a constant may have as many rows as the batch.

    Args:
        what: "input" or "label".
        values: as the caller of the pipeline gave them.
        cuts: whether there are several chunks; else nothing need be said.

    Raises:
        HaiscaleError: it is not said whether a value is cut.
    """
    bare = tuple(v.value if isinstance(v, Batched | Replicated) else v for v in values)
    if not cuts:
        return Arguments(what, bare, (False,) * len(bare))
    unsaid = [p for p, v in enumerate(values) if isinstance(v, Tensor) and v.dim()]
    said = any(isinstance(value, Batched) for value in values)
    if len(unsaid) > 1 or (unsaid and said):
        position = unsaid[-1]
        raise HaiscaleError(
            f"{what} {position} is {_described(values[position])} beside other tensors, and nothing"
            f" says whether it has a row a sample: {_SAY}"
        )
    for position, value in enumerate(values):
        if isinstance(value, Sized) and not isinstance(value, Tensor | str | bytes):
            raise HaiscaleError(
                f"{what} {position} is {_described(value)}, which cannot be cut into chunks: pass"
                " its tensors one by one, or write Replicated(...) around it to pass it whole"
            )
    cut = tuple(isinstance(v, Batched) or p in unsaid for p, v in enumerate(values))
    return Arguments(what, bare, cut)


def check_batch(batch: int, chunks: int) -> None:
    """Refuse a batch that does not fall into equal microbatches."""
    if batch == 0 or batch % chunks:
        nearest = gcd(batch, chunks) if batch else 1
        raise HaiscaleError(
            f"the batch has {batch} rows, which do not fall into {chunks} equal chunks: pad or drop"
            f" to a multiple of {chunks}, or take chunks={nearest}"
        )


def _described(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"a tensor of shape {list(value.shape)}"
    return f"a {type(value).__name__}"
