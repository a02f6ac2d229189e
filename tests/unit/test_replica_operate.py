"""Raising and removing a replica: what is asked, written and said, also when it fails."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.fake_provider import answer
from tests.stacks import READY, make_stack

from fireflyer.design.replica import plan_replica
from fireflyer.errors import OperatingError
from fireflyer.load.replica import load_replica
from fireflyer.render.replica import as_text
from fireflyer.verify.replica import checks_as_text, preflight
from infra import operate


class FakeStack:
    """A stack of Pulumi's Automation API that keeps what it was told."""

    def __init__(self, fail: str = "") -> None:
        self.fail, self.calls = fail, list[str]()
        self.config: dict[str, str] = {}

    def set_config(self, key: str, value: Any) -> None:
        self.config[key] = value

    def _do(self, verb: str) -> None:
        self.calls.append(verb)
        if verb == self.fail:
            raise RuntimeError(f"{verb}: InsufficientInstanceCapacity")

    def up(self, *, on_output: Callable[[str], object]) -> Any:
        self._do("up")
        output = types.SimpleNamespace(value={"hosts": {"mg01": {}}})
        return types.SimpleNamespace(outputs={"inventory": output})

    def refresh(self, *, on_output: Callable[[str], object], **more: Any) -> None:
        assert more == {"clear_pending_creates": True}
        self._do("refresh")

    def destroy(self, *, on_output: Callable[[str], object]) -> None:
        self._do("destroy")

    def cancel(self) -> None:
        self._do("cancel")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a stack that may be raised."""
    make_stack(tmp_path, "pair", READY)
    monkeypatch.setattr(operate, "PROGRAM", tmp_path)
    monkeypatch.setattr(operate, "REPOSITORY", tmp_path)
    monkeypatch.setattr(operate, "KEPT", tmp_path)
    monkeypatch.setattr(operate, "_plain", lambda value: value)
    return tmp_path


def test_plan_shows_everything_and_makes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(name: str) -> operate.Stack:
        raise AssertionError

    assert operate.run("plan", "pair", answer, never) == 0
    said = capsys.readouterr().out
    for part in (
        "compute         4 x p4d.24xlarge",
        "2,132.42 $ a day of the ceiling's 2,500.00",
        "list prices of 2025-12 and 2026-02, out of a file: check them",
        "ok  quota L-417A185B: 384 vCPU of 10000 free",
        "ok  p4d.24xlarge: in us-east-1a",
    ):
        assert part in said


def test_the_plan_says_that_its_prices_are_another_regions(
    tmp_path: Path,
) -> None:
    elsewhere = {"replica.region": "us-west-2", "replica.zone": "us-west-2a"}
    plan = plan_replica(load_replica(make_stack(tmp_path, "pair", elsewhere)))
    said = as_text(plan)
    assert (
        "list prices of 2025-12 and 2026-02 of us-east-1, not of us-west-2, out of a file" in said
    )


def test_a_price_that_the_provider_does_not_tell_is_the_catalogues(tmp_path: Path) -> None:
    plan = plan_replica(load_replica(make_stack(tmp_path, "pair", READY)))
    facts = answer(plan, {"usd_per_hour.p4d.24xlarge": None, "usd_per_hour.m6i.xlarge": 0.5})
    said = checks_as_text(preflight(plan, facts))
    for part in (
        "ok  price of p4d.24xlarge: the provider does not tell;"
        " in the catalogue 21.958 $/h of us-east-1, 2026-02",
        "ok  price of m6i.xlarge: 0.500 $/h, in the catalogue 0.192",
        f"ok  price: {2132.42 + 24 * (0.5 - 0.192):,.2f} $ a day of 2,500.00",
    ):
        assert part in said


def test_up_sets_an_end_and_writes_the_inventory(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stack = FakeStack()
    assert operate.run("up", "pair", answer, lambda name: stack) == 0
    assert list(stack.config) == ["fireflyer-replica:expires"]
    assert stack.config["fireflyer-replica:expires"].endswith("Z")
    written = json.loads((folder / "stacks" / "pair" / "inventory.json").read_text())
    assert written == {"hosts": {"mg01": {}}}
    assert "playbooks/site.yml" in capsys.readouterr().out


def test_what_a_failed_up_leaves_down_removes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stack = FakeStack(fail="up")
    assert operate.run("up", "pair", answer, lambda name: stack) == 1
    said = capsys.readouterr().err
    assert "InsufficientInstanceCapacity" in said
    assert "remove it: make replica-down STACK=pair" in said
    assert not (folder / "stacks" / "pair").exists()
    assert operate.run("down", "pair", answer, lambda name: stack) == 0
    assert stack.calls == ["up", "refresh", "destroy"]


def test_down_asks_no_provider_and_breaks_no_lock_unasked(folder: Path) -> None:
    def never(plan: Any) -> Any:
        raise AssertionError

    stack = FakeStack()
    assert operate.run("down", "pair", never, lambda name: stack) == 0
    assert "cancel" not in stack.calls
    assert operate.run("down", "pair", never, lambda name: stack, unlock=True) == 0
    assert stack.calls == ["refresh", "destroy", "cancel", "refresh", "destroy"]


def test_a_failed_down_says_that_it_costs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inventory = folder / "stacks" / "pair" / "inventory.json"
    inventory.parent.mkdir(parents=True)
    inventory.write_text("{}")
    assert operate.run("down", "pair", answer, lambda name: FakeStack(fail="destroy")) == 1
    assert "costs money; run this again" in capsys.readouterr().err
    assert inventory.exists()


def test_a_stack_that_is_out_of_order_can_be_removed(folder: Path) -> None:
    """Even one whose file no longer plans."""
    make_stack(folder, "pair", {"replica.scale": "0"})
    assert operate.run("down", "pair", answer, lambda name: FakeStack()) == 0


def test_without_an_engine_it_says_so_and_fetches_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    automation = types.ModuleType("pulumi.automation")
    fake = types.ModuleType("pulumi")
    fake.automation = automation  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pulumi", fake)
    with pytest.raises(OperatingError, match=r"engine is not on PATH; install version 3\.272"):
        operate._open("pair")


def test_cleaning_keeps_what_removes_a_replica() -> None:
    """The state is the only list of what costs money."""
    makefile = (operate.PROGRAM.parent / "Makefile").read_text()
    cleaning = makefile.partition("\nclean:")[2]
    assert operate.KEPT.name not in cleaning
