"""What raising a replica takes of rights on AWS: of every kind of resource that a program declares.

That the calls are those of the kinds is checked against botocore's models, which name every call,
and against the calls that moto was made the kinds by.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from tests.conftest import REPO
from tests.replica.conftest import Run
from tests.replica.fake_engine import FakeEngine, run_program
from tests.replica.fake_iam import FakeIam, allows
from tests.replica.fake_moto import FakeMoto
from tests.replica.test_aws import CLOSED
from tests.replica.test_moto import IMAGE, endpoint
from tests.stacks import PROVIDERS, READY, make_stack

from fireflyer.design.replica import plan_replica
from fireflyer.load.replica import load_replica
from fireflyer.model.replica_plan import ReplicaPlan
from infra.aws import permissions as asking
from infra.aws.policy import as_text, policy
from infra.aws.rights import DEFAULT_GROUP, QUESTIONS, RIGHTS, actions, kinds

__all__ = ["endpoint"]
ACCOUNT = "123456789012"
USER = f"arn:aws:iam::{ACCOUNT}:user/owner"
OPEN = {"replica.access.kind": "session-manager", "replica.access.cidrs": []}
EXAMPLES = [name for name, provider in PROVIDERS.items() if provider == "aws"]
NO_CALL = {"iam:PassRole", "budgets:ModifyBudget", "budgets:ViewBudget"}
"""Actions that are no call of their own: a budget is made, changed and removed by one right."""


def plan(folder: Path, name: str = "", **changes: Any) -> ReplicaPlan:
    return plan_replica(load_replica(make_stack(folder, "pair", {**READY, **changes}, name=name)))


@pytest.mark.parametrize(
    ("base", "changes"),
    [*((base, {}) for base in EXAMPLES), ("pair", OPEN), ("pair", CLOSED)],
    ids=[*EXAMPLES, "sessions", "closed"],
)
def test_every_kind_that_a_program_declares_has_rights(
    base: str, changes: dict[str, Any], run: Run
) -> None:
    wanted, graph = run(base, changes)
    declared = {found.kind for found in graph.resources if found.kind.startswith("aws:")}
    assert kinds(dataclasses.replace(wanted, alarms_told=True)) == declared
    assert {token for token, _ in graph.questions} <= set(QUESTIONS)


def test_every_action_is_one_of_awss() -> None:
    session = botocore.session.get_session()
    known = {
        f"{service}:{call}"
        for service in {action.partition(":")[0] for action in actions(RIGHTS)}
        for call in session.get_service_model(service).operation_names
    }
    assert actions(RIGHTS) - known == NO_CALL


def test_every_call_that_makes_or_removes_a_kind_is_among_its_rights(
    endpoint: str, tmp_path: Path
) -> None:
    """The calls are written down as they leave; one by one, under the kind they are made for."""
    moto, calls, doing = FakeMoto(endpoint), defaultdict[str, set[str]](set), [""]
    for name in ("ec2", "iam", "route53", "sns", "budgets", "cloudwatch", "scheduler", "sqs",
                 "ssm", "events"):  # fmt: skip
        client: Any = getattr(moto, name)

        def note(model: Any, name: str = name, **_: Any) -> None:
            calls[doing[0]].add(f"{name}:{model.name}")

        client.meta.events.register("before-call", note)
    for verb in ("create", "delete", "call"):
        done = getattr(moto, verb)

        def do(kind: str, *rest: Any, done: Any = done) -> Any:
            doing[0] = kind
            try:
                return done(kind, *rest)
            finally:
                doing[0] = ""

        setattr(moto, verb, do)
    engine = FakeEngine(moto, preview=False)
    for name, changes in (("rights", {}), ("rights-closed", CLOSED)):
        found = {**READY, "replica.image": {"id": IMAGE}, **changes}
        file = make_stack(tmp_path / name, "smoke", found, name=name)
        engine = FakeEngine(moto, preview=False)
        run_program(file, moto, tmp_path / "program", config={"alarm_email": "a@example.org"},
                    engine=engine)  # fmt: skip
        engine.destroy()
    # moto has no placement groups.
    assert not calls.pop("", None)
    assert set(calls) == {*RIGHTS, *QUESTIONS} - {"aws:ec2/placementGroup:PlacementGroup"}
    for kind, made in calls.items():
        budget = {f"budgets:{verb}Budget" for verb in ("Create", "Delete")}
        # As moto wants it, not AWS: interfaces go with their instance.
        made -= budget | {"ec2:DeleteNetworkInterface"}
        known = set(QUESTIONS[kind]) if kind in QUESTIONS else actions([kind])
        assert made - known == set(), kind


@pytest.fixture
def by(monkeypatch: pytest.MonkeyPatch) -> Callable[[FakeIam], None]:
    def give(iam: FakeIam) -> None:
        monkeypatch.setattr(asking.boto3, "client", lambda *_, **__: iam)

    return give


def test_with_the_policy_nothing_is_missing_without_an_action_it_is_named(
    tmp_path: Path, by: Callable[[FakeIam], None]
) -> None:
    wanted = plan(tmp_path)
    whole = json.loads(as_text(wanted))
    by(FakeIam(whole, USER))
    assert asking.permissions(wanted, USER) == asking.Permissions(who=USER)
    for action, kind in {
        "ec2:CreateVpc": "aws:ec2/vpc:Vpc",
        "ec2:TerminateInstances": "aws:ec2/instance:Instance",
        "iam:PassRole": "aws:iam/role:Role",
        "scheduler:CreateSchedule": "aws:scheduler/schedule:Schedule",
        "route53:CreateHostedZone": asking.ANYWHERE,
        "servicequotas:GetServiceQuota": asking.ANYWHERE,
    }.items():
        by(FakeIam(without(whole, action), USER))
        assert asking.permissions(wanted, USER).missing == {kind: (action,)}


def without(whole: Mapping[str, Any], action: str) -> dict[str, Any]:
    """Return a policy that does not allow an action."""
    rest = [
        {**one, "Action": [given for given in one["Action"] if given != action]}
        for one in whole["Statement"]
    ]
    return {**whole, "Statement": rest}


def test_what_a_plan_does_not_take_is_not_asked_for(
    tmp_path: Path, by: Callable[[FakeIam], None]
) -> None:
    """A replica with a bastion makes no profile, one without a way out no translator."""
    wanted = plan(tmp_path)
    by(FakeIam(without(policy(wanted), "iam:CreateInstanceProfile"), USER))
    assert asking.permissions(wanted, USER).missing == {}


def test_the_policy_lets_nobody_change_what_is_anothers(tmp_path: Path) -> None:
    """Other names, other tags; not so of groups, as a VPC's default one has no tag."""
    wanted = plan(tmp_path)
    whole = policy(wanted)
    tag = "fireflyer-replica"
    theirs = {f"aws:ResourceTag/{tag}": "fire-flyer-2-other", f"aws:RequestTag/{tag}": "x"}
    mine = "fire-flyer-2-pair"
    own = {f"aws:ResourceTag/{tag}": mine, f"aws:RequestTag/{tag}": mine,
           "iam:PassedToService": "ec2.amazonaws.com"}  # fmt: skip
    looked_at = 0
    for kind, rights in RIGHTS.items():
        place = {"region": "us-east-1", "account": ACCOUNT}
        arn = "arn:aws:" + rights.arn.format(own=mine, **place)
        other = "arn:aws:" + rights.arn.format(own="fire-flyer-2-other", **place)
        elsewhere = arn.replace("us-east-1", "us-east-2")
        for action in (*rights.makes, *rights.changes):
            assert allows(whole, action, arn, own), (kind, action)
            if action.partition(":")[2].startswith(("Get", "List", "Describe", "View")):
                continue
            if kind == DEFAULT_GROUP or action.startswith("ec2:RevokeSecurityGroup"):
                continue
            if not (action == "ec2:CreateTags" and ":security-group/" in arn):
                assert not allows(whole, action, other, theirs), (kind, action)
            if elsewhere != arn:
                assert not allows(whole, action, elsewhere, own), (kind, action)
            looked_at += 1
    assert looked_at > 80
    # To give the tag to what is there already would make it one's own.
    instance = "arn:aws:ec2:us-east-1:123456789012:instance/i-1"
    taken = {f"aws:RequestTag/{tag}": mine}
    assert not allows(whole, "ec2:CreateTags", instance, taken)
    assert allows(whole, "ec2:CreateTags", instance, {**taken, "ec2:CreateAction": "RunInstances"})
    role = f"arn:aws:iam::{ACCOUNT}:role/{mine}-host"
    assert not allows(whole, "iam:PassRole", role, {"iam:PassedToService": "lambda.amazonaws.com"})


def test_the_policy_fits_a_managed_one(tmp_path: Path) -> None:
    text = as_text(plan(tmp_path, name="a-name-that-is-thirty-letters"))
    assert "fire-flyer-2-a-name-that-is-thirty-letters" in text
    assert len("".join(text.split())) <= 6144


def test_a_session_is_its_role_with_the_path_it_has(
    tmp_path: Path, by: Callable[[FakeIam], None]
) -> None:
    wanted = plan(tmp_path)
    who = f"arn:aws:sts::{ACCOUNT}:assumed-role/operator/somebody"
    for source in (f"arn:aws:iam::{ACCOUNT}:role/people/operator",
                   f"arn:aws:iam::{ACCOUNT}:role/operator"):  # fmt: skip
        by(FakeIam(policy(wanted), source))
        assert asking.permissions(wanted, who) == asking.Permissions(who=who)


@pytest.mark.parametrize(
    ("who", "why"),
    [
        (f"arn:aws:iam::{ACCOUNT}:root", "the simulation takes no account's root; it may all"),
        (f"arn:aws:sts::{ACCOUNT}:federated-user/x", "the simulation takes no federated-user"),
        (USER, "the simulation was refused: An error occurred (AccessDenied)"),
    ],
)
def test_what_cannot_be_checked_is_said(
    who: str, why: str, tmp_path: Path, by: Callable[[FakeIam], None]
) -> None:
    wanted = plan(tmp_path)
    by(FakeIam(policy(wanted), USER, may_ask=False))
    found = asking.permissions(wanted, who)
    assert (found.who, found.missing) == (who, {})
    assert found.unchecked.startswith(why)


def test_rights_that_nobody_reads_end_quietly() -> None:
    """As in `make replica-rights STACK=pair | head`."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "infra.operate", "rights", "pair"],
            cwd=REPO / "pulumi",
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")
