"""Laws over what is declared on Azure alone, and what the inventory says of InfiniBand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.replica.conftest import Run
from tests.replica.fake_azure import FakeAzure
from tests.replica.fake_engine import UNKNOWN, run_program
from tests.replica.seen import leaves
from tests.replica.seen_azure import INTERFACE, MACHINE, SECURITY, VNET
from tests.stacks import READY, make_stack

from fireflyer.load.replica import load_instances
from fireflyer.model.fabric import Role

both_ways = pytest.mark.parametrize("preview", [False, True], ids=["up", "preview"])
SET = "azure-native:compute:AvailabilitySet"
GROUP = (
    "/subscriptions/12345678-1234-1234-1234-123456789012/resourceGroups/ours/providers"
    "/Microsoft.Compute/capacityReservationGroups/rehearsal"
)
ONE_GPU = {"replica.compute.instance": "Standard_NC24ads_A100_v4", "replica.zone": "1"}
RESERVED = ONE_GPU | {"replica.placement": {"kind": "reservation", "reservation": GROUP}}
SPOT = ONE_GPU | {"replica.placement": {"kind": "none"}, "replica.compute.market": "spot"}
CLOSED = {
    "replica.network": {"egress": "none"},
    "replica.ntp_servers": ["10.0.0.1"],
}
EVERYWHERE = ("*", "Internet", "0.0.0.0/0", "::/0", "Any")


def rules(inputs: Any, way: str) -> list[dict[str, Any]]:
    """Return a group's rules of one direction in the order in which Azure asks them."""
    found = [rule for rule in inputs["securityRules"] if rule["direction"] == way]
    return sorted(found, key=lambda rule: int(rule["priority"]))


@both_ways
def test_every_security_group_ends_with_a_denial(preview: bool, run: Run) -> None:
    """What Azure adds below would let the VNet in, and everything out."""
    _, graph = run("infiniband", preview=preview)
    groups = list(graph.of(SECURITY))
    assert {group.name for group in groups} == {"hosts", "bastion"}
    for group in groups:
        for way in ("Inbound", "Outbound"):
            *allowed, last = rules(group.inputs, way)
            assert (last["access"], last["priority"], last["protocol"]) == ("Deny", 4096, "*")
            assert (last["sourceAddressPrefix"], last["destinationPortRange"]) == ("*", "*")
            assert last["destinationAddressPrefix"] == "*"
            assert {rule["access"] for rule in allowed} == {"Allow"}
            priorities = [rule["priority"] for rule in allowed]
            assert len(set(priorities)) == len(priorities)


@both_ways
@pytest.mark.parametrize("closed", [False, True])
def test_everywhere_is_where_a_way_out_was_asked_for(closed: bool, preview: bool, run: Run) -> None:
    _, graph = run("infiniband", CLOSED if closed else None, preview=preview)
    out = {
        (group.name, rule["name"], rule["destinationPortRange"])
        for group in graph.of(SECURITY)
        for rule in group.inputs["securityRules"]
        if rule["access"] == "Allow"
        and {v for k, v in leaves(rule) if k.endswith(("Prefix", "Prefixes"))} & set(EVERYWHERE)
    }
    ways = {("mirrors-80", "80"), ("mirrors-443", "443"), ("time", "123")}
    assert out == (set() if closed else {("hosts", *way) for way in ways})
    translators = list(graph.of("azure-native:network:NatGateway"))
    assert len(translators) == (0 if closed else 1)
    for subnet in graph.one(VNET).inputs["subnets"]:
        assert subnet["defaultOutboundAccess"] is False
        assert ("natGateway" in subnet) is (not closed and subnet["name"] != "public")


@both_ways
def test_every_interface_is_in_a_security_group(preview: bool, run: Run) -> None:
    _, graph = run("infiniband", preview=preview)
    ids = {group.id: group.name for group in graph.of(SECURITY)}
    for interface in graph.of(INTERFACE):
        found = interface.inputs["networkSecurityGroup"]["id"]
        if not preview:
            assert ids[found] == ("bastion" if interface.name == "bastion" else "hosts")
        accelerated = interface.inputs.get("enableAcceleratedNetworking", False)
        assert accelerated is (interface.name != "bastion")


@both_ways
def test_only_the_key_logs_in(preview: bool, run: Run) -> None:
    plan, graph = run("infiniband", preview=preview)
    machines = list(graph.of(MACHINE))
    assert len(machines) == len(plan.hosts) + 1
    for machine in machines:
        profile = machine.inputs["osProfile"]
        assert "adminPassword" not in profile
        assert profile["adminUsername"] == plan.login == "debian"
        assert profile["computerName"] == machine.name
        linux = profile["linuxConfiguration"]
        assert linux["disablePasswordAuthentication"] is True
        (key,) = linux["ssh"]["publicKeys"]
        assert key["path"] == "/home/debian/.ssh/authorized_keys"
        assert key["keyData"] == (UNKNOWN if preview else plan.intent.access.public_key)


def test_the_image_is_one_version(run: Run) -> None:
    image = {"publisher": "ours", "offer": "debian-12-gpu", "sku": "gen2", "version": "1.2.3"}
    _, graph = run("infiniband", {"replica.image": image})
    for machine in graph.of(MACHINE):
        assert machine.inputs["storageProfile"]["imageReference"] == image
    mine = "/subscriptions/x/providers/Microsoft.Compute/galleries/g/images/i/versions/1.0.0"
    _, graph = run("infiniband", {"replica.image": {"id": mine}})
    (found,) = {m.inputs["storageProfile"]["imageReference"]["id"] for m in graph.of(MACHINE)}
    assert found == mine


@pytest.mark.parametrize(
    ("changes", "sets", "zone", "reserved", "spot"),
    [({}, True, None, False, False), (RESERVED, False, "1", True, False),
     (SPOT, False, "1", False, True)],
    ids=["set", "reservation", "spot"],
)  # fmt: skip
def test_a_set_excludes_a_zone_a_reservation_and_spot(
    changes: dict[str, Any], sets: bool, zone: str | None, reserved: bool, spot: bool, run: Run
) -> None:
    plan, graph = run("infiniband", changes)
    assert {found.name for found in graph.of(SET)} == set(plan.new_groups)
    assert bool(plan.new_groups) is sets
    for found in graph.of(SET):
        assert found.inputs["platformFaultDomainCount"] == 1
        assert found.inputs["sku"] == {"name": "Aligned"}
    for host in plan.hosts:
        inputs = graph.one(MACHINE, host.name).inputs
        compute = host.role is Role.COMPUTE
        assert ("availabilitySet" in inputs) is (sets and compute)
        assert inputs.get("zones") == ([zone] if zone else None)
        reservation = inputs.get("capacityReservation", {}).get("capacityReservationGroup")
        assert reservation == ({"id": GROUP} if reserved and compute else None)
        assert inputs["priority"] == ("Spot" if spot and compute else "Regular")
        # What is evicted keeps its disk, as what is stopped at the end does.
        assert inputs.get("evictionPolicy") == ("Deallocate" if spot and compute else None)


@pytest.mark.parametrize(("hours", "amount"), [(8, 1000.0), (48, 6000.0)])
def test_the_budget_is_what_the_ceiling_allows_until_the_end(
    hours: int, amount: float, run: Run
) -> None:
    _, graph = run("infiniband", {"replica.ttl_hours": hours})
    budget = graph.one("azure-native:consumption:Budget").inputs
    assert budget["amount"] == amount
    assert budget["scope"] == graph.one("azure-native:resources:ResourceGroup").id
    assert budget["timePeriod"] == {"startDate": "2030-01-01T00:00:00Z"}
    assert {note["threshold"] for note in budget["notifications"].values()} == {50, 80, 100}


def test_all_of_it_is_in_the_one_resource_group(run: Run) -> None:
    _, graph = run("infiniband")
    home = graph.one("azure-native:resources:ResourceGroup")
    assert home.inputs["resourceGroupName"] == "fire-flyer-2-infiniband"
    for found in graph.resources:
        if found.kind.startswith("azure-native:") and found is not home:
            assert found.id.startswith(f"{home.id}/providers/"), found.urn
            assert home.urn in graph.before(found), found.urn


TYPES = [name for name, found in load_instances().of("azure").items()
         if found.network.rdma == "infiniband"]  # fmt: skip


@pytest.mark.parametrize("name", TYPES)
def test_the_inventory_names_an_adapter_for_each_gpu(name: str, run: Run) -> None:
    changes = {"replica.compute.instance": name, "replica.usd_per_day_ceiling": 100_000.0}
    _, graph = run("infiniband", changes)
    instance = load_instances().of("azure")[name]
    assert instance.gpus is not None
    inventory = graph.outputs["inventory"]
    assert inventory["variables"]["replica"]["rdma"] == "infiniband"
    ports = inventory["hosts"]["a-cn0001"]["fabric_ports"]
    assert [port["hca"] for port in ports] == [f"mlx5_ib{n}" for n in range(instance.gpus.count)]
    (rate,) = {port["link_gbps"] for port in ports}
    assert rate == (200 if "A100" in name or "asr" in name else 400)
    # InfiniBand is no interface that Azure is asked for: the node has its one foot.
    names = {found.name for found in graph.of(INTERFACE)}
    assert [found for found in names if found.startswith("a-cn0001-")] == ["a-cn0001-zone-a"]


def test_hosts_are_named_by_what_the_provider_calls_them(run: Run) -> None:
    _, graph = run("infiniband")
    inventory = graph.outputs["inventory"]
    machine = inventory["hosts"]["st001"]["replica_instance"]
    assert machine.endswith("/providers/Microsoft.Compute/virtualMachines/st001")
    assert inventory["variables"]["replica_jump"].startswith("203.0.113.")


def test_destroy_leaves_nothing(tmp_path: Path) -> None:
    """The resource group goes last: what were left in it would go with it, unseen."""
    file = make_stack(tmp_path / "stack", "infiniband", READY)
    azure = FakeAzure()
    engine = run_program(file, azure, tmp_path / "program")
    assert len(azure.made) > 50
    engine.destroy()
    assert azure.made == {}
