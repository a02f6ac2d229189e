"""A replica has the site's names, zones and roles, and each host what its plan says."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from tests.conftest import REPO
from tests.replica.conftest import Run
from tests.replica.fake_engine import Declared
from tests.replica.seen import seen

from fireflyer.design import design
from fireflyer.load import load_site
from fireflyer.load.replica import load_instances
from fireflyer.model.fabric import Fabric, Role
from fireflyer.render.inventory import inventory

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
GROUP = "aws:ec2/placementGroup:PlacementGroup"
SITES = {
    "fire-flyer-2": ("1/300", {"compute": 4, "storage": 1, "management": 1}),
    "fire-flyer-roce": ("1/100", {"compute": 12, "storage": 2, "management": 1}),
    "next-gen": ("1/512", {"compute": 8, "storage": 0, "management": 1}),
    "lab": ("1", {"compute": 4, "storage": 2, "management": 1}),
}


@functools.cache
def real_site(name: str) -> Fabric:
    """Return a site's fabric, designed once."""
    return design(load_site(REPO / "inventory" / name))


CHANGES: dict[str, Any] = {"replica.usd_per_day_ceiling": 100_000.0}


@pytest.mark.parametrize("base", ["pair", "infiniband"])
@pytest.mark.parametrize("site", SITES)
def test_counts_names_and_groups_are_those_of_the_site(site: str, base: str, run: Run) -> None:
    scale, counts = SITES[site]
    plan, graph = run(base, CHANGES | {"replica.of": site, "replica.scale": scale})
    real = real_site(site)
    assert {str(role): len(list(plan.hosts_of(role))) for role in Role} == counts
    made = set(seen(graph).machines) - {"bastion"}
    assert made == {host.name for host in plan.hosts}
    assert made <= {node.name for node in real.nodes}
    for host in plan.hosts:
        assert (host.role, host.zone) == (real.node[host.name].role, real.node[host.name].zone)
    exported = graph.outputs["inventory"]
    assert set(exported["groups"]) <= set(inventory(real).groups) | {
        f"switches_zone_{zone}"
        for zone in plan.fabric.zones  # planes are one network here
    }
    of_site = inventory(real)
    for name, hosts in exported["groups"].items():
        known = of_site.groups.get(name, ())
        assert all(host in known for host in hosts), name
    for host, values in exported["hosts"].items():
        assert set(of_site.hosts[host]) <= set(values)
    assert set(of_site.variables) <= set(exported["variables"])
    assert set(of_site.management_variables) == set(exported["management_variables"])


def interfaces(template: Declared) -> list[tuple[Any, ...]]:
    """Return each interface's card, index, type and address."""
    return [
        (
            found["networkCardIndex"],
            found["deviceIndex"],
            found["interfaceType"],
            found.get("privateIpAddress"),
        )
        for found in template.inputs["networkInterfaces"]
    ]


@pytest.mark.parametrize("preview", [False, True], ids=["up", "preview"])
@pytest.mark.parametrize("base", ["smoke", "pair", "pod"])
def test_every_interface_is_that_of_the_plan(base: str, preview: bool, run: Run) -> None:
    plan, graph = run(base, preview=preview)
    subnets = {found.id: found.name for found in graph.of("aws:ec2/subnet:Subnet")}
    kinds = {"ethernet": "interface", "rdma": "efa-only"}
    for host in plan.hosts:
        template = graph.one(TEMPLATE, host.name)
        assert template.inputs["instanceType"] == host.instance.type
        assert interfaces(template) == [
            (f.card, f.device, kinds[f.kind], str(f.address) if f.address else None)
            for f in host.interfaces
        ]
        if not preview:
            found = [subnets[i["subnetId"]] for i in template.inputs["networkInterfaces"]]
            assert found == [interface.subnet for interface in host.interfaces]


ALL_TYPES = load_instances().of("aws")


@pytest.mark.parametrize("name", [name for name, t in ALL_TYPES.items() if t.gpus])
def test_every_card_of_a_type_is_attached_by_the_providers_rule(name: str, run: Run) -> None:
    """Card 0, device 0 for Ethernet; RDMA alone at device 1 of card 0 and device 0 of others."""
    instance = ALL_TYPES[name]
    changes = {"replica.compute.instance": name}
    plan, graph = run("pair", CHANGES | changes)
    template = graph.one(TEMPLATE, "a-cn0001")
    found = [(card, device, kind) for card, device, kind, _ in interfaces(template)]
    rdma = range(
        instance.network.rdma_first_card,
        instance.network.rdma_first_card + instance.network.rdma_devices,
    )
    assert found == [
        (0, 0, "interface"),
        *((card, 1 if card == 0 else 0, "efa-only") for card in rdma),
    ]
    assert len({pair[:2] for pair in found}) == len(found)
    # Roles see as many adapters.
    ports = graph.outputs["inventory"]["hosts"]["a-cn0001"]["fabric_ports"]
    assert len(ports) == max(instance.network.rdma_devices, 1)
    assert plan.fabric.node["a-cn0001"].model.gpus


BLOCK = {
    "replica.placement": {"kind": "capacity-block", "reservation": "cr-0123456789abcdef0"},
    "replica.compute.market": "capacity-block",
}
RESERVED = {"replica.placement": {"kind": "reservation", "reservation": "cr-0123456789abcdef0"}}
IN_GROUP = {"replica.placement": {**RESERVED["replica.placement"], "group": "theirs"}}


@pytest.mark.parametrize(
    ("changes", "made", "named", "reserved", "market"),
    [
        ({}, True, True, False, None),
        ({"replica.placement": {"kind": "none"}}, False, False, False, None),
        (RESERVED, False, False, True, None),
        (IN_GROUP, False, True, True, None),
        (BLOCK, False, False, True, "capacity-block"),
        ({"replica.compute.market": "spot"}, True, True, False, "spot"),
    ],
    ids=["group", "none", "reservation", "reservation in a group", "block", "spot"],
)
def test_a_group_of_its_own_and_a_reservation_exclude_each_other(
    changes: dict[str, Any], made: bool, named: bool, reserved: bool, market: str | None, run: Run
) -> None:
    plan, graph = run("pair", changes)
    groups = {found.name for found in graph.of(GROUP)}
    assert groups == set(plan.new_groups)
    assert bool(groups) is made
    for host in plan.hosts:
        inputs = graph.one(TEMPLATE, host.name).inputs
        compute = host.role is Role.COMPUTE
        group = inputs["placement"].get("groupName")
        assert (group is not None) is (named and compute)
        target = inputs.get("capacityReservationSpecification")
        assert (target is not None) is (reserved and compute)
        options = inputs.get("instanceMarketOptions", {})
        assert options.get("marketType") == (market if compute else None)
        if made and compute:
            assert group == f"fire-flyer-2-pair-zone-{host.zone}"


def test_the_whole_reservation_is_named(run: Run) -> None:
    _, graph = run("pair", BLOCK)
    inputs = graph.one(TEMPLATE, "b-cn0002").inputs
    target = inputs["capacityReservationSpecification"]["capacityReservationTarget"]
    assert target == {"capacityReservationId": "cr-0123456789abcdef0"}
