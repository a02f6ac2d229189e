"""An optimizer that steps inside the backward."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import LBFGS, Optimizer

from haiscale.errors import HaiscaleError
from haiscale.fsdp.optimizers import know


class FusedOptimizer(Optimizer):
    """An optimizer whose step for a parameter is taken once the parameter's gradient is there.

    The gradient is freed with it, so that a backward holds those of one block and not of the
    whole model. What follows from that:

    - `step()` marks the end of a step, and `zero_grad()` finds nothing to do;
    - learning rates must be set before the backward;
    - gradients that a step shall add up are collected under `no_sync()`; a second backward
      before `step()` is refused;
    - gradients cannot be clipped by the norm of all of them, which is known too late.

    Its state dict is that of the plain optimizer, in shares as the parameters are;
    `torch.distributed.checkpoint.state_dict` makes whole ones of it.

    Args:
        kind: the optimizer, for example `torch.optim.AdamW`.
        params: parameters or groups of them, as for the optimizer.
        names: of the parameters, for errors.
        options: for the optimizer.
    """

    def __init__(
        self,
        kind: type[Optimizer],
        params: Iterable[Tensor] | Iterable[dict[str, Any]],
        names: dict[Tensor, str],
        options: dict[str, Any],
    ) -> None:
        if issubclass(kind, LBFGS):
            raise HaiscaleError(
                "LBFGS steps all parameters at once and cannot be fused into the backward: use it"
                " unfused, or an optimizer that treats each parameter by itself"
            )
        plain = kind(params, **options)
        super().__init__(plain.param_groups, plain.defaults)
        self._names = names
        self._stepped: set[Tensor] = set()
        self._each: dict[Tensor, Optimizer] = {}
        self._group_of: dict[Tensor, int] = {}
        for number, group in enumerate(self.param_groups):
            for parameter in group["params"]:
                if parameter not in names:
                    raise HaiscaleError(
                        f"a parameter of shape {list(parameter.shape)} is not one of the sharded"
                        " module's: take params from the module that was wrapped"
                    )
                self._group_of[parameter] = number
                self._each[parameter] = kind([parameter], **options)
                self._each[parameter].of_one = True  # type: ignore[attr-defined]
                parameter.register_post_accumulate_grad_hook(self._take)
        self._share_state()
        know(self)

    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """End a step, which the parameters have taken, but for gradients from elsewhere."""
        if closure is not None:
            raise HaiscaleError(
                "a fused optimizer steps in the backward and takes no closure: call step() without"
            )
        for parameter in self._each:
            if parameter.grad is not None:
                self._take(parameter)
        self._stepped.clear()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the state that `state_dict` gave, of this or of the plain optimizer."""
        super().load_state_dict(state_dict)
        self._share_state()

    def _share_state(self) -> None:
        for optimizer in self._each.values():
            optimizer.state = self.state

    def _take(self, parameter: Tensor) -> None:
        if parameter in self._stepped:
            raise HaiscaleError(
                f"{self._names[parameter]} has a second gradient before optimizer.step(), and the"
                " first is spent: call step() after every backward, and run all backwards of a"
                " step but the last under no_sync() to add gradients up"
            )
        self._stepped.add(parameter)
        optimizer = self._each[parameter]
        group = self.param_groups[self._group_of[parameter]]
        optimizer.param_groups[0].update({k: v for k, v in group.items() if k != "params"})
        with torch.no_grad():
            optimizer.step()
        parameter.grad = None
