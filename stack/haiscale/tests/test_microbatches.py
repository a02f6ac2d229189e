"""What is cut into chunks and what goes whole is what the caller said, whatever the shapes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from haiscale.errors import HaiscaleError
from haiscale.pipeline import Batched, Replicated
from haiscale.pipeline.microbatches import arguments


@given(chunks=st.integers(2, 4), size=st.integers(1, 3), rows=st.integers(1, 12))
def test_what_is_said_decides_and_not_the_rows(chunks: int, size: int, rows: int) -> None:
    batch = torch.arange(chunks * size)
    table = torch.arange(rows)
    given = arguments("input", (Replicated(table), Batched(batch), None, 2.0), cuts=True)
    found = given.split(given.rows, chunks)
    assert len(found) == chunks
    assert torch.cat([each[1] for each in found]).equal(batch)
    assert all(each[0] is table and each[2:] == (None, 2.0) for each in found)


@pytest.mark.parametrize("value", [torch.arange(4), Batched(torch.arange(4))])
def test_one_tensor_is_the_batch(value: Any) -> None:
    given = arguments("input", (torch.tensor(3), value, "text"), cuts=True)
    assert given.cut == (False, True, False)
    assert given.rows == 4


def test_one_chunk_leaves_nothing_to_say() -> None:
    values = (torch.arange(2), torch.arange(2), {"index": torch.arange(3)}, Replicated([1]))
    given = arguments("input", values, cuts=False)
    assert given.split(None, 1) == [(*values[:3], [1])]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((torch.ones(4, 2), torch.ones(4)), r"^input 1 is a tensor of shape \[4\] beside other"),
        ((Batched(torch.ones(4)), torch.ones(3)), r"^input 1 is a tensor of shape \[3\] beside"),
        ((torch.ones(4), Batched(torch.ones(4))), r"^input 0 is a tensor of shape \[4\] beside"),
        (({"mask": torch.ones(4)},), "^input 0 is a dict, which cannot be cut into chunks"),
        (([torch.ones(4)],), "^input 0 is a list, which cannot be cut into chunks"),
    ],
)
def test_what_is_not_said_is_refused(values: tuple[Any, ...], message: str) -> None:
    with pytest.raises(HaiscaleError, match=message):
        arguments("input", values, cuts=True)


def test_only_a_tensor_with_rows_is_cut() -> None:
    with pytest.raises(HaiscaleError, match=r"^Batched is given a tensor of shape"):
        Batched(torch.tensor(1.0))
    with pytest.raises(HaiscaleError, match=r"^Batched is given a list; it takes a tensor"):
        Batched([1])  # type: ignore[arg-type]
    given = arguments("label", (Batched(torch.ones(4)),), cuts=True)
    with pytest.raises(HaiscaleError, match=r"^label 0 has 4 rows, the batch 8: write"):
        given.split(8, 2)
