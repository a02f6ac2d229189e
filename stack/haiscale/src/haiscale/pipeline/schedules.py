"""The orders in which microbatches go through the stages, over torch's schedules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import (
    Schedule1F1B,
    ScheduleDualPipeV,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
    ScheduleZBVZeroBubble,
)
from torch.distributed.pipelining.schedules import PipelineScheduleMulti, PipelineScheduleSingle

from haiscale.errors import HaiscaleError
from haiscale.pipeline.base import Pipeline
from haiscale.pipeline.partition import Style
from haiscale.pipeline.stage import Checkpoint, Stage


class _OneStage(Pipeline):
    """Pipelines whose ranks hold one stage each."""

    torch_schedule: ClassVar[type[PipelineScheduleSingle]]

    def __init__(
        self,
        module: nn.Module,
        chunks: int,
        process_group: dist.ProcessGroup | None = None,
        checkpoint: Checkpoint = "never",
    ) -> None:
        if not isinstance(module, nn.Module):
            raise HaiscaleError(
                f"{type(self).__name__} was given {type(module).__name__} for its stage; pass one"
                " module, as partition returns it without num_model_chunks"
            )
        super().__init__(module, chunks, process_group, checkpoint)

    def _schedule(self, stages: list[Stage]) -> PipelineScheduleSingle:
        (stage,) = stages
        # With fewer chunks than stages the first stages run all forward first in either order,
        # and torch has no other for so few.
        few = self.chunks < self.stage_count
        order = ScheduleGPipe if few else self.torch_schedule
        return order(stage, self.chunks, loss_fn=self._loss, scale_grads=False)


class GPipe(_OneStage):
    """All microbatches forward, then all backward. Simple; keeps all activations.

    `checkpoint="except_last"` forgets those of all microbatches but the last, whose backward
    comes first.
    """

    torch_schedule = ScheduleGPipe


class PipeDream(_OneStage):
    """One forward, one backward in turn (1F1B, with flushes), which keeps few activations.

    With fewer chunks than stages it is GPipe: most stages wait most of the time.
    """

    torch_schedule = Schedule1F1B


class _ManyStages(Pipeline):
    """Pipelines whose ranks hold several stages each."""

    torch_schedule: ClassVar[type[PipelineScheduleMulti]]

    def __init__(
        self,
        modules: Sequence[nn.Module],
        chunks: int,
        process_group: dist.ProcessGroup | None = None,
    ) -> None:
        if isinstance(modules, nn.Module) and not isinstance(modules, nn.ModuleList):
            raise HaiscaleError(
                f"{type(self).__name__} was given one {type(modules).__name__}; pass the list that"
                f" partition returns with num_model_chunks=2 and style={self.style!r}"
            )
        super().__init__(list(modules), chunks, process_group, "never")
        rounds = max(1, chunks // (self.stage_count // len(modules)))
        if self.style == "loop" and chunks % rounds:
            size = self.stage_count // len(modules)
            raise HaiscaleError(
                f"chunks is {chunks}, which does not fall into {rounds} equal rounds over {size}"
                f" ranks: take {chunks // size * size} or {(chunks // size + 1) * size}"
            )
        if self.style == "v" and len(modules) != 2:
            raise HaiscaleError(
                f"{type(self).__name__} was given {len(modules)} stages on a rank; its V has 2:"
                " partition with num_model_chunks=2, style='v'"
            )

    def _schedule(self, stages: list[Stage]) -> PipelineScheduleMulti:
        return self.torch_schedule([*stages], self.chunks, loss_fn=self._loss, scale_grads=False)


class Interleaved1F1B(_ManyStages):
    """One forward, one backward, over several stages a rank: a smaller bubble, more sends."""

    torch_schedule = ScheduleInterleaved1F1B


class ZeroBubble(_ManyStages):
    """Interleaved, with the gradients of weights apart, to be computed where a rank would wait."""

    torch_schedule = ScheduleInterleavedZeroBubble
    splits_backward = True


class ZBV(_ManyStages):
    """Zero bubble with two stages a rank, there and back: the first rank has the loss."""

    torch_schedule = ScheduleZBVZeroBubble
    splits_backward = True
    style: ClassVar[Style] = "v"


class DualPipeV(_ManyStages):
    """DeepSeek's DualPipe cut in half: forward and backward of two microbatches side by side."""

    torch_schedule = ScheduleDualPipeV
    splits_backward = True
    style: ClassVar[Style] = "v"

    def __init__(
        self,
        modules: Sequence[nn.Module],
        chunks: int,
        process_group: dist.ProcessGroup | None = None,
    ) -> None:
        super().__init__(modules, chunks, process_group)
        if chunks < self.stage_count:
            raise HaiscaleError(
                f"chunks is {chunks} for a pipeline of {self.stage_count} stages;"
                f" {type(self).__name__} needs at least {self.stage_count}"
            )
