"""Azure out of the air: every resource gets an id, and the outputs that the program reads."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

ROOT = "/subscriptions/12345678-1234-1234-1234-123456789012"
PATHS = {
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
    "azure-native:privatedns:VirtualNetworkLink": "Microsoft.Network/virtualNetworkLinks",
    "azure-native:resources:ResourceGroup": "resourceGroups",
}
NAMES = {
    "ActionGroup": "actionGroupName",
    "AvailabilitySet": "availabilitySetName",
    "MetricAlert": "ruleName",
    "NatGateway": "natGatewayName",
    "NetworkInterface": "networkInterfaceName",
    "NetworkSecurityGroup": "networkSecurityGroupName",
    "PrivateRecordSet": "relativeRecordSetName",
    "PrivateZone": "privateZoneName",
    "PublicIPAddress": "publicIpAddressName",
    "SshPublicKey": "sshPublicKeyName",
    "UserAssignedIdentity": "resourceName",
    "VirtualMachine": "vmName",
    "VirtualNetwork": "virtualNetworkName",
    "VirtualNetworkLink": "virtualNetworkLinkName",
    "Workflow": "workflowName",
}
"""Where a resource is told its name; without it Azure's provider adds random letters."""
GROUP = "azure-native:resources:ResourceGroup"
SCOPED = ("authorization", "consumption")
"""Modules whose resources are in a scope, not in a group."""


class FakeAzure:
    """Ids and outputs. An unknown type, or a second resource of a name, is an error."""

    def __init__(self) -> None:
        self.made: dict[str, str] = {}
        self.groups: set[str] = set()

    def create(self, kind: str, name: str, inputs: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        path, module = PATHS[kind], kind.split(":")[1]
        if kind == GROUP:
            name = inputs["resourceGroupName"]
            self.groups.add(name)
            identity = f"{ROOT}/resourceGroups/{name}"
        elif module in SCOPED:
            identity = f"{inputs['scope']}/providers/{path}/{name}"
        else:
            group = inputs["resourceGroupName"]
            assert group in self.groups, f"{name} is in {group}, which is not there"
            name = inputs[NAMES[kind.rpartition(":")[2]]]
            identity = f"{ROOT}/resourceGroups/{group}/providers/{path}/{name}"
        assert identity not in self.made, f"{identity} is there already"
        self.made[identity] = kind
        outputs: dict[str, Any] = {"name": identity.rpartition("/")[2]}
        if path.endswith("publicIPAddresses"):
            outputs["ipAddress"] = f"203.0.113.{zlib.crc32(identity.encode()) % 256}"
        elif path.endswith("virtualMachines") and "identity" in inputs:
            # Asked for as a list, answered as an object.
            known: dict[str, Any] = {of: {} for of in inputs["identity"]["userAssignedIdentities"]}
            assert set(known) <= set(self.made), known
            outputs["identity"] = {**inputs["identity"], "userAssignedIdentities": known}
        elif path.endswith("userAssignedIdentities"):
            outputs["principalId"] = f"principal-of-{name}"
        elif path.endswith("workflows"):
            outputs["identity"] = {**inputs["identity"], "principalId": f"principal-of-{name}"}
        return identity, outputs

    def call(self, token: str, args: Mapping[str, Any]) -> dict[str, Any]:
        raise AssertionError(f"{token} is asked: the program asks Azure nothing")

    def delete(self, kind: str, identity: str, outputs: Mapping[str, Any]) -> None:
        assert self.made.pop(identity) == kind
        if kind == GROUP:
            assert not [left for left in self.made if left.startswith(f"{identity}/")]
