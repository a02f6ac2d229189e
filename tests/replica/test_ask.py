"""Preflight's questions, put to moto; what moto does not know is answered by a stand-in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from tests.fake_provider import NOW
from tests.replica.fake_iam import FakeIam
from tests.stacks import READY, make_stack

from fireflyer.design.replica import plan_replica
from fireflyer.errors import OperatingError
from fireflyer.load.replica import load_replica
from fireflyer.model.replica_plan import ReplicaPlan
from fireflyer.verify.replica import preflight
from infra.aws import ask as asking

os.environ["MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION"] = "true"
os.environ["MOTO_ENABLE_AMI_VALIDATION"] = "true"
from moto.server import ThreadedMotoServer

IMAGE = "ami-999844e0"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """Return the address of a server of its own."""
    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


class FakeQuotas:
    """Service quotas: moto has none of EC2's."""

    def get_service_quota(self, **asked: str) -> dict[str, Any]:
        if asked["QuotaCode"] == "L-34B43A08":
            raise ClientError({"Error": {"Code": "AccessDeniedException"}}, "GetServiceQuota")
        return {"Quota": {"Value": 1000.0}}


class FakeReservations:
    """Capacity reservations, as EC2 describes them, and what runs; moto has no reservations."""

    def __init__(self, found: dict[str, Any] | None) -> None:
        self.found = found
        own = [{"Key": "fireflyer-replica", "Value": "fire-flyer-2-pod"}]
        inside = {"CapacityReservationId": "cr-0123456789abcdef0"}
        self.running = [{**inside, "Tags": own}, {"Tags": own}, inside]

    def get_paginator(self, name: str) -> Any:
        assert name == "describe_instances"
        return self

    def paginate(self, **asked: Any) -> list[dict[str, Any]]:
        return [{"Reservations": [{"Instances": self.running}]}]

    def describe_capacity_reservations(self, **asked: Any) -> dict[str, Any]:
        if self.found is None:
            code = "InvalidCapacityReservationId.NotFound"
            raise ClientError({"Error": {"Code": code}}, "DescribeCapacityReservations")
        return {"CapacityReservations": [self.found]}


@pytest.fixture
def clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the asker keys, and quotas that it can read."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    real = boto3.client

    def client(service: str, **more: Any) -> Any:
        if service == "iam":
            every = {"Statement": [{"Effect": "Allow", "Action": ["*"], "Resource": "*"}]}
            return FakeIam(every, "arn:aws:sts::123456789012:user/moto")
        return FakeQuotas() if service == "service-quotas" else real(service, **more)

    monkeypatch.setattr(asking.boto3, "client", client)


def plan(folder: Path, base: str, changes: dict[str, Any] | None = None) -> ReplicaPlan:
    found = {**READY, "replica.image": {"id": IMAGE}, **(changes or {})}
    return plan_replica(load_replica(make_stack(folder, base, found)))


@pytest.mark.usefixtures("clients")
def test_what_is_there_passes(endpoint: str, tmp_path: Path) -> None:
    wanted = plan(tmp_path, "pair")
    facts = asking.ask(wanted, endpoint)
    assert facts.account == "123456789012"
    assert (facts.permissions.missing, facts.permissions.unchecked) == ({}, "")
    assert facts.usd_per_hour == {}, "moto has no prices"
    assert facts.offered == {"p4d.24xlarge", "i4i.2xlarge", "m6i.xlarge", "t3.micro"}
    assert [image.id for image in facts.images] == [IMAGE]
    assert facts.asked_at <= datetime.now(UTC)
    assert [check.problem for check in preflight(wanted, facts) if check.problem] == []


@pytest.mark.usefixtures("clients")
def test_a_zone_without_the_type_is_found(endpoint: str, tmp_path: Path) -> None:
    """In AWS's own list, p4d is not in us-east-1f."""
    wanted = plan(tmp_path, "pair", {"replica.zone": "us-east-1f"})
    facts = asking.ask(wanted, endpoint)
    (problem,) = [check.problem for check in preflight(wanted, facts) if check.problem]
    assert "replica.compute.instance is p4d.24xlarge: us-east-1f does not have it" in str(problem)


@pytest.mark.usefixtures("clients")
def test_what_runs_already_counts(endpoint: str, tmp_path: Path) -> None:
    ec2 = boto3.client("ec2", region_name="us-east-1", endpoint_url=endpoint)
    wanted = plan(tmp_path, "pair")
    before = asking.ask(wanted, endpoint).quotas
    made = ec2.run_instances(ImageId=IMAGE, InstanceType="p4d.24xlarge", MinCount=2, MaxCount=2)
    after = asking.ask(wanted, endpoint).quotas
    ec2.terminate_instances(InstanceIds=[i["InstanceId"] for i in made["Instances"]])
    assert after["L-417A185B"].used > before["L-417A185B"].used
    assert after["L-1216C47A"].used == before["L-1216C47A"].used


@pytest.mark.usefixtures("clients")
def test_another_class_does_not_count_and_a_like_type_does(endpoint: str, tmp_path: Path) -> None:
    ec2 = boto3.client("ec2", region_name="us-east-1", endpoint_url=endpoint)
    wanted = plan(tmp_path, "pair")
    before = asking.ask(wanted, endpoint).quotas
    made = [
        ec2.run_instances(ImageId=IMAGE, InstanceType=name, MinCount=1, MaxCount=1)
        for name in ("c5.xlarge", "inf1.xlarge")
    ]
    after = asking.ask(wanted, endpoint).quotas
    ec2.terminate_instances(InstanceIds=[m["Instances"][0]["InstanceId"] for m in made])
    assert after["L-417A185B"].used == before["L-417A185B"].used
    assert after["L-1216C47A"].used > before["L-1216C47A"].used


@pytest.mark.usefixtures("clients")
def test_its_own_instances_do_not_keep_it_from_being_raised_again(
    endpoint: str, tmp_path: Path
) -> None:
    ec2 = boto3.client("ec2", region_name="us-east-1", endpoint_url=endpoint)
    wanted = plan(tmp_path, "pair")
    before = asking.ask(wanted, endpoint).quotas
    labels = [{"Key": "fireflyer-replica", "Value": "fire-flyer-2-pair"}]
    made = ec2.run_instances(
        ImageId=IMAGE, InstanceType="p4d.24xlarge", MinCount=2, MaxCount=2,
        TagSpecifications=[{"ResourceType": "instance", "Tags": labels}],
    )  # fmt: skip
    after = asking.ask(wanted, endpoint).quotas
    ec2.terminate_instances(InstanceIds=[i["InstanceId"] for i in made["Instances"]])
    assert after == before


@pytest.mark.usefixtures("clients")
def test_an_image_and_a_quota_that_are_not_there(endpoint: str, tmp_path: Path) -> None:
    changes = {"replica.image": {"id": "ami-0000000000000000f"}, "replica.storage.market": "spot"}
    wanted = plan(tmp_path, "pair", changes)
    problems = [
        str(check.problem)
        for check in preflight(wanted, asking.ask(wanted, endpoint))
        if check.problem
    ]
    assert len(problems) == 2
    assert "its quota L-34B43A08 cannot be read" in problems[0]
    assert "no images in us-east-1 fit" in problems[1]


@pytest.mark.parametrize("there", [True, False])
def test_a_reservation_is_read_whole(there: bool, tmp_path: Path) -> None:
    wanted = plan(tmp_path, "pod")
    found = {
        "InstanceType": "p5.48xlarge",
        "AvailabilityZone": "us-east-1a",
        "ReservationType": "capacity-block",
        "State": "active",
        "AvailableInstanceCount": 20,
        "PlacementGroupArn": "arn:aws:ec2:us-east-1:1:placement-group/theirs",
        "EndDate": NOW,
    }
    asker = object.__new__(asking._Asker)
    asker.plan = wanted
    asker.ec2 = FakeReservations(found if there else None)
    reservation = asker._reservation()
    assert (reservation is not None) is there
    if reservation is not None:
        # One of the replica's own is inside.
        assert (reservation.group, reservation.free, reservation.ends) == ("theirs", 21, NOW)


def test_without_credentials_it_says_what_to_give(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(OperatingError, match=r"AWS cannot be asked: .*; give credentials"):
        asking.ask(plan(tmp_path, "pair"), "http://127.0.0.1:9")
