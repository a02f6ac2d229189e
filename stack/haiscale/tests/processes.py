"""Several ranks on this machine, each a process, that end when they should and when they do not."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import tempfile
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

START = multiprocessing.get_context("forkserver")
START.set_forkserver_preload(
    [
        "haiscale.fsdp",
        "haiscale.pipeline",
        "haiscale.tensor",
        "torch.distributed.checkpoint.state_dict",
        "torch.profiler",
    ]
)

Work = Callable[..., Any]


def run_ranks(
    world: int, work: Work, *arguments: object, timeout_s: float = 100, **environ: str
) -> list[Any]:
    """Call a function on every rank of a gloo group; return what each returned, by rank.

    The function is `work(*arguments)`, of a module that a process can import. If a rank fails or
    the time is over, all are killed.
    """
    with tempfile.TemporaryDirectory() as folder:
        pipes = [START.Pipe(duplex=False) for _ in range(world)]
        processes = [
            START.Process(
                target=_rank,
                args=(sender, rank, world, Path(folder) / "store", environ, work, arguments),
            )
            for rank, (_, sender) in enumerate(pipes)
        ]
        for process, (_, sender) in zip(processes, pipes, strict=True):
            process.start()
            sender.close()
        try:
            return _results([receiver for receiver, _ in pipes], time.monotonic() + timeout_s)
        finally:
            for process in processes:
                if process.is_alive():
                    process.join(5)
                if process.is_alive():
                    process.kill()
                process.join()


def _results(receivers: list[Connection], deadline: float) -> list[Any]:
    found: dict[int, Any] = {}
    while len(found) < len(receivers):
        waiting = {each: rank for rank, each in enumerate(receivers) if rank not in found}
        ready = wait(list(waiting), timeout=max(0.0, deadline - time.monotonic()))
        if not ready:
            raise AssertionError(f"ranks {sorted(waiting.values())} did not end in time")
        for receiver in ready:
            rank = waiting[receiver]
            try:
                failed, value = pickle.loads(receiver.recv_bytes())
            except EOFError:
                failed, value = True, "the process ended without a word"
            if failed:
                raise AssertionError(f"rank {rank} of {len(receivers)} failed:\n{value}")
            found[rank] = value
    return [found[rank] for rank in range(len(receivers))]


def _rank(
    sender: Connection,
    rank: int,
    world: int,
    store: Path,
    environ: dict[str, str],
    work: Work,
    arguments: tuple[object, ...],
) -> None:
    # A work that leaves the group at once must not leave before the others have connected.
    os.environ |= {"TORCH_DIST_INIT_BARRIER": "1"} | environ
    torch.set_num_threads(1)
    try:
        dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
        result = work(*arguments)
        if dist.is_initialized():
            dist.barrier()
        said = (False, result)
    except BaseException:
        said = (True, traceback.format_exc())
    try:
        # By value; a pipe's own way shares tensors with a process that is gone by then.
        sender.send_bytes(pickle.dumps(said))
    finally:
        sender.close()
        os._exit(0)  # past gloo's threads, which may wait for a peer that failed
