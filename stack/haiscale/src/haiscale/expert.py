"""Expert parallelism: a mixture of experts whose experts live on different ranks."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor, nn

from haiscale.errors import HaiscaleError


class MoE(nn.Module):
    """A feed-forward layer in which every token goes to the experts that the router picks.

    A token's result is the sum of its `top_k` experts' results, each times its softmax score, as
    in DeepSeekMoE. No token is dropped and no expert has a capacity: each rank sends each other
    rank as many tokens as it has for it.

    The gradients of the experts are those of the mean of the ranks' losses, as the gradients of
    everything else are once DistributedDataParallel has averaged them.

    Args:
        dim: width of a token.
        hidden: width inside an expert.
        num_experts: on all ranks together.
        top_k: experts a token goes to.
        group: the ranks that between them hold the experts; by default this rank alone.
        replicas: the ranks that hold the same experts, if several do.
    """

    def __init__(
        self,
        dim: int,
        hidden: int,
        num_experts: int,
        top_k: int,
        group: dist.ProcessGroup | None = None,
        replicas: dist.ProcessGroup | None = None,
    ) -> None:
        super().__init__()
        ranks = 1 if group is None else dist.get_world_size(group)
        if num_experts % ranks:
            raise HaiscaleError(
                f"num_experts is {num_experts}, which does not divide over the {ranks} ranks of"
                f" the expert group: take {_next(num_experts, ranks)} experts or a group of a size"
                " that divides them"
            )
        if not 1 <= top_k <= num_experts:
            raise HaiscaleError(f"top_k is {top_k}; with {num_experts} experts it is 1 to that")
        self.num_experts, self.top_k = num_experts, top_k
        self.group, self.replicas = group, replicas
        self.first = (0 if group is None else dist.get_rank(group)) * (num_experts // ranks)
        self.router = nn.Linear(dim, num_experts, bias=False)
        self.experts = nn.ModuleDict(
            {
                str(expert): nn.Sequential(
                    nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, dim)
                )
                for expert in range(self.first, self.first + num_experts // ranks)
            }
        )
        for parameter in self.experts.parameters():
            # Tokens of all ranks went through it: the sum of their gradients becomes the mean.
            parameter.register_hook(lambda gradient: gradient / ranks)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return for every token what its experts make of it."""
        flat = tokens.reshape(-1, tokens.shape[-1])
        scores, chosen = self.router(flat).softmax(-1).topk(self.top_k)
        order = chosen.flatten().argsort(stable=True)
        source = order // self.top_k
        counts = chosen.flatten().bincount(minlength=self.num_experts)
        results = self._everywhere(flat[source], counts)
        weighted = results * scores.flatten()[order].unsqueeze(-1)
        return torch.zeros_like(flat).index_add(0, source, weighted).view_as(tokens)

    def _everywhere(self, rows: Tensor, counts: Tensor) -> Tensor:
        """Run rows, sorted by expert, through their experts on whatever rank they are."""
        if self.group is None or dist.get_world_size(self.group) == 1:
            return self._here(rows, counts)
        ranks = dist.get_world_size(self.group)
        arriving = torch.empty_like(counts)
        dist.all_to_all_single(arriving, counts, group=self.group)
        sends = counts.view(ranks, -1).sum(1).tolist()
        by_rank = arriving.view(ranks, -1)
        receives = by_rank.sum(1).tolist()
        received = all_to_all(rows, sends, receives, self.group)
        # They arrive by rank, and within a rank by expert; the experts want them by expert.
        expert = torch.arange(by_rank.shape[1], device=rows.device).repeat(ranks)
        order = expert.repeat_interleave(arriving).argsort(stable=True)
        results = self._here(received[order], by_rank.sum(0))
        back = torch.empty_like(order)
        back[order] = torch.arange(len(order), device=rows.device)
        return all_to_all(results[back], receives, sends, self.group)

    def _here(self, rows: Tensor, counts: Tensor) -> Tensor:
        parts = rows.split(counts.tolist())
        # An expert without tokens runs too, so that it has a gradient on every rank: zero.
        return torch.cat([e(part) for e, part in zip(self.experts.values(), parts, strict=True)])


class _AllToAll(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: torch.autograd.function.FunctionCtx,
        rows: Tensor,
        sends: list[int],
        receives: list[int],
        group: dist.ProcessGroup,
    ) -> Tensor:
        ctx.way_back = (receives, sends, group)  # type: ignore[attr-defined]
        out = rows.new_empty((sum(receives), *rows.shape[1:]))
        dist.all_to_all_single(out, rows.contiguous(), receives, sends, group=group)
        return out

    @staticmethod
    def backward(
        ctx: torch.autograd.function.FunctionCtx, gradient: Tensor
    ) -> tuple[Tensor, None, None, None]:
        return all_to_all(gradient, *ctx.way_back), None, None, None  # type: ignore[attr-defined]


def all_to_all(
    rows: Tensor, sends: list[int], receives: list[int], group: dist.ProcessGroup
) -> Tensor:
    """Send the first rows to rank 0, the next to rank 1; gradients go the way back."""
    result: Tensor = _AllToAll.apply(rows, sends, receives, group)  # type: ignore[no-untyped-call]
    return result


def expert_parameters(module: nn.Module) -> dict[str, MoE]:
    """Return the parameters that differ between ranks, by name, with their layer."""
    return {
        f"{name}.{inner}" if name else inner: layer
        for name, layer in module.named_modules()
        if isinstance(layer, MoE) and layer.group is not None
        for inner, _ in layer.named_parameters()
        if inner.startswith("experts.")
    }


def average_replicas(layer: MoE) -> Callable[[Tensor], None]:
    """Return a hook that averages an expert's gradient over the ranks that hold the expert."""

    def hook(parameter: Tensor) -> None:
        if layer.replicas is not None and parameter.grad is not None:
            dist.all_reduce(parameter.grad, group=layer.replicas)
            parameter.grad /= dist.get_world_size(layer.replicas)

    return hook


def _next(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple
