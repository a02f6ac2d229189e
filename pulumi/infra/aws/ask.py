"""Ask AWS what preflight wants to know. It only reads; nothing is made, and nothing is cached."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from fireflyer.errors import OperatingError
from fireflyer.model.instance import Market
from fireflyer.model.replica_plan import ReplicaPlan
from fireflyer.verify.replica import ImageFact, ProviderFacts, Quota, Reservation

RUNNING = ("pending", "running")


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
        self.plan = plan
        region = plan.intent.region
        self.ec2 = boto3.client("ec2", region_name=region, endpoint_url=endpoint)
        self.quotas = boto3.client("service-quotas", region_name=region, endpoint_url=endpoint)
        self.sts = boto3.client("sts", region_name=region, endpoint_url=endpoint)

    def facts(self) -> ProviderFacts:
        zones = self.ec2.describe_availability_zones()["AvailabilityZones"]
        return ProviderFacts(
            asked_at=datetime.now(UTC),
            account=self.sts.get_caller_identity()["Account"],
            zones=frozenset(z["ZoneName"] for z in zones if z["State"] == "available"),
            offered=frozenset(self._offered()),
            quotas=dict(self._quotas()),
            reservation=self._reservation(),
            images=tuple(self._images()),
        )

    def _offered(self) -> Iterator[str]:
        types = {host.instance.type for host in self.plan.hosts}
        if self.plan.bastion is not None:
            types.add(self.plan.bastion.type)
        filters = [
            {"Name": "location", "Values": [self.plan.intent.zone]},
            {"Name": "instance-type", "Values": sorted(types)},
        ]
        pages = self.ec2.get_paginator("describe_instance_type_offerings")
        for page in pages.paginate(LocationType="availability-zone", Filters=filters):
            for offer in page["InstanceTypeOfferings"]:
                yield offer["InstanceType"]

    def _quotas(self) -> Iterator[tuple[str, Quota]]:
        """Yield the quotas that can be read, with what runs on them by the types of the plan."""
        used = self._used()
        codes = {
            host.instance.quotas[host.market]: host
            for host in self.plan.hosts
            if host.market != "capacity-block"
        }
        wanted = set(codes)
        if self.plan.bastion is not None:
            wanted.add(self.plan.bastion.quotas["on-demand"])
        for code in sorted(wanted):
            try:
                found = self.quotas.get_service_quota(ServiceCode="ec2", QuotaCode=code)
            except ClientError:
                continue  # preflight says that it cannot be read
            yield code, Quota(vcpus=found["Quota"]["Value"], used=used.get(code, 0.0))

    def _used(self) -> dict[str, float]:
        """Count the virtual processors that run, by quota, as far as the catalogue has the types.

        One that the catalogue does not have counts on every quota: better refused than surprised.
        """
        known = {host.instance.type: host.instance for host in self.plan.hosts}
        if self.plan.bastion is not None:
            known[self.plan.bastion.type] = self.plan.bastion
        used: dict[str, float] = {}
        pages = self.ec2.get_paginator("describe_instances")
        filters = [{"Name": "instance-state-name", "Values": list(RUNNING)}]
        every = {code for found in known.values() for code in found.quotas.values()}
        for page in pages.paginate(Filters=filters):
            for reservation in page["Reservations"]:
                for instance in reservation["Instances"]:
                    vcpus = _vcpus(instance)
                    found = known.get(instance["InstanceType"])
                    spot = instance.get("InstanceLifecycle") == "spot"
                    market: Market = "spot" if spot else "on-demand"
                    codes = {found.quotas[market]} if found is not None else every
                    for code in codes:
                        used[code] = used.get(code, 0.0) + vcpus
        return used

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
            return Reservation(
                instance=found["InstanceType"],
                zone=found["AvailabilityZone"],
                kind=found.get("ReservationType", "default"),
                state=found["State"],
                free=found["AvailableInstanceCount"],
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
            yield ImageFact(id=found["ImageId"], architecture=found["Architecture"])


def _vcpus(instance: dict[str, Any]) -> float:
    cpus = instance.get("CpuOptions", {})
    return float(cpus.get("CoreCount", 1) * cpus.get("ThreadsPerCore", 1))
