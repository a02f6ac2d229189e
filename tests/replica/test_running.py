"""What a provider says that runs of a replica, after a run that was cut short."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import boto3
import pytest
from azure.core.exceptions import ServiceRequestError
from tests.replica.fake_arm import SUBSCRIPTION
from tests.replica.test_moto import IMAGE, endpoint
from tests.stacks import READY, make_stack

from fireflyer.design.replica import plan_replica
from fireflyer.errors import OperatingError
from fireflyer.load.replica import load_replica
from fireflyer.model.replica_plan import ReplicaPlan
from infra.aws import running as aws
from infra.azure import running as azure

__all__ = ["endpoint"]
GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/fire-flyer-2-infiniband"


def plan(folder: Path, base: str, name: str = "") -> ReplicaPlan:
    return plan_replica(load_replica(make_stack(folder, base, READY, name=name)))


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")


@pytest.mark.usefixtures("keys")
def test_aws_tells_the_replicas_instances_that_run(endpoint: str, tmp_path: Path) -> None:
    ec2 = boto3.client("ec2", region_name="us-east-1", endpoint_url=endpoint)
    # Servers of one process share an account: others may have raised a replica in it.
    ids = {}
    for name, of in (("mg01", "cut"), ("st001", "cut"), ("mg02", "cut"), ("mg01", "other")):
        labels = [{"Key": "Name", "Value": name},
                  {"Key": "fireflyer-replica", "Value": f"fire-flyer-2-{of}"}]  # fmt: skip
        made = ec2.run_instances(
            ImageId=IMAGE, InstanceType="m6i.xlarge", MinCount=1, MaxCount=1,
            TagSpecifications=[{"ResourceType": "instance", "Tags": labels}],
        )["Instances"]  # fmt: skip
        ids[name, of] = made[0]["InstanceId"]
    ec2.stop_instances(InstanceIds=[ids["st001", "cut"]])
    ec2.terminate_instances(InstanceIds=[ids["mg02", "cut"]])
    (found,) = aws.running(plan(tmp_path, "pair", "cut"), endpoint)
    assert (found.name, found.type, found.id) == ("mg01", "m6i.xlarge", ids["mg01", "cut"])
    ec2.terminate_instances(InstanceIds=list(ids.values()))


@pytest.mark.usefixtures("keys")
def test_aws_out_of_reach_is_an_error_with_the_command_to_look(tmp_path: Path) -> None:
    command = (
        "aws ec2 describe-instances --region us-east-1 --filters"
        " Name=tag:fireflyer-replica,Values=fire-flyer-2-pair"
    )
    with pytest.raises(OperatingError, match=rf"cannot be asked: .*; look by: {command}"):
        aws.running(plan(tmp_path, "pair"), "http://127.0.0.1:9")


def machine(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "id": f"{GROUP}/providers/Microsoft.Compute/virtualMachines/{name}",
        "properties": {"hardwareProfile": {"vmSize": "Standard_D4s_v5"}},
    }


def state(name: str, codes: list[str]) -> dict[str, Any]:
    """Azure spells an id now so, now so."""
    found = {"instanceView": {"statuses": [{"code": code} for code in codes]}}
    return {"id": machine(name)["id"].upper(), "properties": found}


def test_azure_tells_the_machines_that_are_paid_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One that is stopped and not deallocated is paid for."""
    monkeypatch.setenv("ARM_SUBSCRIPTION_ID", SUBSCRIPTION)
    there = {
        "mg01": ["ProvisioningState/succeeded", "PowerState/running"],
        "st001": ["ProvisioningState/succeeded", "PowerState/deallocated"],
        "a-cn0001": ["ProvisioningState/succeeded", "PowerState/stopped"],
        "a-cn0002": ["ProvisioningState/creating"],
    }
    listed = "providers/Microsoft.Compute/virtualMachines"

    def get(path: str, version: str, more: Mapping[str, str]) -> dict[str, Any] | None:
        if (path, more) == (f"{GROUP}/{listed}", {}):
            return {"value": [machine(name) for name in there]}
        assert path == f"/subscriptions/{SUBSCRIPTION}/{listed}"
        assert more == {"statusOnly": "true"}
        return {"value": [state(name, codes) for name, codes in there.items()]}

    found = azure.running(plan(tmp_path, "infiniband"), get)
    assert [one.name for one in found] == ["mg01", "a-cn0001", "a-cn0002"]
    assert {one.type for one in found} == {"Standard_D4s_v5"}
    assert azure.running(plan(tmp_path, "infiniband"), lambda *_: None) == ()


def test_azure_out_of_reach_is_an_error_with_the_command_to_look(tmp_path: Path) -> None:
    def get(*_: Any) -> None:
        raise ServiceRequestError("AADSTS700024: expired")

    command = "az vm list -d -g fire-flyer-2-infiniband -o table"
    with pytest.raises(OperatingError, match=f"AADSTS700024: expired; look by: {command}"):
        azure.running(plan(tmp_path, "infiniband"), get)
