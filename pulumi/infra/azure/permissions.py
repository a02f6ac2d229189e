"""Whether who is about to raise a replica may do at Azure what each kind of resource takes.

Azure's own list of what the caller may do is asked, "Permissions - List For Resource Group" of
Azure's REST reference. Conditions of an assignment and denials by policy are not in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from fireflyer.model.provider_facts import Permissions

API_VERSION = "2022-04-01"
JOINS: Mapping[str, tuple[str, ...]] = {
    "azure-native:managedidentity:UserAssignedIdentity": ("assign/action",),
    "azure-native:network:NatGateway": ("join/action",),
    "azure-native:network:NetworkInterface": ("join/action",),
    "azure-native:network:NetworkSecurityGroup": ("join/action",),
    "azure-native:network:PublicIPAddress": ("join/action",),
    "azure-native:network:VirtualNetwork": ("subnets/join/action", "join/action"),
}
"""What is needed beside reading, writing and deleting, because other resources refer to it."""
TYPES: Mapping[str, str] = {
    "azure-native:authorization:RoleAssignment": "Microsoft.Authorization/roleAssignments",
    "azure-native:authorization:RoleDefinition": "Microsoft.Authorization/roleDefinitions",
    "azure-native:compute:AvailabilitySet": "Microsoft.Compute/availabilitySets",
    "azure-native:compute:SshPublicKey": "Microsoft.Compute/sshPublicKeys",
    "azure-native:compute:VirtualMachine": "Microsoft.Compute/virtualMachines",
    "azure-native:consumption:Budget": "Microsoft.Consumption/budgets",
    "azure-native:logic:Workflow": "Microsoft.Logic/workflows",
    "azure-native:managedidentity:UserAssignedIdentity": (
        "Microsoft.ManagedIdentity/userAssignedIdentities"
    ),
    "azure-native:monitor:ActionGroup": "Microsoft.Insights/actionGroups",
    "azure-native:monitor:MetricAlert": "Microsoft.Insights/metricAlerts",
    "azure-native:network:NatGateway": "Microsoft.Network/natGateways",
    "azure-native:network:NetworkInterface": "Microsoft.Network/networkInterfaces",
    "azure-native:network:NetworkSecurityGroup": "Microsoft.Network/networkSecurityGroups",
    "azure-native:network:PublicIPAddress": "Microsoft.Network/publicIPAddresses",
    "azure-native:network:VirtualNetwork": "Microsoft.Network/virtualNetworks",
    "azure-native:privatedns:PrivateRecordSet": "Microsoft.Network/privateDnsZones/A",
    "azure-native:privatedns:PrivateZone": "Microsoft.Network/privateDnsZones",
    "azure-native:privatedns:VirtualNetworkLink": (
        "Microsoft.Network/privateDnsZones/virtualNetworkLinks"
    ),
    "azure-native:resources:ResourceGroup": "Microsoft.Resources/subscriptions/resourceGroups",
}
"""By type of resource, as the state has it: its type at Azure."""
Get = Callable[[str, str, Mapping[str, str]], "dict[str, Any] | None"]


def actions(kind: str) -> tuple[str, ...]:
    """Return what a type of resource takes."""
    verbs = ("read", "write", "delete", *JOINS.get(kind, ()))
    return tuple(f"{TYPES[kind]}/{verb}" for verb in verbs)


def permissions(subscription: str, group: str, get: Get) -> Permissions:
    """Return what the caller may not do of what a replica takes.

    `group` is the path of the replica's resource group; until it is there the subscription counts.
    """
    who = f"the caller in subscription {subscription}"
    rest = "providers/Microsoft.Authorization/permissions"
    found = get(f"{group}/{rest}", API_VERSION, {})
    if found is None:
        found = get(f"/subscriptions/{subscription}/{rest}", API_VERSION, {})
    if found is None:
        return Permissions(who=who, unchecked="Azure does not tell what it may do")
    roles = [(one.get("actions") or [], one.get("notActions") or []) for one in found["value"]]
    missing = {
        kind: denied
        for kind in TYPES
        if (denied := tuple(action for action in actions(kind) if not _allowed(action, roles)))
    }
    return Permissions(who=who, missing=missing)


def _allowed(action: str, roles: list[tuple[list[str], list[str]]]) -> bool:
    """Say whether one role allows an action without leaving it out.

    >>> _allowed("Microsoft.Logic/workflows/write", [(["*"], ["Microsoft.Authorization/*/write"])])
    True
    >>> _allowed("Microsoft.Authorization/roleAssignments/write",
    ...          [(["*"], ["Microsoft.Authorization/*/Write"])])
    False
    """
    return any(
        any(_fits(action, one) for one in given) and not any(_fits(action, one) for one in left_out)
        for given, left_out in roles
    )


def _fits(action: str, pattern: str) -> bool:
    """Compare as Azure does: large and small letters alike, `*` is any text."""
    text = ".*".join(re.escape(part) for part in pattern.split("*"))
    return re.fullmatch(text, action, re.IGNORECASE) is not None
