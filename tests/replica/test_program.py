"""What `pulumi up` does without `make replica-up`: the same configuration and the same checks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.fake_provider import answer
from tests.replica.fake_aws import FakeAws
from tests.replica.fake_engine import PROGRAM, FakeEngine, run_program
from tests.stacks import READY, make_stack

from fireflyer.errors import OperatingError
from fireflyer.model.replica_plan import ReplicaPlan
from infra import checks

KEY = "fireflyer-replica:replica"


def test_a_value_from_elsewhere_is_what_is_declared(tmp_path: Path) -> None:
    """The file has no replica at all, as if it came from an environment or another file."""
    file = make_stack(tmp_path / "stack", "pair", READY)
    replica = yaml.safe_load(file.read_text())["config"][KEY]
    file.write_text("environment: [replicas]\n")
    more = {
        KEY: json.dumps({**replica, "owner": "else@example.org"}),
        "fireflyer-replica:expires": "2031-01-01T00:00:00Z",
    }
    graph = run_program(file, FakeAws(), tmp_path / "program", more=more).graph
    tags = graph.one("aws:ec2/vpc:Vpc").inputs["tags"]
    assert (tags["owner"], tags["expires"]) == ("else@example.org", "2031-01-01T00:00:00Z")


@pytest.mark.parametrize("preview", [True, False], ids=["preview", "up"])
def test_what_the_checks_refuse_is_not_begun(
    preview: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(plan: ReplicaPlan) -> Any:
        return answer(plan, {"offered": "p4d.24xlarge"})

    monkeypatch.setattr(checks, "ask", ask)
    engine = FakeEngine(FakeAws(), preview=preview)
    file = make_stack(tmp_path / "stack", "pair", READY)
    with pytest.raises(Exception, match=r"cannot be built:\n.*us-east-1a does not have it"):
        run_program(file, FakeAws(), tmp_path / "program", engine=engine, checked="")
    assert engine.graph.resources == []


def test_what_the_checks_pass_is_declared_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, warned = list[str](), list[str]()
    monkeypatch.setattr(checks, "ask", answer)
    monkeypatch.setattr(checks.pulumi.log, "info", told.append)
    monkeypatch.setattr(checks.pulumi.log, "warn", warned.append)
    file = make_stack(tmp_path / "stack", "pair", READY)
    engine = run_program(file, FakeAws(), tmp_path / "program", checked="")
    assert len(engine.graph.resources) > 50
    assert "ok  zone: us-east-1a" in told[0]
    (text,) = warned
    assert text.startswith("alarms: to NOBODY, and the budget's warnings too")


def test_a_provider_that_cannot_be_asked_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(plan: ReplicaPlan) -> Any:
        raise OperatingError("AWS cannot be asked: no credentials")

    monkeypatch.setattr(checks, "ask", ask)
    engine = FakeEngine(FakeAws(), preview=False)
    file = make_stack(tmp_path / "stack", "pair", READY)
    with pytest.raises(Exception, match="AWS cannot be asked: no credentials"):
        run_program(file, FakeAws(), tmp_path / "program", engine=engine, checked="")
    assert engine.graph.resources == []


def test_the_checks_of_another_replica_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What operate leaves for its program names the replica."""
    asked = list[str]()

    def ask(plan: ReplicaPlan) -> Any:
        asked.append(plan.name)
        return answer(plan)

    monkeypatch.setattr(checks, "ask", ask)
    file = make_stack(tmp_path / "stack", "pair", READY)
    run_program(file, FakeAws(), tmp_path / "program")
    assert asked == []
    run_program(file, FakeAws(), tmp_path / "program", checked="other")
    assert asked == ["pair"]


def test_the_blueprint_is_found_without_being_installed() -> None:
    """`pulumi install` makes an environment of pulumi/requirements.txt, without it."""
    project = yaml.safe_load((PROGRAM.parent / "Pulumi.yaml").read_text())
    assert project["name"] == "fireflyer-replica"
    options = project["runtime"]["options"]
    assert (PROGRAM.parent / options["virtualenv"]).resolve().name == ".venv-pulumi"
    text = PROGRAM.read_text()
    path = text.index('sys.path.append(str(HERE.parent / "src"))')
    assert path < text.index("from fireflyer")
