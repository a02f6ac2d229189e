"""Azure's management interface as far as preflight asks it, over HTTP and page by page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from azure.core.pipeline.policies import HeadersPolicy
from tests import fake_http
from tests.fake_http import Answer, Asked

SUBSCRIPTION = "12345678-1234-1234-1234-123456789012"
COMPUTE = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Compute"
PLACE = f"{COMPUTE}/locations/eastus"
GROUP = (
    f"/subscriptions/{SUBSCRIPTION}/resourceGroups/ours/providers/Microsoft.Compute"
    "/capacityReservationGroups/rehearsal"
)
FEATURE = (
    f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Features/providers/Microsoft.Compute"
    "/features/EncryptionAtHost"
)
IMAGE = (
    f"{PLACE}/publishers/ours/artifacttypes/vmimage/offers/debian-12-gpu/skus/gen2/versions/1.2.3"
)
PERMISSIONS = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/permissions"
TOKEN = "of-a-fake"
SIGN = HeadersPolicy({"Authorization": f"Bearer {TOKEN}"})


def sku(name: str, zones: tuple[str, ...] = ("1", "2", "3"), **more: Any) -> dict[str, Any]:
    """Return a size as Azure lists it."""
    return {
        "resourceType": "virtualMachines",
        "name": name,
        "locationInfo": [{"location": "eastus", "zones": list(zones)}],
        "capabilities": [{"name": "EncryptionAtHostSupported", "value": "True"}],
        "restrictions": [],
        **more,
    }


def usage(family: str, limit: int, used: int) -> dict[str, Any]:
    """Return a family's use as Azure lists it."""
    return {"name": {"value": family}, "limit": limit, "currentValue": used}


def objects() -> dict[str, Any]:
    """Return what is there, by path: room for the example with InfiniBand, and a reservation."""
    sizes = ("ND96asr_v4", "L8s_v3", "D4s_v5", "B2s", "NC24ads_A100_v4")
    families = ("STANDARD NDASv4_A100 Family", "standardLSv3Family", "standardDSv5Family",
                "standardBSFamily", "StandardNCADSA100v4Family")  # fmt: skip
    disk = {"resourceType": "disks", "name": "Premium_LRS", "locationInfo": []}
    return {
        f"{COMPUTE}/skus": {"value": [disk, *(sku(f"Standard_{size}") for size in sizes)]},
        f"{PLACE}/usages": {
            "value": [*(usage(family, 500, 10) for family in families), usage("cores", 1000, 40)]
        },
        PERMISSIONS: {
            "value": [
                {"actions": ["*/read"], "notActions": []},
                {"actions": ["*"], "notActions": []},
            ]
        },
        IMAGE: {"properties": {"architecture": "x64", "hyperVGeneration": "V2"}},
        FEATURE: {"properties": {"state": "Registered"}},
        f"{GROUP}/capacityReservations": {
            "value": [
                reserved("Standard_D4s_v5", "1", 9),
                reserved("Standard_NC24ads_A100_v4", "2", 4),
                reserved("Standard_NC24ads_A100_v4", "1", 6, taken=2),
            ]
        },
    }


def reserved(size: str, zone: str, capacity: int, taken: int = 0) -> dict[str, Any]:
    """Return a reservation as Azure has it."""
    machines = [{"id": f"machine-{number}"} for number in range(taken)]
    return {
        "sku": {"name": size, "capacity": capacity},
        "zones": [zone],
        "properties": {"provisioningState": "Succeeded", "virtualMachinesAssociated": machines},
    }


@contextmanager
def serve(there: Mapping[str, Any]) -> Iterator[str]:
    """Answer over HTTP, two items a page; yield the address."""

    def answer(asked: Asked) -> Answer:
        assert asked.headers["Authorization"] == f"Bearer {TOKEN}"
        assert asked.query["api-version"]
        found = there.get(asked.path)
        if found is None:
            return 404, {"error": {"code": "NotFound"}}
        if isinstance(found, int):
            return found, {"error": {"code": "AuthorizationFailed", "message": "no"}}
        if "value" not in found:
            return 200, found
        skip = int(asked.query.get("$skiptoken", 0))
        page = {**found, "value": found["value"][skip : skip + 2]}
        if skip + 2 < len(found["value"]):
            page["nextLink"] = f"{asked.url}?api-version=x&$skiptoken={skip + 2}"
        return 200, page

    with fake_http.serve(answer) as address:
        yield address
