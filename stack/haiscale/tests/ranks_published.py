"""What the ranks of test_published do: the shape of published scripts, with their own defaults."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from haiscale.ddp import DistributedDataParallel
from haiscale.pipeline import PipeDream, SequentialModel, make_subgroups, partition
from models import furthest

STAGES, BATCH, CHUNKS = 8, 2, 1
NODES, EDGES, WIDTH = 5, 7, 4


class GraphEmbedding(nn.Module):
    """Samples and a graph, whose constants get a row a sample."""

    def __init__(self) -> None:
        super().__init__()
        self.sample, self.node, self.edge = (nn.Linear(WIDTH, WIDTH) for _ in range(3))

    def forward(self, x: Tensor, node: Tensor, index: Tensor, edge: Tensor) -> tuple[Tensor, ...]:
        rows = x.size(0)
        return (
            self.sample(x),
            self.node(node).repeat(rows, 1, 1),
            index,
            self.edge(edge).repeat(rows, 1, 1),
        )


class EdgeUpdate(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.update = nn.Sequential(nn.Linear(3 * WIDTH, WIDTH), nn.LayerNorm([EDGES, WIDTH]))

    def forward(self, x: Tensor, node: Tensor, index: Tensor, edge: Tensor) -> tuple[Tensor, ...]:
        source, target = index  # two rows, as many as the batch has
        edge = edge + self.update(torch.cat([x[:, source], node[:, target], edge], -1))
        return x, node + torch.zeros_like(node).index_add(1, target, edge), index, edge


class Prediction(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.out = nn.Linear(2 * WIDTH, 1)

    def forward(self, x: Tensor, node: Tensor, index: Tensor, edge: Tensor) -> Tensor:
        return self.out(torch.cat([x, node], -1))


def model() -> SequentialModel:
    torch.manual_seed(5)
    updates = [EdgeUpdate() for _ in range(STAGES - 2)]
    return SequentialModel(GraphEmbedding(), *updates, Prediction()).double()


def data() -> tuple[list[Tensor], Tensor]:
    draw = torch.Generator().manual_seed(6)
    x, node, edge, y = (
        torch.randn(*shape, generator=draw, dtype=torch.float64)
        for shape in ((BATCH, NODES, WIDTH), (NODES, WIDTH), (EDGES, WIDTH), (BATCH, NODES, 1))
    )
    index = torch.randint(NODES, (2, EDGES), generator=draw)
    return [x, node, index, edge], y


def graph_pipeline() -> dict[str, Any]:
    """The weather model's script: PP 8, a batch of 2 samples, one chunk, tensors as they are."""
    dp_group, pp_group = make_subgroups(pp_size=STAGES, ranks_per_node=STAGES)
    part = partition(model(), pp_group.rank(), pp_group.size(), balance=[1] * STAGES)
    run = PipeDream(
        DistributedDataParallel(part, process_group=dp_group), CHUNKS, process_group=pp_group
    )
    inputs, y = data()
    whole = model()
    wanted = nn.functional.mse_loss(whole(*inputs), y)
    wanted.backward()
    loss, _ = run.forward_backward(*inputs, criterion=nn.MSELoss(), labels=(y,))
    outputs = run(*inputs)
    gradients = {name: p.grad for name, p in whole.named_parameters()}
    found = {name: p.grad for name, p in run.module.module.named_parameters()}
    return {
        "gradients": furthest(found, gradients),
        "loss": None if loss is None else float(loss.sum() - wanted),
        "outputs": None if outputs is None else float((outputs - whole(*inputs)).abs().max()),
    }
