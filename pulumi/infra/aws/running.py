"""The machines of a replica that run at AWS: what is paid for after a run that was cut short."""

from __future__ import annotations

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from fireflyer.errors import OperatingError
from fireflyer.model.provider_facts import RunningMachine
from fireflyer.model.replica_plan import ReplicaPlan
from infra.tags import REPLICA, identity


def running(plan: ReplicaPlan, endpoint: str | None = None) -> tuple[RunningMachine, ...]:
    """Return a replica's instances that run, by its tag; `endpoint` is an emulator's.

    Raises:
        OperatingError: AWS cannot be asked.
    """
    filters = [
        {"Name": f"tag:{REPLICA}", "Values": [identity(plan)]},
        {"Name": "instance-state-name", "Values": ["pending", "running"]},
    ]
    try:
        ec2 = boto3.client("ec2", region_name=plan.intent.region, endpoint_url=endpoint)
        pages = list(ec2.get_paginator("describe_instances").paginate(Filters=filters))
    except (BotoCoreError, ClientError) as error:
        raise OperatingError(
            f"AWS cannot be asked: {error}; look by: aws ec2 describe-instances --region"
            f" {plan.intent.region} --filters Name=tag:{REPLICA},Values={identity(plan)}"
        ) from None
    return tuple(
        RunningMachine(
            name={tag["Key"]: tag["Value"] for tag in one["Tags"]}["Name"],
            type=one["InstanceType"],
            id=one["InstanceId"],
        )
        for page in pages
        for reservation in page["Reservations"]
        for one in reservation["Instances"]
    )
