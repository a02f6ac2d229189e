"""How the ranks of one node get at the memory that they share.

The node's first rank listens at an abstract Unix socket, whose name none but those who know the
job's secret can tell, and hands the memory over as a file descriptor. Only processes of the same
user are heard (SO_PEERCRED), so one node needs no secret.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hfreduce.channels import MOST_CHANNELS
from hfreduce.errors import HFReduceError
from hfreduce.settings import JobSettings

_MOST_BYTES = 64 << 10
_MOST_DESCRIPTORS = 1 + 2 * MOST_CHANNELS


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What a node's ranks have in common."""

    descriptors: tuple[int, ...]
    """The memory, and what wakes each of the network threads; this process's to close."""
    said: dict[str, Any]
    """What the first rank says of them."""
    connection: socket.socket
    """To the first rank."""


def _name(job: JobSettings) -> str:
    known = f"{os.getuid()}|{job.host}|{job.port}|{job.first_rank}".encode()
    return "\0hfreduce-" + hmac.new(job.secret, known, hashlib.sha256).hexdigest()


class Door:
    """The first rank's end: where the node's other ranks come."""

    def __init__(self, job: JobSettings) -> None:
        """Listen.

        Raises:
            HFReduceError: another job of this user has the same address and port.
        """
        self._job = job
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._listener.bind(_name(job))
        except OSError:
            self._listener.close()
            raise HFReduceError(
                f"another job of this user runs here at {job.host}:{job.port}; take another"
                " MASTER_PORT"
            ) from None
        self._listener.listen(256)
        self._met: dict[int, socket.socket] = {}

    def gather(self, timeout_s: float) -> None:
        """Wait for all ranks of the node.

        Raises:
            HFReduceError: one did not come, or came twice.
        """
        limit_s = time.monotonic() + timeout_s
        self._listener.settimeout(0.1)
        while len(self._met) < self._job.local_size - 1:
            if time.monotonic() > limit_s:
                first = self._job.first_rank
                missing = [
                    str(first + local)
                    for local in range(1, self._job.local_size)
                    if local not in self._met
                ]
                raise HFReduceError(
                    f"rank {', '.join(missing)} of this node did not come within {timeout_s:g} s"
                )
            try:
                connection, _ = self._listener.accept()
            except TimeoutError:
                continue
            self._hear(connection)

    def _hear(self, connection: socket.socket) -> None:
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        if struct.unpack("3i", credentials)[1] != os.getuid():
            connection.close()
            return
        connection.settimeout(5.0)
        try:
            said = json.loads(connection.recv(_MOST_BYTES))
            local_rank, local_size = int(said["local_rank"]), int(said["local_size"])
        except (OSError, ValueError, KeyError, TypeError):
            connection.close()
            return
        problem = ""
        if local_size != self._job.local_size:
            problem = (
                f"rank {self._job.first_rank + local_rank} says that this node has {local_size}"
                f" ranks, rank {self._job.first_rank} that it has {self._job.local_size}"
            )
        elif not 0 < local_rank < local_size or local_rank in self._met:
            problem = f"rank {self._job.first_rank + local_rank} came twice"
        if problem:
            _say(connection, {"error": problem}, ())
            connection.close()
            self.refuse(problem)
            raise HFReduceError(problem)
        self._met[local_rank] = connection

    def admit(self, said: dict[str, Any], descriptors: Sequence[int]) -> dict[int, socket.socket]:
        """Hand the memory to all, and return their connections by local rank."""
        for connection in self._met.values():
            _say(connection, said, descriptors)
        self._listener.close()
        return self._met

    def refuse(self, error: str) -> None:
        """Tell all who came that it cannot be."""
        for connection in self._met.values():
            _say(connection, {"error": error}, ())
            connection.close()
        self._listener.close()


def enter(job: JobSettings, timeout_s: float) -> Shared:
    """Come to the node's first rank as one of the others.

    Raises:
        HFReduceError: it is not there, or says why it cannot be.
    """
    limit_s = time.monotonic() + timeout_s
    absent = f"rank {job.first_rank}, the first of this node, was not there within {timeout_s:g} s"
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(_name(job))
            break
        except OSError:
            connection.close()
            if time.monotonic() > limit_s:
                raise HFReduceError(absent) from None
            time.sleep(0.02)
    hello = {"local_rank": job.local_rank, "local_size": job.local_size}
    try:
        connection.settimeout(timeout_s + 5)
        connection.sendall(json.dumps(hello).encode())
        data, descriptors, _, _ = socket.recv_fds(connection, _MOST_BYTES, _MOST_DESCRIPTORS)
    except OSError as error:
        connection.close()
        raise HFReduceError(
            f"rank {job.first_rank} ended while it was waited for: {error}"
        ) from None
    if not data:
        connection.close()
        raise HFReduceError(f"rank {job.first_rank} ended while it was waited for")
    said = json.loads(data)
    if refusal := said.get("error"):
        connection.close()
        raise HFReduceError(str(refusal))
    return Shared(descriptors=tuple(descriptors), said=said, connection=connection)


def _say(connection: socket.socket, said: dict[str, Any], descriptors: Sequence[int]) -> None:
    with contextlib.suppress(OSError):  # if it is gone, who watches it will say so
        socket.send_fds(connection, [json.dumps(said).encode()], list(descriptors))
