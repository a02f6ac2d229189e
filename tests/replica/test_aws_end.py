"""The end on AWS as one chain: schedule, role, runbook, role, instances, queue, alarm, mail.

What AWS must be given is written here in its own words, from its documents, and not read from the
program; the runbook's script is run as it stands in the document.
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from tests.replica.conftest import Run
from tests.replica.fake_engine import FakeEngine, Graph, run_program
from tests.replica.fake_moto import FakeMoto
from tests.replica.test_moto import IMAGE, endpoint, name_of
from tests.stacks import PROVIDERS, READY, make_stack

__all__ = ["endpoint"]
INSTANCE = "aws:ec2/instance:Instance"
ROLE, POLICY = "aws:iam/role:Role", "aws:iam/rolePolicy:RolePolicy"
ALARM = "aws:cloudwatch/metricAlarm:MetricAlarm"
all_examples = pytest.mark.parametrize(
    "base", [name for name, provider in PROVIDERS.items() if provider == "aws"]
)


def statements(graph: Graph, role: str) -> list[dict[str, Any]]:
    """Return what a role may do; there is one policy of it, and nothing is denied."""
    (policy,) = [p for p in graph.of(POLICY) if p.inputs["role"] == role]
    found: list[dict[str, Any]] = json.loads(policy.inputs["policy"])["Statement"]
    assert {statement.pop("Effect") for statement in found} == {"Allow"}
    return found


def trusted(graph: Graph, arn: str) -> tuple[str, str]:
    """Return a role's name, and the only service that may take it."""
    (role,) = [r for r in graph.of(ROLE) if r.outputs["arn"] == arn]
    (statement,) = json.loads(role.inputs["assumeRolePolicy"])["Statement"]
    assert (statement["Effect"], statement["Action"]) == ("Allow", "sts:AssumeRole")
    assert set(statement["Principal"]) == {"Service"}
    return role.inputs["name"], statement["Principal"]["Service"]


@all_examples
def test_the_schedule_reaches_the_instances_and_nothing_else(base: str, run: Run) -> None:
    plan, graph = run(base)
    mine = f"fire-flyer-2-{base}"
    schedule = graph.one("aws:scheduler/schedule:Schedule").inputs
    assert schedule["startDate"] == "2030-01-31T18:00:00Z"
    assert schedule["scheduleExpression"] == "rate(1 hours)"
    assert (schedule["scheduleExpressionTimezone"], schedule["state"]) == ("UTC", "ENABLED")
    assert schedule["flexibleTimeWindow"] == {"mode": "OFF"}
    target = schedule["target"]
    assert target["arn"] == "arn:aws:scheduler:::aws-sdk:ssm:startAutomationExecution"
    runbook = graph.one("aws:ssm/document:Document")
    assert json.loads(target["input"]) == {"DocumentName": runbook.inputs["name"]}
    queue = graph.one("aws:sqs/queue:Queue")
    assert target["deadLetterConfig"] == {"arn": queue.outputs["arn"]}
    assert target["retryPolicy"]["maximumEventAgeInSeconds"] == 3600
    name, service = trusted(graph, target["roleArn"])
    assert service == "scheduler.amazonaws.com"
    content = json.loads(runbook.inputs["content"])
    where = f"arn:aws:ssm:{plan.intent.region}:123456789012"
    assert statements(graph, name) == [
        {
            "Action": ["ssm:StartAutomationExecution"],
            "Resource": [
                f"{where}:automation-definition/{mine}-stop:*",
                f"{where}:document/{mine}-stop",
                f"{where}:automation-execution/*",
            ],
        },
        {
            "Action": ["iam:PassRole"],
            "Resource": content["assumeRole"],
            "Condition": {"StringEquals": {"iam:PassedToService": "ssm.amazonaws.com"}},
        },
        {"Action": ["sqs:SendMessage"], "Resource": queue.outputs["arn"]},
    ]


@all_examples
def test_the_runbook_may_end_instances_with_the_replicas_tag_alone(base: str, run: Run) -> None:
    _, graph = run(base)
    mine = f"fire-flyer-2-{base}"
    document = graph.one("aws:ssm/document:Document").inputs
    assert (document["documentType"], document["documentFormat"]) == ("Automation", "JSON")
    content = json.loads(document["content"])
    assert content["schemaVersion"] == "0.3"
    (step,) = content["mainSteps"]
    assert (step["action"], step["inputs"]["Handler"]) == ("aws:executeScript", "end")
    assert step["inputs"]["Runtime"] == "python3.11"
    assert step["inputs"]["InputPayload"] == {"Tag": "fireflyer-replica", "Replica": mine}
    name, service = trusted(graph, content["assumeRole"])
    assert service == "ssm.amazonaws.com"
    assert statements(graph, name) == [
        {"Action": ["ec2:DescribeInstances"], "Resource": "*"},
        {
            "Action": ["ec2:StopInstances", "ec2:TerminateInstances"],
            "Resource": "arn:aws:ec2:*:*:instance/*",
            "Condition": {"StringEquals": {"aws:ResourceTag/fireflyer-replica": mine}},
        },
    ]
    # An instance has the tag from its first moment on: no call adds it later.
    for template in graph.of("aws:ec2/launchTemplate:LaunchTemplate"):
        (tags,) = [
            spec["tags"]
            for spec in template.inputs["tagSpecifications"]
            if spec["resourceType"] == "instance"
        ]
        assert tags["fireflyer-replica"] == mine
    for instance in graph.of(INSTANCE):
        assert instance.inputs["tags"]["fireflyer-replica"] == mine


@all_examples
def test_an_end_that_fails_is_told_to_the_owner(base: str, run: Run) -> None:
    _, graph = run(base)
    queue = graph.one("aws:sqs/queue:Queue")
    assert queue.inputs["messageRetentionSeconds"] == 14 * 24 * 3600
    rule = graph.one("aws:cloudwatch/eventRule:EventRule")
    assert rule.inputs["state"] == "ENABLED"
    assert json.loads(rule.inputs["eventPattern"]) == {
        "source": ["aws.ssm"],
        "detail-type": ["EC2 Automation Execution Status-change Notification"],
        "detail": {
            "Definition": [f"fire-flyer-2-{base}-stop"],
            "Status": ["Failed", "TimedOut", "Cancelled"],
        },
    }
    target = graph.one("aws:cloudwatch/eventTarget:EventTarget").inputs
    assert (target["rule"], target["arn"]) == (rule.inputs["name"], queue.outputs["arn"])
    policy = graph.one("aws:sqs/queuePolicy:QueuePolicy").inputs
    assert policy["queueUrl"] == queue.outputs["url"]
    assert json.loads(policy["policy"])["Statement"] == [
        {
            "Effect": "Allow",
            "Principal": {"Service": ["events.amazonaws.com"]},
            "Action": ["sqs:SendMessage"],
            "Resource": queue.outputs["arn"],
            "Condition": {"ArnEquals": {"aws:SourceArn": rule.outputs["arn"]}},
        }
    ]
    alarm = graph.one(ALARM, "stop-failed").inputs
    assert alarm["namespace"] == "AWS/SQS"
    assert alarm["metricName"] == "ApproximateNumberOfMessagesVisible"
    assert alarm["dimensions"] == {"QueueName": queue.inputs["name"]}
    assert (alarm["statistic"], alarm["comparisonOperator"], alarm["threshold"]) == (
        "Maximum",
        "GreaterThanThreshold",
        0,
    )
    assert (alarm["period"], alarm["evaluationPeriods"]) == (60, 1)


@all_examples
def test_every_alarm_and_the_budget_reach_the_mail(base: str, run: Run) -> None:
    _, graph = run(base)
    topic = graph.one("aws:sns/topic:Topic").outputs["arn"]
    for alarm in graph.of(ALARM):
        assert alarm.inputs["alarmActions"] == [topic], alarm.name
    subscription = graph.one("aws:sns/topicSubscription:TopicSubscription").inputs
    assert (subscription["topic"], subscription["protocol"]) == (topic, "email")
    policy = graph.one("aws:sns/topicPolicy:TopicPolicy").inputs
    assert policy["arn"] == topic
    assert json.loads(policy["policy"])["Statement"] == [
        {
            "Effect": "Allow",
            "Principal": {"Service": [service]},
            "Action": "sns:Publish",
            "Resource": topic,
            "Condition": {"StringEquals": {"aws:SourceAccount": "123456789012"}},
        }
        for service in ("budgets.amazonaws.com", "cloudwatch.amazonaws.com")
    ]
    told = graph.one("aws:budgets/budget:Budget").inputs["notifications"]
    assert [note["subscriberSnsTopicArns"] for note in told] == [[topic]] * 3
    assert [note["threshold"] for note in told] == [50, 80, 100]
    assert {(n["comparisonOperator"], n["thresholdType"], n["notificationType"]) for n in told} == {
        ("GREATER_THAN", "PERCENTAGE", "ACTUAL")
    }


@all_examples
def test_an_alarm_tells_of_a_broken_host_in_five_minutes(base: str, run: Run) -> None:
    plan, graph = run(base)
    markets = {host.name: host.market for host in plan.hosts}
    ids = {instance.name: instance.id for instance in graph.of(INSTANCE)}
    for name, identity in ids.items():
        alarm = graph.one(ALARM, name).inputs
        assert (alarm["namespace"], alarm["metricName"]) == ("AWS/EC2", "StatusCheckFailed")
        assert alarm["dimensions"] == {"InstanceId": identity}
        assert (alarm["period"], alarm["evaluationPeriods"]) == (60, 5)
        # A spot instance that was taken away has no checks that fail: its silence is told.
        silent = "breaching" if markets.get(name) == "spot" else "missing"
        assert alarm["treatMissingData"] == silent
        assert (alarm["statistic"], alarm["comparisonOperator"], alarm["threshold"]) == (
            "Maximum",
            "GreaterThanThreshold",
            0,
        )


def end_now(moto: FakeMoto, runbook: str) -> dict[str, Any]:
    """Run the script of a runbook as Systems Manager would."""
    content = json.loads(moto.ssm.get_document(Name=runbook)["Content"])
    (step,) = content["mainSteps"]
    names: dict[str, Any] = {}
    exec(compile(step["inputs"]["Script"], "runbook", "exec"), names)
    done: dict[str, Any] = names[step["inputs"]["Handler"]](step["inputs"]["InputPayload"], None)
    return done


def states(moto: FakeMoto, replica: str) -> dict[str, str]:
    """Return the state of each instance of a replica, by name."""
    filters = [{"Name": "tag:fireflyer-replica", "Values": [replica]}]
    found = moto.ec2.describe_instances(Filters=filters)["Reservations"]
    return {name_of(i): i["State"]["Name"] for r in found for i in r["Instances"]}


@pytest.fixture
def moto(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> FakeMoto:
    """Return an account in which the runbook's script works too."""
    for key, value in {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": endpoint,
    }.items():
        monkeypatch.setenv(key, value)
    return FakeMoto(endpoint)


def raised(moto: FakeMoto, folder: Path, base: str, name: str) -> FakeEngine:
    """Raise a replica, as far as it goes."""
    file = make_stack(folder / "stack", base, {**READY, "replica.image": {"id": IMAGE}}, name=name)
    engine = FakeEngine(moto, preview=False)
    refused = pytest.raises(Exception, match="InsufficientInstanceCapacity")
    with refused if moto.fail_at else nullcontext():
        run_program(file, moto, folder / "program", engine=engine)
    return engine


def test_a_refused_machine_leaves_the_others_an_end(moto: FakeMoto, tmp_path: Path) -> None:
    moto.fail_at = (INSTANCE, 3)
    engine = raised(moto, tmp_path, "pair", "refused")
    running = states(moto, "fire-flyer-2-refused")
    assert list(running.values()) == ["running"] * 3
    # Servers of one process share an account: others may have raised a replica in it.
    schedules = moto.scheduler.list_schedules(NamePrefix="fire-flyer-2-refused")["Schedules"]
    assert [s["Name"] for s in schedules] == ["fire-flyer-2-refused-stop"]
    end_now(moto, "fire-flyer-2-refused-stop")
    assert states(moto, "fire-flyer-2-refused") == dict.fromkeys(running, "stopped")
    engine.destroy()


def test_one_instance_that_cannot_be_ended_keeps_no_other(moto: FakeMoto, tmp_path: Path) -> None:
    """As one call with all ids, one bad id would leave every instance running."""
    engine, other = (raised(moto, tmp_path / n, "smoke", n) for n in ("one", "other"))
    before = states(moto, "fire-flyer-2-one")
    ids = {found.name: found.id for found in engine.graph.of(INSTANCE)}
    lost, stuck = "mg01", "st001"
    moto.ec2.terminate_instances(InstanceIds=[ids[lost]])
    keep = {"Value": True}
    moto.ec2.modify_instance_attribute(InstanceId=ids[stuck], DisableApiTermination=keep)
    with pytest.raises(RuntimeError, match=ids[stuck]):
        end_now(moto, "fire-flyer-2-one-stop")
    # Spot instances are terminated, those on demand are stopped and keep their disk.
    assert states(moto, "fire-flyer-2-one") == {
        "a-cn0001": "terminated",
        stuck: "running",
        lost: "terminated",
        "bastion": "stopped",
    }
    assert set(before) == {"a-cn0001", stuck, lost, "bastion"}
    assert set(states(moto, "fire-flyer-2-other").values()) == {"running"}
    moto.ec2.modify_instance_attribute(
        InstanceId=ids[stuck], DisableApiTermination={"Value": False}
    )
    assert end_now(moto, "fire-flyer-2-one-stop") == {"ended": [ids[stuck]]}
    other.destroy()
