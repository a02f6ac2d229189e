"""What a program declared on Azure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.replica.fake_engine import UNKNOWN, Declared, Graph
from tests.replica.seen import Machine, Seen

VNET = "azure-native:network:VirtualNetwork"
MACHINE = "azure-native:compute:VirtualMachine"
INTERFACE = "azure-native:network:NetworkInterface"
SECURITY = "azure-native:network:NetworkSecurityGroup"


def seen(graph: Graph) -> Seen:
    """Return what stands after a program."""
    subnets = {s["name"]: s["addressPrefix"] for s in graph.one(VNET).inputs["subnets"]}
    stop = graph.one("azure-native:logic:Workflow").inputs
    group = stop["parameters"]["group"]["value"]
    return Seen(
        machines=dict(_machines(graph)),
        subnets=subnets,
        names={
            f"{r.inputs['relativeRecordSetName']}.{_zone(graph)}": tuple(
                record["ipv4Address"] for record in r.inputs["aRecords"]
            )
            for r in graph.of("azure-native:privatedns:PrivateRecordSet")
        },
        let_in={
            (group.name, _port(rule), source)
            for group in graph.of(SECURITY)
            for rule in group.inputs["securityRules"]
            if (rule["direction"], rule["access"]) == ("Inbound", "Allow")
            for source in rule.get("sourceAddressPrefixes", [rule.get("sourceAddressPrefix")])
            if source not in subnets.values()
        },
        public={
            interface.name
            for interface in graph.of(INTERFACE)
            if any("publicIPAddress" in c for c in interface.inputs["ipConfigurations"])
        },
        ended={
            machine.name
            for machine in graph.of(MACHINE)
            if group != UNKNOWN and machine.id.startswith(f"{group}/providers/")
        },
        ends_at=stop["definition"]["triggers"]["expiry"]["recurrence"]["startTime"],
        alarms={
            found.name
            for found in graph.of("azure-native:monitor:MetricAlert")
            if "virtualMachines" in found.inputs["criteria"]["allOf"][0]["metricNamespace"]
        },
        lasting={
            found.urn: {key: value for key, value in found.inputs.items() if key != "tags"}
            for kind in (MACHINE, INTERFACE)
            for found in graph.of(kind)
        },
    )


def _zone(graph: Graph) -> str:
    return str(graph.one("azure-native:privatedns:PrivateZone").inputs["privateZoneName"])


def _port(rule: Mapping[str, Any]) -> int:
    port = rule["destinationPortRange"]
    return 0 if port == "*" else int(port)


def interfaces(graph: Graph, machine: Declared) -> list[Declared]:
    """Return a machine's interfaces in order; in a preview by the names that they are given."""
    wanted = [found["id"] for found in machine.inputs["networkProfile"]["networkInterfaces"]]
    if UNKNOWN in wanted:
        return [i for i in graph.of(INTERFACE) if i.parent == machine.parent]
    known = {found.id: found for found in graph.of(INTERFACE)}
    return [known[found] for found in wanted]


def _machines(graph: Graph) -> Mapping[str, Machine]:
    sets = {found.id: found.name for found in graph.of("azure-native:compute:AvailabilitySet")}
    made = {}
    for found in graph.of(MACHINE):
        inputs = found.inputs
        configurations = [
            configuration
            for interface in interfaces(graph, found)
            for configuration in interface.inputs["ipConfigurations"]
            if "privateIPAddress" in configuration
        ]
        ids = [c["subnet"]["id"] for c in configurations]
        group = inputs.get("availabilitySet", {}).get("id")
        made[found.name] = Machine(
            type=inputs["hardwareProfile"]["vmSize"],
            market={"Regular": "on-demand", "Spot": "spot"}[inputs["priority"]],
            addresses=tuple(c["privateIPAddress"] for c in configurations),
            subnets=() if UNKNOWN in ids else tuple(i.rpartition("/")[2] for i in ids),
            group=sets.get(group) if group else None,
            encrypted=inputs["securityProfile"] == {"encryptionAtHost": True},
            disk_goes=inputs["storageProfile"]["osDisk"]["deleteOption"] == "Delete",
            user_data=inputs["osProfile"]["customData"],
        )
    return made
