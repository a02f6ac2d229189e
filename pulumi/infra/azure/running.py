"""The machines of a replica that run at Azure: what is paid for after a run that was cut short."""

from __future__ import annotations

import os

from azure.core.exceptions import AzureError

from fireflyer.errors import OperatingError
from fireflyer.model.provider_facts import RunningMachine
from fireflyer.model.replica_plan import ReplicaPlan
from infra.azure.ask import SUBSCRIPTION, VERSIONS, Get, over_network
from infra.tags import identity

GONE = "PowerState/deallocated"


def running(plan: ReplicaPlan, get: Get | None = None) -> tuple[RunningMachine, ...]:
    """Return the machines of a replica's resource group that are not deallocated.

    Raises:
        OperatingError: Azure cannot be asked.
    """
    subscription = os.environ.get(SUBSCRIPTION, "")
    of = "providers/Microsoft.Compute/virtualMachines"
    group = f"/subscriptions/{subscription}/resourceGroups/{identity(plan)}/{of}"
    ask, version = get or over_network(), VERSIONS["compute"]
    try:
        found = ask(group, version, {}) or {"value": []}
        # Of a group alone Azure lists no states.
        told = ask(f"/subscriptions/{subscription}/{of}", version, {"statusOnly": "true"})
    except AzureError as error:
        raise OperatingError(
            f"Azure cannot be asked: {str(error).splitlines()[0]}; look by: az vm list -d"
            f" -g {identity(plan)} -o table"
        ) from None
    gone = {
        one["id"].casefold()
        for one in (told or {"value": []})["value"]
        if GONE in {s["code"] for s in one["properties"]["instanceView"]["statuses"]}
    }
    return tuple(
        RunningMachine(
            name=one["name"], type=one["properties"]["hardwareProfile"]["vmSize"], id=one["id"]
        )
        for one in found["value"]
        if one["id"].casefold() not in gone
    )
