"""How the ranks of a job find each other, each proving that it knows the job's secret.

A node's first rank connects to rank 0. Rank 0 sends a random number; the node answers with its
own, what it is, and a message authentication code (HMAC, RFC 2104, with SHA-256) over all of it;
rank 0 answers with the table of nodes and a code of its own. Nothing is acted on before its code
was checked, and no one may send more than a few bytes, or take longer than a few seconds, before.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import socket
import struct
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hfreduce.errors import HFReduceError

STRANGER_S = 5.0
STRANGERS = 128
"""Connections at a time that have not shown the secret."""
_NODE_BYTES = 128 << 10
_TABLE_BYTES = 128 << 20
_NONCE_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeInfo:
    """What a node says of itself."""

    first_rank: int
    ranks: int
    world_size: int
    zone: str
    position: int
    chunk_bytes: int
    depth: int
    network_threads: int
    host: str
    up: tuple[bytes, ...]
    """UCX addresses of its threads that receive from below, by channel."""
    down: tuple[bytes, ...]
    """UCX addresses of its threads that receive from above, by channel."""

    def as_json(self) -> dict[str, Any]:
        """Return what from_json() reads."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        return plain | {
            "up": [base64.b64encode(each).decode() for each in self.up],
            "down": [base64.b64encode(each).decode() for each in self.down],
        }

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> NodeInfo:
        """Read what a node said.

        Raises:
            HFReduceError: it is not of the right form.
        """
        try:
            values = {name: said[name] for name in cls.__slots__}
            for side in ("up", "down"):
                values[side] = tuple(base64.b64decode(each) for each in values[side])
                if len(values[side]) != values["network_threads"]:
                    raise ValueError
            numbers = ("first_rank", "ranks", "world_size", "position", "chunk_bytes", "depth",
                       "network_threads")  # fmt: skip
            if any(type(values[name]) is not int for name in numbers):
                raise TypeError
            if any(type(values[name]) is not str for name in ("zone", "host")):
                raise TypeError
        except (KeyError, TypeError, ValueError):
            raise HFReduceError("a node's message is not of this version of hfreduce") from None
        return cls(**values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The nodes of a job, by first rank, and its number."""

    nodes: tuple[NodeInfo, ...]
    job: int


@dataclass(slots=True)
class _Gathering:
    """What rank 0 has so far."""

    own: NodeInfo
    secret: bytes
    nodes: dict[int, NodeInfo] = field(default_factory=dict)
    sockets: dict[int, socket.socket] = field(default_factory=dict)
    nonces: dict[int, tuple[bytes, bytes]] = field(default_factory=dict)
    error: str = ""
    changed: threading.Condition = field(default_factory=threading.Condition)

    def missing(self) -> list[int]:
        """Return the ranks that no node has brought."""
        there = {r for node in self.nodes.values() for r in _ranks(node)}
        return [rank for rank in range(self.own.world_size) if rank not in there]


def _ranks(node: NodeInfo) -> range:
    return range(node.first_rank, node.first_rank + node.ranks)


def gather(
    own: NodeInfo, secret: bytes, host: str, port: int, timeout_s: float
) -> tuple[Table, list[tuple[NodeInfo, socket.socket]]]:
    """Be rank 0: wait for every node, and give each the table.

    Returns:
        the table, and a connection to each other node.

    Raises:
        HFReduceError: a node did not come, or contradicts another.
    """
    gathering = _Gathering(own, secret, {own.first_rank: own})
    limit_s = time.monotonic() + timeout_s
    try:
        listener = socket.create_server((host, port), backlog=1024)
    except OSError as error:
        raise HFReduceError(f"rank 0 cannot listen at {host}:{port}: {error.strerror}") from None
    strangers = threading.Semaphore(STRANGERS)
    with listener:
        listener.settimeout(0.1)
        while True:
            with gathering.changed:
                if gathering.error or not gathering.missing():
                    break
            if time.monotonic() > limit_s:
                gathering.error = (
                    f"{_listed(gathering.missing())} did not come to {host}:{port} within"
                    f" {timeout_s:g} s"
                )
                break
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            if not strangers.acquire(blocking=False):
                connection.close()
                continue
            threading.Thread(
                target=_meet, args=(gathering, connection, strangers), daemon=True
            ).start()
    return _answer(gathering)


def _answer(gathering: _Gathering) -> tuple[Table, list[tuple[NodeInfo, socket.socket]]]:
    with gathering.changed:
        nodes = tuple(gathering.nodes[first] for first in sorted(gathering.nodes))
        table = Table(nodes=nodes, job=secrets.randbits(63))
        body = {"error": gathering.error} if gathering.error else _table_json(table)
        met = []
        for first, connection in sorted(gathering.sockets.items()):
            theirs, ours = gathering.nonces[first]
            try:
                _send_signed(connection, gathering.secret, b"table", theirs + ours, body)
            except OSError as error:
                gathering.error = gathering.error or f"rank {first} went away: {error}"
            met.append((gathering.nodes[first], connection))
    if gathering.error:
        for _, connection in met:
            connection.close()
        raise HFReduceError(gathering.error)
    return table, met


def _meet(gathering: _Gathering, connection: socket.socket, slot: threading.Semaphore) -> None:
    """Hear one connection out; whatever it sends, only a node with the secret gets anywhere."""
    try:
        connection.settimeout(STRANGER_S)
        deadline = time.monotonic() + STRANGER_S
        ours = secrets.token_bytes(_NONCE_BYTES)
        connection.sendall(ours)
        theirs = _exactly(connection, _NONCE_BYTES, deadline)
        said = _receive_signed(
            connection, gathering.secret, b"node", ours + theirs, _NODE_BYTES, deadline
        )
        node = NodeInfo.from_json(said)
    except (OSError, HFReduceError, ValueError):
        connection.close()
        return
    finally:
        slot.release()
    with gathering.changed:
        if problem := _contradiction(gathering, node):
            gathering.error = gathering.error or problem
        if not problem or node.first_rank not in gathering.nodes:
            gathering.nodes[node.first_rank] = node
            gathering.sockets[node.first_rank] = connection
            gathering.nonces[node.first_rank] = (theirs, ours)
        gathering.changed.notify_all()


def _contradiction(gathering: _Gathering, node: NodeInfo) -> str:
    own = gathering.own
    if node.world_size != own.world_size:
        return (
            f"rank {node.first_rank} on {node.host} says that there are {node.world_size} ranks,"
            f" rank 0 that there are {own.world_size}"
        )
    if node.network_threads != own.network_threads:
        return (
            f"rank {node.first_rank} on {node.host} has network_threads {node.network_threads},"
            f" rank 0 {own.network_threads}; set them alike, also where they follow from the"
            " number of adapters"
        )
    if (node.chunk_bytes, node.depth) != (own.chunk_bytes, own.depth):
        return (
            f"rank {node.first_rank} on {node.host} has chunk_bytes {node.chunk_bytes} and depth"
            f" {node.depth}, rank 0 {own.chunk_bytes} and {own.depth}; set them alike"
        )
    if node.ranks < 1 or node.first_rank < 0 or node.first_rank + node.ranks > own.world_size:
        return f"rank {node.first_rank} on {node.host} is not one of {own.world_size} ranks"
    for other in gathering.nodes.values():
        if set(_ranks(node)) & set(_ranks(other)):
            return f"rank {node.first_rank} is on {other.host} and on {node.host}"
    return ""


def join(
    own: NodeInfo, secret: bytes, host: str, port: int, timeout_s: float
) -> tuple[Table, socket.socket]:
    """Be a node's first rank other than rank 0: go to rank 0, and get the table.

    Raises:
        HFReduceError: rank 0 did not answer, has another secret, or refused.
    """
    limit_s = time.monotonic() + timeout_s
    while True:
        try:
            connection = socket.create_connection((host, port), timeout=STRANGER_S)
            break
        except OSError as error:
            if time.monotonic() > limit_s:
                raise HFReduceError(
                    f"rank 0 did not answer at {host}:{port} within {timeout_s:g} s: {error}"
                ) from None
            time.sleep(0.05)
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        deadline = time.monotonic() + max(STRANGER_S, timeout_s)
        theirs = _exactly(connection, _NONCE_BYTES, deadline)
        ours = secrets.token_bytes(_NONCE_BYTES)
        connection.sendall(ours)
        _send_signed(connection, secret, b"node", theirs + ours, own.as_json())
        said = _receive_signed(connection, secret, b"table", ours + theirs, _TABLE_BYTES, deadline)
    except OSError as error:
        connection.close()
        raise HFReduceError(
            f"rank 0 at {host}:{port} ended the connection ({error}); is the secret the same?"
        ) from None
    except HFReduceError:
        connection.close()
        raise
    if refusal := said.get("error"):
        connection.close()
        raise HFReduceError(str(refusal))
    nodes = tuple(NodeInfo.from_json(node) for node in said["nodes"])
    return Table(nodes=nodes, job=int(said["job"])), connection


def _table_json(table: Table) -> dict[str, Any]:
    return {"job": table.job, "nodes": [node.as_json() for node in table.nodes]}


def _listed(ranks: Sequence[int]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    shown = ", ".join(map(str, ranks[:8]))
    return f"ranks {shown}{f' and {len(ranks) - 8} more' if len(ranks) > 8 else ''}"


def _code(secret: bytes, purpose: bytes, nonces: bytes, body: bytes) -> bytes:
    return hmac.digest(secret, purpose + b"\0" + nonces + body, hashlib.sha256)


def _send_signed(
    connection: socket.socket, secret: bytes, purpose: bytes, nonces: bytes, said: Mapping[str, Any]
) -> None:
    body = json.dumps(said).encode()
    connection.sendall(struct.pack("!I", len(body)) + _code(secret, purpose, nonces, body) + body)


def _receive_signed(
    connection: socket.socket,
    secret: bytes,
    purpose: bytes,
    nonces: bytes,
    most: int,
    deadline: float,
) -> dict[str, Any]:
    (length,) = struct.unpack("!I", _exactly(connection, 4, deadline))
    if length > most:
        raise HFReduceError(f"a message of {length} bytes is longer than {most}")
    code = _exactly(connection, 32, deadline)
    body = _exactly(connection, length, deadline)
    if not hmac.compare_digest(code, _code(secret, purpose, nonces, body)):
        raise HFReduceError("the other end has another secret")
    said = json.loads(body)
    if not isinstance(said, dict):
        raise HFReduceError("a message is not of this version of hfreduce")
    return said


def _exactly(connection: socket.socket, count: int, deadline: float) -> bytes:
    got = bytearray()
    while len(got) < count:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("it took too long")
        connection.settimeout(left_s)
        part = connection.recv(count - len(got))
        if not part:
            raise ConnectionError("it was closed")
        got += part
    return bytes(got)
