"""Ask Azure what preflight wants to know. It only reads; nothing is made, and nothing is cached."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from azure.core import PipelineClient
from azure.core.credentials import TokenCredential
from azure.core.exceptions import AzureError
from azure.core.pipeline.policies import (
    BearerTokenCredentialPolicy,
    RetryPolicy,
    SansIOHTTPPolicy,
)
from azure.core.rest import HttpRequest
from azure.identity import AzureCliCredential, ClientSecretCredential

from fireflyer.errors import OperatingError
from fireflyer.model.provider_facts import ImageFact, ProviderFacts, Quota, Reservation
from fireflyer.model.replica_plan import ReplicaPlan
from fireflyer.verify.replica import quotas_of
from infra.azure.permissions import permissions
from infra.azure.prices import usd_per_hour
from infra.tags import identity

MANAGEMENT = "https://management.azure.com"
SUBSCRIPTION = "ARM_SUBSCRIPTION_ID"
CLIENT = ("ARM_TENANT_ID", "ARM_CLIENT_ID", "ARM_CLIENT_SECRET")
"""What Pulumi's provider reads too, so that who is asked is who makes the replica."""
VERSIONS = {"skus": "2021-07-01", "compute": "2024-07-01", "gallery": "2024-03-03",
            "features": "2021-07-01"}  # fmt: skip
ARCHITECTURES = {"x64": "x86_64", "Arm64": "arm64"}
NOT_FOUND = 404
Get = Callable[[str, str, Mapping[str, str]], "dict[str, Any] | None"]
Prices = Callable[[list[str], str], Mapping[str, float]]
"""From sizes and a region."""


def ask(plan: ReplicaPlan, get: Get | None = None, prices: Prices = usd_per_hour) -> ProviderFacts:
    """Return what Azure says about a plan; `get` and `prices` ask others than Azure.

    Raises:
        OperatingError: Azure cannot be asked at all.
    """
    subscription = os.environ.get(SUBSCRIPTION, "")
    if not subscription:
        raise OperatingError(f"Azure cannot be asked: set {SUBSCRIPTION} to your subscription")
    try:
        return _Asker(plan, subscription, get or over_network(), prices).facts()
    except AzureError as error:
        reason = str(error).splitlines()[0]
        raise OperatingError(
            f"Azure cannot be asked: {reason}; log in by `az login`, or set {', '.join(CLIENT)} of"
            " who may read (docs/replica.md has the actions)"
        ) from None


def over_network(endpoint: str = MANAGEMENT, sign: SansIOHTTPPolicy[Any, Any] | None = None) -> Get:
    """Return what gets an object of Azure's management interface, or None if it is not there."""
    if sign is None:
        sign = BearerTokenCredentialPolicy(_credential(), f"{MANAGEMENT}/.default")
    client = PipelineClient(endpoint, policies=[RetryPolicy(), sign])

    def get(path: str, version: str, more: Mapping[str, str]) -> dict[str, Any] | None:
        params = {"api-version": version, **more}
        response = client.send_request(HttpRequest("GET", client.format_url(path), params=params))
        if response.status_code == NOT_FOUND:
            return None
        response.raise_for_status()
        found: dict[str, Any] = response.json()
        while link := found.pop("nextLink", None):
            response = client.send_request(HttpRequest("GET", link))
            response.raise_for_status()
            page = response.json()
            found = {**found, **page, "value": found["value"] + page["value"]}
        return found

    return get


def _credential() -> TokenCredential:
    tenant, client, secret = (os.environ.get(name) for name in CLIENT)
    if tenant and client and secret:
        return ClientSecretCredential(tenant, client, secret)
    return AzureCliCredential()


class _Asker:
    def __init__(self, plan: ReplicaPlan, subscription: str, get: Get, prices: Prices) -> None:
        self.plan, self.subscription, self.get, self.prices = plan, subscription, get, prices
        self.compute = f"/subscriptions/{subscription}/providers/Microsoft.Compute"
        self.group = f"/subscriptions/{subscription}/resourceGroups/{identity(plan)}"

    def facts(self) -> ProviderFacts:
        skus = self._skus()
        return ProviderFacts(
            asked_at=datetime.now(UTC),
            account=self.subscription,
            permissions=permissions(self.subscription, self.group, self.get),
            zones=frozenset({"none", *(zone for sku in skus for zone in _zones(sku))}),
            offered=frozenset(sku["name"] for sku in skus if self._offers(sku)),
            quotas=dict(self._quotas()),
            reservation=self._reservation(),
            images=tuple(self._images()),
            encrypts=frozenset(self._encrypts(skus)),
            usd_per_hour=self.prices(sorted(self.plan.types), self.plan.intent.region),
        )

    @cached_property
    def own(self) -> list[dict[str, Any]]:
        """Machines of the replica that are there."""
        path = f"{self.group}/providers/Microsoft.Compute/virtualMachines"
        found = self.get(path, VERSIONS["compute"], {}) or {"value": []}
        machines: list[dict[str, Any]] = found["value"]
        return machines

    def _skus(self) -> list[dict[str, Any]]:
        """Return the sizes of the plan as the region has them."""
        region = self.plan.intent.region
        more = {"$filter": f"location eq '{region}'"}
        found = self.get(f"{self.compute}/skus", VERSIONS["skus"], more) or {"value": []}
        return [
            sku
            for sku in found["value"]
            if sku["resourceType"] == "virtualMachines" and sku["name"] in self.plan.types
        ]

    def _offers(self, sku: Mapping[str, Any]) -> bool:
        """Say whether this subscription may start a size where the plan wants it."""
        zone = self.plan.intent.zone
        for restriction in sku.get("restrictions", ()):
            if restriction["type"] == "Location":
                return False
            if zone in restriction.get("restrictionInfo", {}).get("zones", ()):
                return False
        return zone == "none" or zone in _zones(sku)

    def _quotas(self) -> Iterator[tuple[str, Quota]]:
        """Yield the quotas of the plan; Azure spells a family's letters now large, now small."""
        path = f"{self.compute}/locations/{self.plan.intent.region}/usages"
        found = self.get(path, VERSIONS["compute"], {}) or {"value": []}
        usages = {usage["name"]["value"].casefold(): usage for usage in found["value"]}
        machines = self.plan.machines
        for code in sorted({code for pair in machines for code in quotas_of(self.plan, *pair)}):
            if (usage := usages.get(code.casefold())) is not None:
                used = usage["currentValue"] - self._own_vcpus(code)
                yield code, Quota(vcpus=usage["limit"], used=max(used, 0))

    def _own_vcpus(self, code: str) -> int:
        """Count what of a quota the replica has already: `up` may be run again."""
        known = self.plan.types
        count = 0
        for machine in self.own:
            found = known.get(machine["properties"]["hardwareProfile"]["vmSize"])
            spot = machine["properties"].get("priority") == "Spot"
            if found and code in quotas_of(self.plan, found, "spot" if spot else "on-demand"):
                count += found.vcpus
        return count

    def _reservation(self) -> Reservation | None:
        """Return what the group reserves of the compute nodes' size, else the first it reserves."""
        group = self.plan.intent.placement.reservation
        if group is None:
            return None
        answer = self.get(f"{group}/capacityReservations", VERSIONS["compute"], {})
        found = answer["value"] if answer is not None else []
        wanted = self.plan.intent.compute.instance
        # A sort keeps the order of equals: one that fits comes first.
        found = sorted(found, key=lambda one: (one["sku"]["name"] != wanted, not self._here(one)))
        for one in found[:1]:
            rest = one["properties"]
            machines = [machine["id"] for machine in rest.get("virtualMachinesAssociated", ())]
            own = f"{self.group}/".casefold()
            taken = len([path for path in machines if not path.casefold().startswith(own)])
            done = rest["provisioningState"] == "Succeeded"
            return Reservation(
                instance=one["sku"]["name"],
                zone=next(iter(one.get("zones", ())), "none"),
                kind="default",
                state="active" if done else rest["provisioningState"].lower(),
                free=one["sku"]["capacity"] - taken,
                group=None,
                ends=None,
            )
        return None

    def _here(self, reservation: Mapping[str, Any]) -> bool:
        return self.plan.intent.zone in (reservation.get("zones") or ["none"])

    def _images(self) -> Iterator[ImageFact]:
        image, region = self.plan.intent.image, self.plan.intent.region
        if image.id is None:
            path = (
                f"{self.compute}/locations/{region}/publishers/{image.publisher}/artifacttypes"
                f"/vmimage/offers/{image.offer}/skus/{image.sku}/versions/{image.version}"
            )
            found = self.get(path, VERSIONS["compute"], {})
        else:
            # A version is there or not; what it runs on is said of the image it is a version of.
            version = self.get(image.id, VERSIONS["gallery"], {})
            parent = image.id.partition("/versions/")[0]
            found = self.get(parent, VERSIONS["gallery"], {}) if version is not None else None
        if found is not None:
            rest = found["properties"]
            architecture = rest.get("architecture", "x64")
            yield ImageFact(
                id=image.label,
                architecture=ARCHITECTURES.get(architecture, architecture),
                generation=int(rest.get("hyperVGeneration", "V1").removeprefix("V")),
            )

    def _encrypts(self, skus: list[dict[str, Any]]) -> Iterator[str]:
        """Yield the sizes that can, if the subscription has the feature registered."""
        path = (
            f"/subscriptions/{self.subscription}/providers/Microsoft.Features"
            "/providers/Microsoft.Compute/features/EncryptionAtHost"
        )
        feature = self.get(path, VERSIONS["features"], {})
        if feature is None or feature["properties"]["state"] != "Registered":
            return
        for sku in skus:
            can = {item["name"]: item["value"] for item in sku.get("capabilities", ())}
            if can.get("EncryptionAtHostSupported") == "True":
                yield sku["name"]


def _zones(sku: Mapping[str, Any]) -> Iterator[str]:
    for place in sku["locationInfo"]:
        yield from place.get("zones", ())
