"""One thread a process, and processes that talk over the loopback alone."""

from __future__ import annotations

import os

import torch

os.environ |= {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "TP_SOCKET_IFNAME": "lo"}
torch.set_num_threads(1)
