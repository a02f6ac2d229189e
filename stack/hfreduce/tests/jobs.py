"""Jobs of several processes on this machine, for the tests.

A rank is a process of its own that runs a function of a test module; what it returns, or the
error that it raised, comes back by a pipe. Nodes are groups of ranks: to the package they are
apart, on the machine they share the loopback interface, unless they are given namespaces.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import namespaces

SECRET = "a secret of the tests, long enough"
SLOWNESS = float(os.environ.get("HFREDUCE_TEST_SLOWNESS", "1"))
"""By how much to wait longer than on a machine with nothing else to do."""
os.environ["UCX_WARN_UNUSED_ENV_VARS"] = "n"  # UCX reads it when it is loaded
SPAWN = multiprocessing.get_context("spawn")
"""`context=` of a job that prints where this process does, for capfd."""
_START = multiprocessing.get_context(os.environ.get("HFREDUCE_TEST_START", "forkserver"))
_START.set_forkserver_preload(["pytest", "hypothesis", "hfreduce.torch"])
"""What a rank has imported when it begins: it would take each of them three seconds."""


@dataclass(frozen=True)
class Outcome:
    """How a rank ended."""

    value: Any = None
    error: str = ""
    exit_code: int | None = None
    after_s: float = 0.0


class Job:
    """Ranks that run."""

    def __init__(
        self,
        function: Callable[..., Any],
        ranks: int,
        local: int,
        *,
        timeout_s: float = 20.0 * SLOWNESS,
        silence_s: float = 10.0,
        arguments: Sequence[Any] = (),
        environment: dict[str, str] | None = None,
        nodes: namespaces.Nodes | None = None,
        context: Any = _START,
    ) -> None:
        """Start them."""
        port = free_port()
        self.started_s = time.monotonic()
        self.processes, self._pipes = [], []
        for rank in range(ranks):
            here, there = context.Pipe(duplex=False)
            said = {
                "RANK": rank,
                "WORLD_SIZE": ranks,
                "LOCAL_RANK": rank % local,
                "LOCAL_WORLD_SIZE": min(local, ranks - rank // local * local),
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": port - 5,
                "HFREDUCE_SECRET": SECRET,
                "HFREDUCE_TIMEOUT_S": timeout_s,
                "HFREDUCE_SILENCE_S": silence_s,
                **(nodes.environment(rank // local) if nodes else {}),
                **(environment or {}),
            }
            process = context.Process(
                target=_rank,
                args=(there, {k: str(v) for k, v in said.items()}, function, arguments),
                daemon=True,
            )
            process.start()
            there.close()
            self.processes.append(process)
            self._pipes.append(here)

    def outcomes(self, within_s: float = 60.0) -> list[Outcome]:
        """Wait for the ranks; if one does not end in time all are killed and the test fails."""
        limit_s = time.monotonic() + within_s * SLOWNESS
        said: list[tuple[Any, str, float]] = []
        for pipe in self._pipes:
            value, error = None, "it said nothing"
            with contextlib.suppress(EOFError):
                if pipe.poll(max(0.0, limit_s - time.monotonic())):
                    value, error = pipe.recv()
            said.append((value, error, time.monotonic() - self.started_s))
        for process in self.processes:
            process.join(max(0.1, limit_s - time.monotonic()))
        hung = [rank for rank, process in enumerate(self.processes) if process.is_alive()]
        if hung:
            self.kill()
        assert not hung, f"ranks {hung} did not end within {within_s * SLOWNESS} s, said {said}"
        return [
            Outcome(value, error, process.exitcode, after_s)
            for (value, error, after_s), process in zip(said, self.processes, strict=True)
        ]

    def kill(self) -> None:
        """End every rank."""
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.join()

    def wait_for(self, text: str, ranks: Sequence[int] | None = None) -> None:
        """Wait until ranks have said `text` with say()."""
        for rank in range(len(self._pipes)) if ranks is None else ranks:
            assert self._pipes[rank].poll(30 * SLOWNESS), f"rank {rank} does not say {text}"
            said = self._pipes[rank].recv()
            assert said == ("said", text), said


def _rank(
    pipe: Connection,
    environment: dict[str, str],
    function: Callable[..., Any],
    arguments: Sequence[Any],
) -> None:
    os.environ.update(environment)
    if holder := environment.get("HFREDUCE_TEST_NODE"):
        namespaces.enter(int(holder))
    try:
        value = function(pipe, *arguments)
    except Exception as error:
        pipe.send((None, f"{type(error).__name__}: {error}"))
    else:
        pipe.send((value, ""))


def free_port() -> int:
    """Return a port that was free a moment ago, and so was the fifth below it.

    torch listens at the one, HFReduce at the other. Below the range from which the system gives
    ports to connections, so that none of those takes it meanwhile.
    """
    while True:
        port = random.randrange(20_000, 32_000)
        with contextlib.suppress(OSError):
            for each in (port - 5, port):
                socket.create_server(("127.0.0.1", each)).close()
            return port


def run(
    function: Callable[..., Any], ranks: int, local: int, *arguments: Any, **options: Any
) -> list[Any]:
    """Run a function on every rank and return what each returned; an error fails the test."""
    outcomes = Job(function, ranks, local, arguments=arguments, **options).outcomes(180)
    errors = [outcome.error for outcome in outcomes]
    assert not any(errors), errors
    return [outcome.value for outcome in outcomes]
