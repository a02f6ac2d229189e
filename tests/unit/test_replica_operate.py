"""Raising and removing a replica: what is asked, written and said, also when it fails."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.conftest import REPO
from tests.fake_provider import answer
from tests.fake_stack import FakeStack
from tests.stacks import READY, make_stack

from fireflyer.design.replica import plan_replica
from fireflyer.errors import IntentError, OperatingError
from fireflyer.load.replica import configured_replica, load_replica
from fireflyer.model.provider_facts import RunningMachine
from fireflyer.model.replica import UTC_FORMAT
from fireflyer.model.replica_plan import ReplicaPlan
from fireflyer.render.replica import as_text, running_as_text
from fireflyer.verify.replica import checks_as_text, preflight
from infra import operate
from infra.stack import BACKEND, Stack

PAIR = "Pulumi.pair.yaml"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a stack that may be raised."""
    make_stack(tmp_path, "pair", READY)
    monkeypatch.setattr(operate, "PROGRAM", tmp_path)
    monkeypatch.setattr(operate, "REPOSITORY", tmp_path)
    monkeypatch.setattr(operate, "KEPT", tmp_path)
    return tmp_path


def test_plan_shows_everything_and_makes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stack = FakeStack(make_stack(folder, "pair", {**READY, "expires": None}))
    assert operate.run("plan", "pair", answer, lambda name: stack) == 0
    assert (stack.calls, stack.written) == ([], {})
    said = capsys.readouterr().out
    for part in (
        "ok  rights: arn:aws:iam::123456789012:user/owner may do all that the plan takes",
        "changes: none to show; the replica was never raised",
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
    stack = FakeStack(folder / PAIR)
    assert operate.run("up", "pair", answer, lambda name: stack) == 0
    assert list(stack.written) == ["fireflyer-replica:expires"]
    assert stack.written["fireflyer-replica:expires"].endswith("Z")
    written = json.loads((folder / "stacks" / "pair" / "inventory.json").read_text())
    assert written == {"hosts": {"mg01": {}}}
    assert "playbooks/site.yml" in capsys.readouterr().out


def test_what_a_failed_up_leaves_down_removes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stack = FakeStack(folder / PAIR, fail="up")
    assert operate.run("up", "pair", answer, lambda name: stack, running=two_run) == 1
    said = capsys.readouterr().err
    assert "InsufficientInstanceCapacity" in said
    assert "until it is removed: make replica-down STACK=pair" in said
    assert not (folder / "stacks" / "pair").exists()
    assert operate.run("down", "pair", answer, lambda name: stack) == 0
    assert stack.calls == ["refresh", "up", "refresh", "destroy"]


def two_run(plan: ReplicaPlan) -> tuple[RunningMachine, ...]:
    return (
        RunningMachine(name="mg01", type="m6i.xlarge", id="i-2"),
        RunningMachine(name="a-cn0001", type="p4d.24xlarge", id="i-1"),
    )


@pytest.mark.parametrize(
    ("error", "code", "first"),
    [
        (None, 1, "error: up: InsufficientInstanceCapacity"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (RuntimeError("ExpiredToken"), 1, "error: ExpiredToken"),
    ],
    ids=["refused machine", "interrupted", "expired credentials"],
)
def test_whoever_is_left_with_a_part_is_told_what_runs_and_what_it_costs(
    error: BaseException | None,
    code: int,
    first: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stack = FakeStack(folder / PAIR, fail="up", error=error)
    assert operate.run("up", "pair", answer, lambda name: stack, running=two_run) == code
    ends = stack.written["fireflyer-replica:expires"]
    until = f"{datetime.strptime(ends, UTC_FORMAT):%Y-%m-%d %H:%M}"
    assert capsys.readouterr().err.splitlines() == [
        first,
        "2 machine(s) of it run and are paid for:",
        "  a-cn0001    p4d.24xlarge                  21.958 $/h  i-1",
        "  mg01        m6i.xlarge                     0.192 $/h  i-2",
        "  together 22.15 $/h, by the list and on demand",
        f"its end, if machines run, is there: {until} UTC at the latest; disks and addresses cost"
        " until it is removed: make replica-down STACK=pair",
        "to go on with it: make replica-up STACK=pair",
    ]


def test_if_the_provider_cannot_be_asked_the_most_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def lost(plan: ReplicaPlan) -> tuple[RunningMachine, ...]:
        raise OperatingError("AWS cannot be asked: ExpiredToken; look by: aws ec2 ...")

    stack = FakeStack(folder / PAIR, fail="up")
    assert operate.run("up", "pair", answer, lambda name: stack, running=lost) == 1
    said = capsys.readouterr().err
    assert "what runs is not known: AWS cannot be asked: ExpiredToken; look by: aws ec2" in said
    assert "at most all of it, which costs 88.85 $/h" in said
    assert "its end, if machines run, is there: " in said


def test_a_machine_of_another_type_is_told_without_a_price(tmp_path: Path) -> None:
    plan = plan_replica(load_replica(make_stack(tmp_path, "pair", READY)))
    said = running_as_text(plan, [RunningMachine(name="x", type="u7i.large", id="i-9")])
    assert "together 0.00 $/h, and what 1 of another type cost" in said
    assert running_as_text(plan, []) == "no machine of it runs"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_end_stops_the_engine_and_waits_for_it(
    number: signal.Signals, tmp_path: Path
) -> None:
    """In its own process; a program that takes a moment to stop stands for the engine."""
    engine = tmp_path / "engine"
    engine.write_text(
        "import signal, sys, time\n"
        "def stop(*_):\n    time.sleep(0.5)\n    print('engine stopped', flush=True)\n"
        "    sys.exit(1)\n"
        "signal.signal(signal.SIGINT, stop)\nprint('ready', flush=True)\ntime.sleep(60)\n"
    )
    caller = (
        "import subprocess, sys\nfrom infra.interrupt import interruptible\n"
        "try:\n    with interruptible():\n"
        # As the Automation API runs the engine.
        f"        with subprocess.Popen([sys.executable, {str(engine)!r}]) as run:\n"
        "            run.wait()\n"
        "except KeyboardInterrupt:\n    print('reported', flush=True)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", caller],
        cwd=REPO / "pulumi",
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    said, _ = process.communicate(timeout=30)
    assert said == "engine stopped\nreported\n"


@pytest.mark.parametrize(
    ("mail", "said"),
    [
        (None, "!!  alarms: to NOBODY, and the budget's warnings too; to get them: pulumi -C pulumi"
               " config set --stack pair --secret alarm_email you@example.org"),
        ({"secure": "v1:xyz"}, "ok  alarms: to the stack's alarm_email"),
    ],
)  # fmt: skip
def test_alarms_without_a_receiver_are_said_before_up(
    mail: object, said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_stack(folder, "pair", {**READY, "alarm_email": mail})
    assert operate.run("up", "pair", answer, lambda name: FakeStack(folder / PAIR)) == 0
    assert said in capsys.readouterr().out.splitlines()


def test_up_again_makes_what_was_lost_since(folder: Path) -> None:
    """Without a look at the provider a lost instance stays in the state, and is not made again."""
    stack = FakeStack(folder / PAIR)
    assert operate.run("up", "pair", answer, lambda name: stack) == 0
    assert stack.calls == ["refresh", "up"]


def test_plan_of_a_raised_replica_marks_what_would_be_replaced(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stack = FakeStack(folder / PAIR)
    assert operate.run("plan", "pair", answer, lambda name: stack) == 0
    assert stack.calls == ["preview"]
    assert stack.written == {}
    assert capsys.readouterr().out.partition("changes: ")[2].splitlines() == [
        "3",
        "  ~        aws:scheduler/schedule:Schedule stop: startDate",
        "  +        aws:ec2/instance:Instance a-cn0002",
        "  REPLACED aws:ec2/instance:Instance mg01: launchTemplate",
        "  1 REPLACED: what is there is deleted first, with what its disks hold",
    ]


def test_plan_without_an_engine_reads_the_file_and_says_so(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def none(name: str) -> Stack:
        raise OperatingError("Pulumi's engine is not on PATH")

    assert operate.run("plan", "pair", answer, none) == 0
    said = capsys.readouterr().out
    assert "changes: not known: Pulumi's engine is not on PATH" in said
    assert (
        "configuration: of Pulumi.pair.yaml alone, as it stands: Pulumi's engine is not on PATH"
        in said
    )
    with pytest.raises(OperatingError, match="engine is not on PATH"):
        operate.run("up", "pair", answer, none)
    with (folder / PAIR).open("a") as file:
        file.write("environment: [prices]\n")
    with pytest.raises(IntentError, match="environment: adds values that Pulumi's engine alone"):
        operate.run("plan", "pair", answer, none)


def test_plan_with_an_engine_that_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        operate.run("plan", "pair", answer, lambda name: FakeStack(folder / PAIR, fail="preview"))
        == 1
    )
    assert "error: no preview: preview: Insufficient" in capsys.readouterr().err


def test_down_asks_no_provider_and_breaks_no_lock_unasked(folder: Path) -> None:
    def never(plan: Any) -> Any:
        raise AssertionError

    stack = FakeStack(folder / PAIR)
    assert operate.run("down", "pair", never, lambda name: stack) == 0
    assert "cancel" not in stack.calls
    assert operate.run("down", "pair", never, lambda name: stack, unlock=True) == 0
    assert stack.calls == ["refresh", "destroy", "cancel", "refresh", "destroy"]


def test_a_failed_down_says_that_it_costs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inventory = folder / "stacks" / "pair" / "inventory.json"
    inventory.parent.mkdir(parents=True)
    inventory.write_text("{}")
    assert (
        operate.run("down", "pair", answer, lambda name: FakeStack(folder / PAIR, fail="destroy"))
        == 1
    )
    assert "costs money; run this again" in capsys.readouterr().err
    assert inventory.exists()


def test_a_stack_that_is_out_of_order_can_be_removed(folder: Path) -> None:
    """Even one whose file no longer plans."""
    make_stack(folder, "pair", {"replica.scale": "0"})
    assert operate.run("down", "pair", answer, lambda name: FakeStack(folder / PAIR)) == 0


def test_cleaning_keeps_what_removes_a_replica() -> None:
    """The state is the only list of what costs money."""
    makefile = (operate.PROGRAM.parent / "Makefile").read_text()
    cleaning = makefile.partition("\nclean:")[2]
    project = (operate.PROGRAM / "Pulumi.yaml").read_text()
    assert f"url: {BACKEND}\n" in project, "by hand and by make: one state"
    assert (operate.PROGRAM / BACKEND.removeprefix("file://")).resolve() == operate.KEPT / "state"
    assert operate.KEPT.name not in cleaning


def test_values_of_pulumi_are_what_is_planned_and_take_precedence_over_none_of_the_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of an environment, of the project, set as a secret: what the engine merged is what counts."""
    replica = yaml.safe_load((folder / PAIR).read_text())["config"]["fireflyer-replica:replica"]
    (folder / PAIR).write_text("environment: [replicas]\n")
    more = {
        "fireflyer-replica:replica": json.dumps({**replica, "ttl_hours": 3}),
        "fireflyer-replica:alarm_email": "a@example.org",
    }
    stack = FakeStack(folder / PAIR, more=more)
    assert operate.run("plan", "pair", answer, lambda name: stack) == 0
    said = capsys.readouterr().out
    assert "$ in its 3 h" in said
    assert "ok  alarms: to the stack's alarm_email" in said


def test_a_problem_has_the_line_of_the_file_where_the_file_has_the_value(folder: Path) -> None:
    """A value from elsewhere is not to be found in its line."""
    replica = yaml.safe_load((folder / PAIR).read_text())["config"]["fireflyer-replica:replica"]
    for changes, line in (({}, 26), ({"usd_per_day_ceiling": 501}, 2)):
        values = {**replica, "usd_per_day_ceiling": 500, **changes}
        make_stack(folder, "pair", {**READY, "replica.usd_per_day_ceiling": 500})
        own = {"fireflyer-replica:replica": json.dumps(values)}
        with pytest.raises(IntentError) as refused:
            plan_replica(configured_replica("pair", own, folder / PAIR))
        (problem,) = refused.value.problems
        assert problem.where == f"{folder / PAIR}:{line}", problem
        assert problem.key == "replica.usd_per_day_ceiling"


@pytest.mark.parametrize("text", ["of: fire-flyer-2", "[]"])
def test_a_value_that_is_no_mapping_is_refused(text: str, folder: Path) -> None:
    with pytest.raises(IntentError, match=r"must be a mapping"):
        configured_replica("pair", {"fireflyer-replica:replica": text}, folder / PAIR)


def test_who_may_not_make_it_is_told_before_anything_is_made(folder: Path) -> None:
    lacks = {"aws:iam/role:Role": ("iam:CreateRole", "iam:PassRole")}
    stack = FakeStack(folder / PAIR)
    with pytest.raises(IntentError) as refused:
        operate.run(
            "up", "pair", lambda plan: answer(plan, {"permissions.missing": lacks}),
            lambda name: stack,
        )  # fmt: skip
    assert str(refused.value).partition(": ")[2] == (
        "replica.provider is aws: arn:aws:iam::123456789012:user/owner may not iam:CreateRole,"
        " iam:PassRole (for aws:iam/role:Role); attach the policy that make replica-rights"
        " STACK=pair prints"
    )
    assert (stack.calls, stack.written) == ([], {})


def test_rights_that_cannot_be_checked_are_said_and_refuse_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unchecked = {"permissions.unchecked": "the simulation was refused: AccessDenied"}
    stack = FakeStack(folder / PAIR)
    assert operate.run("up", "pair", lambda plan: answer(plan, unchecked), lambda name: stack) == 0
    assert (
        "!!  rights: of arn:aws:iam::123456789012:user/owner NOT CHECKED: the simulation was"
        " refused: AccessDenied; a refusal may leave a part of the replica"
    ) in capsys.readouterr().out.splitlines()
