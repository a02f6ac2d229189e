"""One thread a process, and processes that talk over the loopback alone."""

from __future__ import annotations

import os

import torch
from hypothesis import settings

settings.register_profile("busy", deadline=None)  # ranks of another test may have the processors
settings.load_profile("busy")
os.environ |= {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "TP_SOCKET_IFNAME": "lo"}
torch.set_num_threads(1)
