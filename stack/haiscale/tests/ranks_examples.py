"""What the ranks of test_examples do: run a script as torchrun would."""

from __future__ import annotations

import os
import runpy
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import torch.distributed as dist


def work(script: str, arguments: list[str], port: int, *folders: str) -> str:
    rank, world = dist.get_rank(), dist.get_world_size()
    dist.destroy_process_group()
    os.environ |= {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(world),
        "LOCAL_WORLD_SIZE": str(world),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }
    sys.argv = [script, *arguments]
    sys.path[:0] = [str(Path(script).parent), *folders]
    with redirect_stdout(StringIO()) as said:
        runpy.run_path(script, run_name="__main__")
    return said.getvalue()
