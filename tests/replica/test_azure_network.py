"""Ways through the network on Azure: every rule, subnets, names, and what machines start with."""

from __future__ import annotations

from typing import Any

import pytest
from tests.replica.conftest import Run
from tests.replica.fake_engine import Graph
from tests.replica.seen_azure import MACHINE, SECURITY, VNET, interfaces

CLOSED = {"replica.network": {"egress": "none"}, "replica.ntp_servers": ["10.0.0.1"]}
INSIDE = ("10.60.16.0/20", "10.60.32.0/20", "10.60.64.0/20", "10.60.80.0/20")
BASTION = ("10.60.0.0/20",)
SSH_SOURCES = ("192.0.2.0/24",)
ALL = ("*",)


def rules(graph: Graph, group: str) -> set[tuple[Any, ...]]:
    """Return a group's rules: way, verdict, protocol, port, sources, targets."""

    def ends(rule: dict[str, Any], end: str) -> tuple[str, ...]:
        one, several = rule.get(f"{end}AddressPrefix"), rule.get(f"{end}AddressPrefixes")
        assert (one is None) is not (several is None), rule
        return (one,) if one is not None else tuple(several or ())

    found = graph.one(SECURITY, group).inputs["securityRules"]
    assert {rule["sourcePortRange"] for rule in found} == {"*"}
    return {
        (
            rule["direction"],
            rule["access"],
            rule["protocol"],
            rule["destinationPortRange"],
            ends(rule, "source"),
            ends(rule, "destination"),
        )
        for rule in found
    }


DENIED = {
    ("Inbound", "Deny", "*", "*", ALL, ALL),
    ("Outbound", "Deny", "*", "*", ALL, ALL),
}
BETWEEN_HOSTS = {
    ("Inbound", "Allow", "*", "*", INSIDE, INSIDE),
    ("Outbound", "Allow", "*", "*", INSIDE, INSIDE),
    ("Inbound", "Allow", "Tcp", "22", BASTION, INSIDE),
}
WAYS_OUT = {
    ("Outbound", "Allow", "Tcp", "80", INSIDE, ("Internet",)),
    ("Outbound", "Allow", "Tcp", "443", INSIDE, ("Internet",)),
    ("Outbound", "Allow", "Udp", "123", INSIDE, ("Internet",)),
}


@pytest.mark.parametrize("closed", [False, True])
def test_the_rules_are_these_and_no_other(closed: bool, run: Run) -> None:
    _, graph = run("infiniband", CLOSED if closed else None)
    storage = {("Outbound", "Allow", "Tcp", "443", INSIDE, ("Storage.eastus",))}
    out = storage if closed else WAYS_OUT
    assert rules(graph, "hosts") == DENIED | BETWEEN_HOSTS | out
    assert rules(graph, "bastion") == DENIED | {
        ("Inbound", "Allow", "Tcp", "22", SSH_SOURCES, BASTION),
        ("Outbound", "Allow", "Tcp", "22", BASTION, INSIDE),
    }


def test_subnets_names_and_the_translator_are_the_networks(run: Run) -> None:
    plan, graph = run("infiniband")
    vnet = graph.one(VNET)
    assert vnet.inputs["addressSpace"] == {"addressPrefixes": [str(plan.network)]}
    nat = graph.one("azure-native:network:NatGateway")
    for subnet in vnet.inputs["subnets"]:
        closed = subnet["name"] != "public"
        assert subnet.get("natGateway") == ({"id": nat.id} if closed else None)
        storage = [{"service": "Microsoft.Storage"}]
        assert subnet.get("serviceEndpoints") == (storage if closed else None)
    addresses = {found.name: found for found in graph.of("azure-native:network:PublicIPAddress")}
    assert nat.inputs["publicIpAddresses"] == [{"id": addresses["nat"].id}]
    for address in addresses.values():
        assert address.inputs["publicIPAllocationMethod"] == "Static"
        assert address.inputs["sku"] == {"name": "Standard"}
    link = graph.one("azure-native:privatedns:VirtualNetworkLink").inputs
    assert link["virtualNetwork"] == {"id": vnet.id}
    assert link["privateZoneName"] == plan.domain
    assert link["registrationEnabled"] is False
    jump = graph.outputs["inventory"]["variables"]["replica_jump"]
    assert jump == addresses["bastion"].outputs["ipAddress"]


def test_machines_start_as_planned(run: Run) -> None:
    plan, graph = run("infiniband")
    for host in plan.hosts:
        machine = graph.one(MACHINE, host.name)
        ports = machine.inputs["networkProfile"]["networkInterfaces"]
        assert [port["primary"] for port in ports] == [True] + [False] * (len(ports) - 1)
        first = interfaces(graph, machine)[0].inputs["ipConfigurations"][0]
        assert first["privateIPAddress"] == str(host.address)
        assert first["privateIPAllocationMethod"] == "Static"
    for machine in graph.of(MACHINE):
        disk = machine.inputs["storageProfile"]["osDisk"]
        assert (disk["diskSizeGB"], disk["createOption"]) == (100, "FromImage")
        assert disk["managedDisk"] == {"storageAccountType": "Premium_LRS"}
    for group in graph.of("azure-native:compute:AvailabilitySet"):
        assert group.inputs["platformUpdateDomainCount"] == 1
