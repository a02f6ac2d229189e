"""What all pipelines do alike: cut the batch, build torch's schedule, run it, return losses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any, ClassVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.pipelining.schedules import (
    PipelineScheduleMulti,
    PipelineScheduleSingle,
    ScheduleLoopedBFS,
    ScheduleZBVZeroBubble,
)

from haiscale.clip import clip_grad_norm_
from haiscale.errors import HaiscaleError
from haiscale.fsdp import FullyShardedDataParallel
from haiscale.pipeline.microbatches import Arguments, Chunks, arguments, check_batch
from haiscale.pipeline.partition import StagePosition, Style, stages_of
from haiscale.pipeline.probe import all_tensors, probe
from haiscale.pipeline.reduction import reduce_now
from haiscale.pipeline.stage import Checkpoint, Stage, bare

Criterion = Callable[..., Tensor]


@dataclass(slots=True)
class _Run:
    """A schedule for one shape of batch, and the stages that it runs."""

    shape: object
    schedule: PipelineScheduleSingle | PipelineScheduleMulti
    stages: list[Stage]


class Pipeline(nn.Module):
    """A model in stages; the subclasses say in which order microbatches go through them.

    Every rank of the pipeline makes one, over its own part of the model, and every rank calls it
    with the whole batch.

    Attributes:
        module: this rank's part, or an `nn.ModuleList` of its parts.
        stage_count: stages of the whole pipeline.
        is_last_stage: whether this rank has the loss and the outputs.
    """

    style: ClassVar[Style] = "loop"
    splits_backward: ClassVar[bool] = False

    def __init__(
        self,
        module: nn.Module | Sequence[nn.Module],
        chunks: int,
        process_group: dist.ProcessGroup | None = None,
        checkpoint: Checkpoint = "never",
    ) -> None:
        super().__init__()
        parts = [module] if isinstance(module, nn.Module) else list(module)
        self.module = module if isinstance(module, nn.Module) else nn.ModuleList(parts)
        self.chunks = chunks
        group = process_group or dist.group.WORLD
        if group is None:
            raise HaiscaleError(
                f"{type(self).__name__} needs torch.distributed.init_process_group first"
            )
        self.process_group: dist.ProcessGroup = group
        rank, size = dist.get_rank(self.process_group), dist.get_world_size(self.process_group)
        self.stage_count = size * len(parts)
        self._owners = {
            stage: owner
            for owner in range(size)
            for stage in stages_of(owner, size, len(parts), self.style)
        }
        self._parts = dict(zip(stages_of(rank, size, len(parts), self.style), parts, strict=True))
        self.is_last_stage = self.stage_count - 1 in self._parts
        self._checkpoint = checkpoint
        self._check(checkpoint)
        self._device = next((p.device for p in self.parameters()), torch.device("cpu"))
        self._runs: dict[bool, _Run] = {}
        self._criterion: Criterion | None = None
        self._labels: Chunks = []

    def forward_backward(
        self,
        *inputs: Any,
        criterion: Criterion,
        labels: tuple[Any, ...] = (),
        return_outputs: bool = False,
    ) -> tuple[Tensor | None, Any]:
        """Run a batch forward and backward, and add its gradients to the parameters'.

        The gradients are those of the sum over the chunks of `criterion(output, *labels)`. Where
        the criterion is a mean, divide it by `chunks` in the criterion, as the published examples
        do.

        Args:
            *inputs: for the first stage. One tensor is the batch, and is cut into chunks; of
                several it is said by `Batched` and `Replicated` which are cut.
            criterion: returns the loss of one chunk.
            labels: for the criterion, cut likewise.
            return_outputs: whether to keep what the last stage returned, joined along its first
                dimension; it is large.

        Returns:
            The losses of the chunks and the outputs, on the rank of the last stage; else None
            twice. The outputs are None too unless asked for.
        """
        given = self._given(inputs)
        if given.rows is not None:
            check_batch(given.rows, self.chunks)
        wanted = arguments("label", labels, cuts=self.chunks > 1).split(given.rows, self.chunks)
        run = self._run(given.split(given.rows, self.chunks), training=True)
        self._criterion, self._labels = criterion, wanted
        losses: list[Tensor] = []
        try:
            outputs = run.schedule.step(
                target=torch.arange(self.chunks) if self.is_last_stage else None,
                losses=losses,
                return_outputs=return_outputs,
            )
        finally:
            self._release(run)
        if self.splits_backward:
            reduce_now(self._parts.values())
        loss = torch.stack([each.detach() for each in losses]) if self.is_last_stage else None
        return loss, outputs

    def forward(self, *inputs: Any) -> Any:
        """Run a batch forward alone; the last stage's rank gets the outputs, the others None."""
        given = self._given(inputs)
        chunks = 1 if given.rows is None else gcd(given.rows, self.chunks)
        if given.rows is not None:
            check_batch(given.rows, chunks)
        with torch.no_grad():
            run = self._run(given.split(given.rows, chunks), training=False)
            try:
                return run.schedule.eval()
            finally:
                self._release(run)

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scale the gradients of all stages to a norm of at most `max_norm`; see haiscale.clip."""
        return clip_grad_norm_(self, max_norm, norm_type)

    def _schedule(self, stages: list[Stage]) -> PipelineScheduleSingle | PipelineScheduleMulti:
        raise NotImplementedError

    def _given(self, inputs: tuple[Any, ...]) -> Arguments:
        given = arguments("input", inputs, cuts=self.chunks > 1)
        cut = [v for v, cut in zip(given.values, given.cut, strict=True) if cut or self.chunks == 1]
        if not any(isinstance(value, Tensor) and value.dim() for value in cut):
            raise HaiscaleError(
                "no argument of the pipeline is a tensor with rows; every rank passes the batch,"
                " though only the first stage reads it"
            )
        all_tensors("the pipeline was given", given.values)
        return given

    def _run(self, microbatches: Chunks, *, training: bool) -> _Run:
        chunks = len(microbatches)
        shape = (
            [(value.shape, value.dtype) for value in microbatches[0]],
            chunks,
            torch.is_autocast_enabled(self._device.type),
            torch.get_autocast_dtype(self._device.type),
        )
        run = self._runs.get(training)
        if run is None or run.shape != shape:
            self._runs.pop(training, None)
            run = self._runs[training] = self._build(shape, microbatches[0], chunks, training)
        for stage in run.stages:
            stage.microbatches = microbatches
        return run

    def _build(self, shape: object, inputs: tuple[Any, ...], chunks: int, training: bool) -> _Run:
        group, device = self.process_group, self._device
        seen = probe(self._parts, self._owners, group, inputs, device, training=training)
        stages = [
            Stage(
                module,
                index,
                self.stage_count,
                device,
                seen[index].inputs,
                seen[index].outputs,
                group,
                self._forgets,
                reduces=not self.splits_backward,
            )
            for index, module in self._parts.items()
        ]
        schedule: PipelineScheduleSingle | PipelineScheduleMulti
        if training:
            schedule = self._schedule(stages)
        elif self.style == "v":
            schedule = ScheduleZBVZeroBubble([*stages], chunks, scale_grads=False)
        else:
            schedule = ScheduleLoopedBFS([*stages], chunks, scale_grads=False)
        return _Run(shape, schedule, stages)

    def _release(self, run: _Run) -> None:
        self._criterion, self._labels = None, []
        for stage in run.stages:
            stage.microbatches = []
            stage.clear_runtime_states()

    def _forgets(self, chunk: int) -> bool:
        if self._checkpoint == "except_last":
            return chunk < self.chunks - 1
        return self._checkpoint == "always"

    def _loss(self, output: Any, chunk: Tensor) -> Tensor:
        assert self._criterion is not None
        loss = self._criterion(output, *self._labels[int(chunk)])
        if not isinstance(loss, Tensor) or loss.numel() != 1:
            what = list(loss.shape) if isinstance(loss, Tensor) else type(loss).__name__
            raise HaiscaleError(
                f"the criterion returned {what}; it must return the loss of a chunk, one number"
            )
        return loss

    def _check(self, checkpoint: Checkpoint) -> None:
        name, chunks = type(self).__name__, self.chunks
        if isinstance(chunks, bool) or not isinstance(chunks, int) or chunks < 1:
            raise HaiscaleError(f"chunks is {chunks!r}; it must be a whole number from 1")
        if checkpoint not in ("never", "always", "except_last"):
            raise HaiscaleError(
                f"checkpoint is {checkpoint!r}; it must be 'never', 'always' or 'except_last'"
            )
        for stage, module in self._parts.items():
            if self.splits_backward and isinstance(module, FullyShardedDataParallel):
                raise HaiscaleError(
                    f"{name} computes gradients of weights apart, past the hooks by which"
                    " FullyShardedDataParallel reduces them: take GPipe, PipeDream or"
                    " Interleaved1F1B, or DistributedDataParallel"
                )
            found = getattr(bare(module), "stage_position", None)
            if found not in (None, StagePosition(stage, self.stage_count)):
                many = f" with num_model_chunks={len(self._parts)}, style={self.style!r}"
                raise HaiscaleError(
                    f"{name} was given stage {found.index} of {found.count} where stage {stage} of"
                    f" {self.stage_count} belongs: partition{many if len(self._parts) > 1 else ''}"
                    " for the rank in the pipeline's group"
                )
