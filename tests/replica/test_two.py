"""Two replicas in one stack: nothing of one has a name of the other's, and each ends its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import boto3
import pytest
from tests.replica.conftest import FAKES
from tests.replica.fake_engine import FakeEngine, run_program
from tests.replica.fake_moto import FakeMoto
from tests.replica.fake_moto_calls import REGION
from tests.replica.seen import seen
from tests.replica.test_moto import IMAGE, endpoint
from tests.stacks import PROVIDERS, READY, make_stack

__all__ = ["endpoint"]
PROGRAM = Path(__file__).with_name("two_replicas.py")
BOTH = ("first", "second")
NAMED = {
    "aws:budgets/budget:Budget": "name",
    "aws:cloudwatch/eventRule:EventRule": "name",
    "aws:cloudwatch/metricAlarm:MetricAlarm": "name",
    "aws:ec2/keyPair:KeyPair": "keyName",
    "aws:ec2/launchTemplate:LaunchTemplate": "name",
    "aws:ec2/placementGroup:PlacementGroup": "name",
    "aws:ec2/securityGroup:SecurityGroup": "name",
    "aws:iam/instanceProfile:InstanceProfile": "name",
    "aws:iam/role:Role": "name",
    "aws:scheduler/schedule:Schedule": "name",
    "aws:sns/topic:Topic": "name",
    "aws:sqs/queue:Queue": "name",
    "aws:ssm/document:Document": "name",
    "azure-native:authorization:RoleDefinition": "roleName",
    "azure-native:resources:ResourceGroup": "resourceGroupName",
}
"""Where a kind is told the name that nothing else of it in the account, or the region, may have."""


def run_both(base: str, folder: Path, provider: Any) -> FakeEngine:
    found = {**READY, "replica.image": {"id": IMAGE}} if base == "smoke" else dict(READY)
    file = make_stack(folder / "stack", base, found, name="both")
    return run_program(file, provider, folder / "program", program=PROGRAM)


@pytest.mark.parametrize("base", ["pair", "smoke", "infiniband"])
def test_nothing_has_anothers_name(base: str, tmp_path: Path) -> None:
    """The engine refuses a second URN, the fake providers a second id; names are looked at here."""
    graph = run_both(base, tmp_path, FAKES[PROVIDERS[base]]()).graph
    parts = [graph.of_replica(name) for name in BOTH]
    kinds = [sorted(found.kind for found in part.resources) for part in parts]
    assert kinds[0] == kinds[1]
    assert sum(map(len, kinds)) == len(graph.resources), "each belongs to one of them"
    urns = [found.urn for found in graph.resources]
    assert len(set(urns)) == len(urns)
    names = [
        (found.kind, found.inputs[NAMED[found.kind]])
        for found in graph.resources
        if found.kind in NAMED
    ]
    assert len(set(names)) == len(names) >= 4
    for part, own, other in zip(parts, BOTH, reversed(BOTH), strict=True):
        said = json.dumps([found.inputs for found in part.resources], default=str)
        site = seen(part).machines
        assert site
        assert f"-{own}" in said
        assert f"-{other}" not in said, "one of them knows of the other"
        for found in part.resources:
            if "fireflyer-replica" in found.inputs.get("tags", {}):
                assert found.inputs["tags"]["fireflyer-replica"].endswith(f"-{own}"), found.urn
    machines = [set(seen(part).machines) for part in parts]
    assert machines[0] == machines[1], "their hosts are of one site, and so are their names"
    assert [seen(part).ended == names for part, names in zip(parts, machines, strict=True)] == [
        True,
        True,
    ]


def test_each_inventory_has_its_own_addresses(tmp_path: Path) -> None:
    outputs = run_both("pair", tmp_path, FAKES["aws"]()).graph.outputs
    first, second = outputs["inventory"], outputs["second"]
    assert first["variables"]["replica"]["name"] == "first"
    assert second["variables"]["replica"]["name"] == "second"
    for found, start in ((first, "10.60."), (second, "10.61.")):
        assert {str(host["ansible_host"])[:6] for host in found["hosts"].values()} == {start}
    ids = [{host["replica_instance"] for host in o["hosts"].values()} for o in (first, second)]
    assert not ids[0] & ids[1]


def test_the_end_of_one_leaves_the_other(
    endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runbook's script as the document has it, against moto."""
    moto = FakeMoto(endpoint)
    engine = run_both("smoke", tmp_path, moto)
    content = engine.graph.of_replica("first").one("aws:ssm/document:Document").inputs["content"]
    (step,) = json.loads(content)["mainSteps"]
    scope: dict[str, Any] = {}
    exec(step["inputs"]["Script"], scope)
    real = boto3.client
    monkeypatch.setattr(
        scope["boto3"],
        "client",
        lambda service: real(
            service,
            region_name=REGION,
            endpoint_url=endpoint,
            aws_access_key_id="test",
            aws_secret_access_key="test",
        ),
    )
    ended = scope["end"](step["inputs"]["InputPayload"], None)["ended"]
    monkeypatch.undo()
    by_replica = {
        name: {found.id for found in engine.graph.of_replica(name).of("aws:ec2/instance:Instance")}
        for name in BOTH
    }
    assert set(ended) == by_replica["first"]
    left = moto.ec2.describe_instances(InstanceIds=sorted(by_replica["second"]))["Reservations"]
    assert {i["State"]["Name"] for r in left for i in r["Instances"]} == {"running"}
