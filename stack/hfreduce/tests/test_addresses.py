"""Rank 0's address is one that other nodes can reach."""

from __future__ import annotations

import socket
from typing import Any

import namespaces
import pytest
from hfreduce import HFReduceError, addresses
from hfreduce.bench import nodes as bench
from jobs import run


def _resolves(names: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.gethostbyname
    monkeypatch.setattr(socket, "gethostbyname", lambda name: names.get(name) or real(name))


@pytest.mark.parametrize(
    ("host", "listening"),
    [
        ("head", ""),  # Debian's 127.0.1.1 of a host's own name: every address
        ("other", "other"),
        ("127.0.0.1", "127.0.0.1"),  # asked for as such: ranks of one machine
        ("10.1.2.3", "10.1.2.3"),
    ],
)
def test_a_name_that_is_loopback_here_is_not_listened_at(
    host: str, listening: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _resolves({"head": "127.0.1.1", "other": "192.0.2.7"}, monkeypatch)
    assert addresses.listening_address(host, "") == listening


def test_own_address_is_never_loopback() -> None:
    assert addresses.own_address("", ["127.0.0.1", "localhost", "127.0.1.1"]) != "127.0.0.1"
    for peers in (["127.0.0.1"], []):
        found = addresses.own_address("", peers)
        assert not found or not addresses.is_loopback(found)


def test_an_interface_is_taken_as_named() -> None:
    assert addresses.own_address("lo", ["192.0.2.1"]) == "127.0.0.1"
    with pytest.raises(HFReduceError, match="interface ib9 has no IPv4 address"):
        addresses.own_address("ib9", [])


def test_the_interface_is_a_setting(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    from hfreduce.settings import node_settings

    file = tmp_path / "node.json"
    file.write_text('{"interface": "ibs1"}')
    assert node_settings(file).interface == "ibs1"
    monkeypatch.setenv("HFREDUCE_INTERFACE", "eth2")
    assert node_settings(file).interface == "eth2"


def _group_of_nodes(_pipe: Any, head: str) -> list[float]:
    """Make a torch group whose rank 0 resolves the head's name to loopback, as Debian has it."""
    import os

    import hfreduce.torch  # noqa: F401 - it registers the backend
    import torch
    import torch.distributed as dist

    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    store = dist.TCPStore(head, int(os.environ["MASTER_PORT"]), ranks, rank == 0)
    if rank == 0:
        os.environ["MASTER_ADDR"] = "127.0.1.1"
    dist.init_process_group("hfreduce", store=store, rank=rank, world_size=ranks)
    total = torch.full((2,), float(rank))
    dist.all_reduce(total)
    gathered = [torch.zeros(2) for _ in range(ranks)]
    dist.all_gather(gathered, total + rank)  # Gloo's
    dist.barrier()
    dist.destroy_process_group()
    return [float(each[0]) for each in gathered]


@pytest.mark.skipif(bool(namespaces.missing()), reason=namespaces.missing())
def test_nodes_meet_where_the_head_resolves_to_loopback() -> None:
    pytest.importorskip("torch")
    with namespaces.Nodes(2) as nodes:
        told = run(_group_of_nodes, 3, 2, bench.address(0), nodes=nodes)
    assert told == [[3.0, 4.0, 5.0]] * 3
