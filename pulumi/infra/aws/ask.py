"""Ask AWS what preflight wants to know. It only reads; nothing is made, and nothing is cached."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from fireflyer.errors import OperatingError
from fireflyer.model.instance import Market
from fireflyer.model.provider_facts import ImageFact, ProviderFacts, Quota, Reservation
from fireflyer.model.replica_plan import ReplicaPlan
from fireflyer.verify.replica import quotas_of
from infra.aws.permissions import permissions
from infra.aws.prices import usd_per_hour
from infra.tags import REPLICA, identity

RUNNING = ("pending", "running")
STANDARD = frozenset(["a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z"])
GRAPHICS = frozenset(["g", "gr", "vt"])


def ask(plan: ReplicaPlan, endpoint: str | None = None) -> ProviderFacts:
    """Return what AWS says about a plan; `endpoint` is an emulator's.

    Raises:
        OperatingError: AWS cannot be asked at all.
    """
    try:
        return _Asker(plan, endpoint).facts()
    except (BotoCoreError, ClientError) as error:
        raise OperatingError(
            f"AWS cannot be asked: {error}; give credentials that may read (docs/replica.md has"
            " the actions), by AWS_PROFILE or as your organisation does it"
        ) from None


class _Asker:
    def __init__(self, plan: ReplicaPlan, endpoint: str | None) -> None:
        self.plan, self.endpoint = plan, endpoint
        region = plan.intent.region
        self.ec2 = boto3.client("ec2", region_name=region, endpoint_url=endpoint)
        self.quotas = boto3.client("service-quotas", region_name=region, endpoint_url=endpoint)
        self.sts = boto3.client("sts", region_name=region, endpoint_url=endpoint)

    def facts(self) -> ProviderFacts:
        zones = self.ec2.describe_availability_zones()["AvailabilityZones"]
        types, region = sorted(self.plan.types), self.plan.intent.region
        caller = self.sts.get_caller_identity()
        return ProviderFacts(
            asked_at=datetime.now(UTC),
            account=caller["Account"],
            permissions=permissions(self.plan, caller["Arn"], self.endpoint),
            zones=frozenset(z["ZoneName"] for z in zones if z["State"] == "available"),
            offered=frozenset(self._offered()),
            quotas=dict(self._quotas()),
            reservation=self._reservation(),
            images=tuple(self._images()),
            usd_per_hour=usd_per_hour(types, region, self.endpoint),
        )

    def _offered(self) -> Iterator[str]:
        filters = [
            {"Name": "location", "Values": [self.plan.intent.zone]},
            {"Name": "instance-type", "Values": sorted(self.plan.types)},
        ]
        pages = self.ec2.get_paginator("describe_instance_type_offerings")
        for page in pages.paginate(LocationType="availability-zone", Filters=filters):
            for offer in page["InstanceTypeOfferings"]:
                yield offer["InstanceType"]

    def _quotas(self) -> Iterator[tuple[str, Quota]]:
        """Yield the quotas that can be read, with what runs on them by the types of the plan."""
        used = self._used()
        wanted = {
            code
            for instance, market in self.plan.machines
            if market != "capacity-block"
            for code in quotas_of(self.plan, instance, market)
        }
        for code in sorted(wanted):
            try:
                found = self.quotas.get_service_quota(ServiceCode="ec2", QuotaCode=code)
            except ClientError:
                continue  # preflight says that it cannot be read
            yield code, Quota(vcpus=found["Quota"]["Value"], used=used.get(code, 0.0))

    def _used(self) -> dict[str, float]:
        """Count the virtual processors that others run, by the quotas of the plan's types.

        A type that the plan does not have counts as those of its class; generations of P have two
        quotas of spot, and count on both: better refused than surprised.
        """
        known = self.plan.types
        used: dict[str, float] = {}
        for instance in self.running:
            lifecycle = instance.get("InstanceLifecycle", "on-demand")
            if lifecycle == "capacity-block" or _own(instance, self.plan):
                continue
            name = instance["InstanceType"]
            like = [known[name]] if name in known else [
                found for found in known.values() if _class(found.type) == _class(name)
            ]  # fmt: skip
            market: Market = "spot" if lifecycle == "spot" else "on-demand"
            for code in {found.quotas[market] for found in like}:
                used[code] = used.get(code, 0.0) + _vcpus(instance)
        return used

    @cached_property
    def running(self) -> list[dict[str, Any]]:
        """What runs in the region, whoever's."""
        filters = [{"Name": "instance-state-name", "Values": list(RUNNING)}]
        pages = self.ec2.get_paginator("describe_instances").paginate(Filters=filters)
        return [
            instance
            for page in pages
            for reservation in page["Reservations"]
            for instance in reservation["Instances"]
        ]

    def _reservation(self) -> Reservation | None:
        name = self.plan.intent.placement.reservation
        if name is None:
            return None
        try:
            answer = self.ec2.describe_capacity_reservations(CapacityReservationIds=[name])
        except ClientError as error:
            if "NotFound" in error.response["Error"]["Code"]:
                return None
            raise
        for found in answer["CapacityReservations"]:
            group = found.get("PlacementGroupArn")
            # What the replica has in it already is not asked for again.
            own = [
                instance
                for instance in self.running
                if _own(instance, self.plan) and instance.get("CapacityReservationId") == name
            ]
            return Reservation(
                instance=found["InstanceType"],
                zone=found["AvailabilityZone"],
                kind=found.get("ReservationType", "default"),
                state=found["State"],
                free=found["AvailableInstanceCount"] + len(own),
                group=group.rpartition("/")[2] if group else None,
                ends=found.get("EndDate"),
            )
        return None

    def _images(self) -> Iterator[ImageFact]:
        image = self.plan.intent.image
        try:
            if image.id is not None:
                answer = self.ec2.describe_images(ImageIds=[image.id])
            else:
                filters = [{"Name": "name", "Values": [image.name]}]
                answer = self.ec2.describe_images(Owners=[image.owner], Filters=filters)
        except ClientError as error:
            if "InvalidAMIID" in error.response["Error"]["Code"]:
                return
            raise
        for found in answer["Images"]:
            yield ImageFact(
                id=found["ImageId"],
                architecture=found["Architecture"],
                publisher=found.get("OwnerId"),
                name=found.get("Name"),
            )


def _own(instance: dict[str, Any], plan: ReplicaPlan) -> bool:
    """Ask whether an instance is the replica's: `up` may be run again."""
    return {"Key": REPLICA, "Value": identity(plan)} in instance.get("Tags", [])


def _class(name: str) -> str:
    """Return what the quotas call the class of a type.

    >>> _class("c6i.large"), _class("g6e.48xlarge"), _class("p4d.24xlarge"), _class("inf2.xlarge")
    ('standard', 'g', 'p', 'inf')
    """
    letters = name[: next(n for n, letter in enumerate(name) if not letter.isalpha())]
    if letters in STANDARD:
        return "standard"
    return "g" if letters in GRAPHICS else letters


def _vcpus(instance: dict[str, Any]) -> float:
    cpus = instance.get("CpuOptions", {})
    return float(cpus.get("CoreCount", 1) * cpus.get("ThreadsPerCore", 1))
