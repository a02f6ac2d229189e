"""One stage of a pipeline, as this rank runs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.distributed import ProcessGroup
from torch.distributed.pipelining import PipelineStage
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint as recompute

from haiscale.fsdp import FullyShardedDataParallel
from haiscale.utils import checkpointing

Checkpoint = Literal["never", "always", "except_last"]
"""Which microbatches keep no activations and are run forward again for their backward."""


class Stage(PipelineStage):
    """A stage that fetches its own microbatches and may forget activations.

    Args:
        module: the layers of the stage, in DistributedDataParallel, FullyShardedDataParallel or
            neither.
        index: of the stage.
        count: of all stages.
        device: of the module.
        inputs: tensors like those of one microbatch, on the meta device.
        outputs: tensors like those the module returns for them, likewise.
        group: the ranks of the pipeline.
        forgets: whether a microbatch's activations are forgotten.
        reduces: whether a DistributedDataParallel reduces in the last microbatch's backward.
    """

    def __init__(
        self,
        module: nn.Module,
        index: int,
        count: int,
        device: torch.device,
        inputs: tuple[Tensor, ...],
        outputs: tuple[Tensor, ...],
        group: ProcessGroup,
        forgets: Callable[[int], bool],
        *,
        reduces: bool,
    ) -> None:
        super().__init__(
            run_by(module),
            index,
            count,
            device,
            input_args=inputs,
            output_args=outputs,
            group=group,
        )
        self.microbatches: list[tuple[Any, ...]] = []
        self._forgets = forgets
        self._forgetting = False
        self._reduces = reduces

    def forward_one_chunk(
        self, fwd_chunk_id: int, args: tuple[Any, ...], *rest: Any, **more: Any
    ) -> Any:
        """Run one microbatch forward; the first stage takes it from `microbatches`."""
        if self.is_first:
            args = self.microbatches[fwd_chunk_id]
        self._forgetting = self._forgets(fwd_chunk_id) and torch.is_grad_enabled()
        return super().forward_one_chunk(fwd_chunk_id, args, *rest, **more)

    def backward_one_chunk(self, bwd_chunk_id: int, *rest: Any, **more: Any) -> Any:
        """Run one microbatch backward.

        What the model itself forgets is run again in here as it ran forward.
        """
        with checkpointing(on_demand=not self._forgets(bwd_chunk_id)):
            return super().backward_one_chunk(bwd_chunk_id, *rest, **more)

    def forward_maybe_with_nosync(self, *args: Any, **kwargs: Any) -> Any:
        """Run the module, keeping its activations or only its inputs."""
        if self._forgetting:
            outputs = recompute(self._forget, *args, use_reentrant=False, **kwargs)
        else:
            outputs = super().forward_maybe_with_nosync(  # type: ignore[no-untyped-call]
                *args, **kwargs
            )
        return outputs if self.is_last else dense(outputs)

    def backward_maybe_with_nosync(
        self, backward_type: Any, bwd_kwargs: dict[str, Any], last_backward: bool = False
    ) -> tuple[tuple[Tensor | None, ...], list[dict[str, Any]] | None]:
        """Run the module backward, with its reduction after the last microbatch if at all."""
        return super().backward_maybe_with_nosync(
            backward_type, bwd_kwargs, last_backward=last_backward and self._reduces
        )

    def get_local_bwd_output(self, mb_index: int) -> Any:
        """Return the gradients for a stage on this rank; in an evaluation there are none."""
        if not self.has_backward:
            return ()
        return super().get_local_bwd_output(mb_index)  # type: ignore[no-untyped-call]

    def set_local_bwd_input(self, next_stage_bwd_outputs: Any, mb_index: int) -> None:
        """Take them."""
        if self.has_backward:
            super().set_local_bwd_input(next_stage_bwd_outputs, mb_index)

    def _forget(self, *args: Any, **kwargs: Any) -> Any:
        with checkpointing(on_demand=False):
            # Past DistributedDataParallel, which must not take the second run for a new step.
            return bare(self.submod)(*args, **kwargs)


def bare(module: nn.Module) -> nn.Module:
    """Return a module without the DistributedDataParallel or the sharding's wrapper around it."""
    wrapped = isinstance(module, DistributedDataParallel | FullyShardedDataParallel)
    inner = module.module if wrapped else module
    assert isinstance(inner, nn.Module)
    return inner


def run_by(module: nn.Module) -> nn.Module:
    """Return what a stage runs: torch's stages know replicas, and shards without the wrapper."""
    return bare(module) if isinstance(module, FullyShardedDataParallel) else module


def dense(outputs: Any) -> Any:
    """Return tensors as they can be sent."""
    if isinstance(outputs, tuple):
        return tuple(each.contiguous() for each in outputs)
    return outputs.contiguous()
