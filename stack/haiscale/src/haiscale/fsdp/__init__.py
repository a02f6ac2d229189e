"""Fully sharded data parallelism, with the optimizer inside the backward if wanted."""

from haiscale.fsdp.fused import FusedOptimizer
from haiscale.fsdp.wrapper import FullyShardedDataParallel
from haiscale.fsdp.wrapping import BackwardPrefetch

__all__ = ["BackwardPrefetch", "FullyShardedDataParallel", "FusedOptimizer"]
