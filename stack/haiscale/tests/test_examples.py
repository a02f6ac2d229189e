"""The examples, run as their first lines say, train as one process does."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import ranks_examples
from processes import run_ranks

EXAMPLES = Path(__file__).parents[1] / "examples"
FAKE = str(Path(__file__).parent / "fake_hfreduce")
SOURCES = Path(__file__).parents[1] / "src"
STEPS, BATCH = 6, 32
TOLERANCE = 2e-5
"""For losses of float32, printed with six digits."""


@pytest.fixture(name="importable", autouse=True)
def examples_on_the_path(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    yield
    for name in ("gpt", "train_cnn_ddp", "launch"):
        sys.modules.pop(name, None)


def losses_in(said: str) -> list[float]:
    return [float(each) for each in re.findall(r"^step \d+, loss (\d+\.\d+)$", said, re.MULTILINE)]


def said_by(ranks: int, script: str, *arguments: str) -> str:
    """Return what a script prints, its ranks started here and the fake of HFReduce beside it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = str(EXAMPLES / script)
    return "".join(run_ranks(ranks, ranks_examples.work, path, [*arguments], port, FAKE))


def run(ranks: int, script: str, *arguments: str) -> list[float]:
    """Return the losses that a script prints, its ranks started here."""
    return losses_in(said_by(ranks, script, f"--steps={STEPS}", *arguments))


def torchrun(ranks: int, script: str, *arguments: str) -> list[float]:
    """Return the losses that a script under torchrun prints."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc-per-node={ranks}", str(EXAMPLES / script), f"--steps={STEPS}"]
    process = subprocess.Popen(
        [*command, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(SOURCES)},
    )
    try:
        out, err = process.communicate(timeout=90)
    except subprocess.TimeoutExpired:
        process.terminate()  # torchrun ends its ranks
        out, err = process.communicate(timeout=20)
    assert process.returncode == 0, err
    return losses_in(out)


def alone(
    model: nn.Module,
    optimizer: Callable[[nn.Module], torch.optim.Optimizer],
    loss_of: Callable[[nn.Module, int], Tensor],
) -> list[float]:
    steps, losses = optimizer(model), []
    for step in range(STEPS):
        loss = loss_of(model, step)
        steps.zero_grad()
        loss.backward()
        steps.step()
        losses.append(loss.item())
    assert losses[-1] < 0.9 * losses[0]
    return losses


def gpt_alone() -> list[float]:
    import gpt

    def loss_of(model: nn.Module, step: int) -> Tensor:
        tokens = gpt.sample(step, BATCH)
        loss: Tensor = gpt.GPTLoss()(model(tokens), tokens)
        return loss

    return alone(gpt.gpt(), lambda m: torch.optim.AdamW(m.parameters(), lr=3e-3), loss_of)


def test_pipelines_as_replicas_under_torchrun() -> None:
    losses = torchrun(4, "train_gpt_pipeline.py", "--pp-size=2")
    assert losses == pytest.approx(gpt_alone(), abs=TOLERANCE)


def test_a_pipeline_there_and_back() -> None:
    losses = run(2, "train_gpt_pipeline.py", "--pp-size=2", "--schedule=ZBV")
    assert losses == pytest.approx(gpt_alone(), abs=TOLERANCE)


def test_shards(tmp_path: Path) -> None:
    saved = tmp_path / "model.pt"
    losses = run(2, "train_gpt_fsdp.py", f"--save={saved}")
    assert losses == pytest.approx(gpt_alone(), abs=TOLERANCE)
    import gpt

    gpt.gpt().load_state_dict(torch.load(saved))


def test_replicas() -> None:
    import train_cnn_ddp

    def loss_of(model: nn.Module, step: int) -> Tensor:
        samples, labels = train_cnn_ddp.sample(step, BATCH)
        return nn.functional.cross_entropy(model(samples), labels)

    wanted = alone(
        train_cnn_ddp.cnn(),
        lambda m: torch.optim.AdamW(m.parameters(), lr=1e-2),
        loss_of,
    )
    assert run(2, "train_cnn_ddp.py") == pytest.approx(wanted, abs=TOLERANCE)


def test_the_benchmark_of_a_step() -> None:
    sizes = ("--layers=2", "--batch=4", "--steps=2", "--rounds=1")
    said = said_by(2, "bench_ddp.py", "--models", "gpt", "cnn", "linear", *sizes, "--json")
    found = json.loads(said)
    assert (found["ranks"], found["backend"]) == (2, "gloo")
    assert list(found["models"]) == ["gpt", "cnn", "linear"]
    assert found["models"]["linear"]["gradient_bytes"] == 8 << 20
    for each in found["models"].values():
        assert each["ratio"] == each["group_step_s"] / each["hfreduce_step_s"]
    table = said_by(2, "bench_ddp.py", "--models", "cnn", *sizes).splitlines()
    assert table[0].split() == ["model", "gradients", "gloo", "hfreduce", "ratio", "2", "ranks"]
    assert table[1].startswith("cnn ")
