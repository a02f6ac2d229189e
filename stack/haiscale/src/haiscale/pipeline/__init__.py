"""Pipeline parallelism: a model in stages, a batch in chunks."""

from haiscale.pipeline.base import Pipeline
from haiscale.pipeline.groups import make_subgroups
from haiscale.pipeline.microbatches import Batched, Replicated
from haiscale.pipeline.partition import SequentialModel, StagePosition, partition
from haiscale.pipeline.schedules import (
    ZBV,
    DualPipeV,
    GPipe,
    Interleaved1F1B,
    PipeDream,
    ZeroBubble,
)

__all__ = [
    "ZBV",
    "Batched",
    "DualPipeV",
    "GPipe",
    "Interleaved1F1B",
    "PipeDream",
    "Pipeline",
    "Replicated",
    "SequentialModel",
    "StagePosition",
    "ZeroBubble",
    "make_subgroups",
    "partition",
]
