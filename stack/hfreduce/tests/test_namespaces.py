"""Nodes with networks of their own, and zones with one cable between them."""

from __future__ import annotations

import hashlib
from typing import Any

import namespaces
import numpy as np
import pytest
from jobs import run
from namespaces import Nodes

pytestmark = pytest.mark.skipif(bool(namespaces.missing()), reason=namespaces.missing())

SIZES = (1, 1000, 300_001, 2_000_000)
MANY = 32
"""Ranks, of whom each makes what all of them give: then the last size is left out."""
BETWEEN = 16 << 20
LARGE = 256 << 20


def _sums(_pipe: Any) -> str:
    import hfreduce

    digest = hashlib.sha256()
    with hfreduce.Communicator() as job:
        for size in SIZES if job.world_size < MANY else SIZES[:-1]:
            exact, room, own = np.zeros(size), np.zeros(size), np.zeros(0, np.float32)
            for rank in range(job.world_size):
                given = np.random.default_rng(rank).standard_normal(size).astype(np.float32)
                exact += given
                room += np.abs(given) * (2.0**-23 * job.world_size)
                own = given if rank == job.rank else own
            array = own.copy()
            job.allreduce(array)
            assert (np.abs(array - exact) <= room).all()
            again = [own.copy() for _ in range(3)]
            for work in [job.allreduce(each, wait=False) for each in again]:
                work.wait()
            assert all(each.tobytes() == array.tobytes() for each in again)
            digest.update(array.tobytes())
            wide = np.repeat(own, 2)
            job.allreduce(wide[::2])
            assert wide[::2].tobytes() == array.tobytes()
            assert (wide[1::2] == own).all()
    return digest.hexdigest()


def _all_the_same(ranks: int, local: int, *zones: int) -> None:
    with Nodes(*zones) as nodes:
        digests = run(_sums, ranks, local, nodes=nodes)
    assert len(set(digests)) == 1


def test_sums_over_a_network() -> None:
    _all_the_same(5, 2, 2, 1)


@pytest.mark.full
@pytest.mark.parametrize(
    ("ranks", "local", "zones"),
    [
        (2, 1, (2,)),
        (8, 8, (1,)),
        (15, 8, (2,)),
        (3, 1, (1, 1, 1)),
        (12, 4, (3,)),
        (8, 2, (3, 1)),
        (5, 1, (2, 3)),
        (18, 3, (6,)),
        (7, 1, (7,)),
        (8, 1, (4, 4)),
        (23, 3, (5, 3)),
        (64, 8, (8,)),
    ],
)
def test_sums_over_networks_of_many_shapes(ranks: int, local: int, zones: tuple[int, ...]) -> None:
    _all_the_same(ranks, local, *zones)


def _ones(_pipe: Any, size: int) -> None:
    import hfreduce

    with hfreduce.Communicator() as job:
        array = np.full(size, job.rank + 1, np.float32)
        job.allreduce(array)
        assert (array == job.world_size * (job.world_size + 1) // 2).all()


def test_zones_exchange_what_one_pair_of_nodes_has_to() -> None:
    with Nodes(2, 3, order=(0, 3, 1, 2, 4)) as nodes:
        run(_ones, 5, 1, BETWEEN // 4, nodes=nodes)
        for went_bytes in nodes.between_zones(1):
            assert BETWEEN <= went_bytes < 1.15 * BETWEEN


@pytest.mark.full
@pytest.mark.parametrize("local", [1, 2])
def test_256_mebibytes_over_a_network(local: int) -> None:
    with Nodes(4 // local) as nodes:
        run(_ones, 4, local, LARGE // 4, nodes=nodes)
