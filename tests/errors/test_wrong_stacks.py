"""Every wrong stack is refused with the exact message, and nothing is created."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.fake_provider import answer
from tests.fake_stack import FakeStack
from tests.stacks import READY, make_stack

from fireflyer.errors import IntentError, OperatingError
from infra import operate

CASES: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "stacks.yml").read_text())


class ReadStack(FakeStack):
    """A stack that is read alone: whatever is refused is refused before anything is made."""

    def set(self, key: str, value: str) -> None:
        raise AssertionError("something would be made")


def refusal(case: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Raise a stack that must be refused; return the messages without the folder's name."""
    monkeypatch.setattr(operate, "PROGRAM", folder)
    stack = ReadStack(make_stack(folder, case["base"], {**READY, **case.get("change", {})}))
    with pytest.raises(IntentError) as refused:
        operate.run(
            "up", case["base"], lambda plan: answer(plan, case.get("facts")), lambda name: stack
        )
    return [str(problem).replace(f"{folder}/", "") for problem in refused.value.problems]


@pytest.mark.parametrize("name", CASES)
def test_wrong_stack(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusal(CASES[name], tmp_path, monkeypatch) == CASES[name]["messages"]


def test_there_are_enough_wrong_stacks() -> None:
    assert len(CASES) >= 15


def test_a_file_that_is_no_replica(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operate, "PROGRAM", tmp_path)
    file = tmp_path / "Pulumi.mine.yaml"
    file.write_text("config:\n  aws:region: us-east-1\n")
    with pytest.raises(IntentError) as refused:
        operate.run("up", "mine", answer, lambda name: ReadStack(file))
    assert str(refused.value).replace(f"{tmp_path}/", "") == (
        "Pulumi.mine.yaml:1: config.fireflyer-replica:replica: is missing; copy"
        " pulumi/Pulumi.smoke.yaml and change it"
    )


def test_a_stack_without_a_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(OperatingError) as refused:
        operate.run("up", "mine", answer, lambda name: ReadStack(tmp_path))
    assert str(refused.value) == (
        "stack 'mine' has no pulumi/Pulumi.mine.yaml; copy one of infiniband, pair, pod, smoke and"
        " change it"
    )


def test_what_is_over_is_told_by_plan_and_set_anew_by_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operate, "PROGRAM", tmp_path)
    stack = ReadStack(make_stack(tmp_path, "pair", {**READY, "expires": "2029-11-30T18:00:00Z"}))
    with pytest.raises(IntentError) as refused:
        operate.run("plan", "pair", answer, lambda name: stack)
    assert str(refused.value).replace(f"{tmp_path}/", "") == (
        "Pulumi.pair.yaml:27: expires is 2029-11-30T18:00:00Z: it is 2029-12-01T00:00:00Z now;"
        " run make replica-up, which sets it anew"
    )
    with pytest.raises(AssertionError, match="something would be made"):
        operate.run("up", "pair", answer, lambda name: stack)
