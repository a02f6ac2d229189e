"""How the ranks of a torch process group find each other: by torch's store."""

from __future__ import annotations

import json
import os
import secrets
import socket
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from torch._C._distributed_c10d import Store

from hfreduce.addresses import own_address
from hfreduce.errors import HFReduceError
from hfreduce.settings import JobSettings, NodeSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """Who a rank of a group is, and by which address other nodes reach it."""

    job: JobSettings
    address: str
    """Empty in a group of one node."""


def meet(store: Store, rank: int, size: int, timeout: timedelta, node: NodeSettings) -> Meeting:
    """Agree by torch's store on who is where, and on a secret.

    Raises:
        HFReduceError: the ranks of a node do not follow on each other, or rank 0 of a group of
            several nodes has no address but loopback.
    """
    head = os.environ.get("MASTER_ADDR", "127.0.0.1")
    here = f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()} {_network()}"
    own = {"node": here, "address": own_address(node.interface, [head])}
    store.set(f"hfreduce/{rank}", json.dumps(own))
    ranks = [json.loads(_get(store, f"hfreduce/{each}", timeout)) for each in range(size)]
    local = [each for each in range(size) if ranks[each]["node"] == here]
    if local != list(range(local[0], local[-1] + 1)):
        raise HFReduceError(
            f"the group's ranks {', '.join(map(str, local))} share a node and do not follow on"
            " each other; give new_group() its ranks node by node"
        )
    others = [each["address"] for each in ranks if each["node"] != here and each["address"]]
    if rank == 0:
        address = own_address(node.interface, [head, *others]) if len(local) < size else "127.0.0.1"
        store.set("hfreduce/meeting", json.dumps(_meeting_at(address)))
    meeting = json.loads(_get(store, "hfreduce/meeting", timeout))
    if not meeting["host"]:
        raise HFReduceError(
            "rank 0 has no IPv4 address but loopback, and the group has several nodes; set"
            " HFREDUCE_INTERFACE, or `interface` in its node.json, to the interface of the fabric"
        )
    job = JobSettings(
        rank=rank,
        world_size=size,
        local_rank=rank - local[0],
        local_size=len(local),
        host=meeting["host"],
        port=meeting["port"],
        secret=meeting["secret"].encode(),
    )
    address = own_address(node.interface, [meeting["host"], *others]) if job.networked else ""
    return Meeting(job=job, address=address)


def _meeting_at(address: str) -> dict[str, str | int]:
    if not address:
        return {"host": ""}
    with socket.create_server((address, 0)) as server:
        port = server.getsockname()[1]
    return {"host": address, "port": port, "secret": secrets.token_hex(32)}


def _get(store: Store, key: str, timeout: timedelta) -> str:
    store.wait([key], timeout)
    return store.get(key).decode()


def _network() -> str:
    """Return what tells this network namespace from others: a node's ranks share one."""
    return str(Path("/proc/self/ns/net").readlink())
