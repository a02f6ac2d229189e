"""Laws over what is declared on AWS alone. No assertion hides in an apply."""

from __future__ import annotations

import pytest
from tests.replica.conftest import Run
from tests.replica.fake_engine import Graph
from tests.replica.seen import leaves
from tests.stacks import PROVIDERS

EVERYWHERE = ("0.0.0.0/0", "::/0")
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
INSTANCE = "aws:ec2/instance:Instance"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
GROUP = "aws:ec2/securityGroup:SecurityGroup"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
ALARM = "aws:cloudwatch/metricAlarm:MetricAlarm"
CLOSED = {
    "replica.network": {"egress": "none"},
    "replica.access.kind": "session-manager",
    "replica.access.cidrs": [],
}
both_ways = pytest.mark.parametrize("preview", [False, True], ids=["up", "preview"])
all_examples = pytest.mark.parametrize(
    "base", [name for name, provider in PROVIDERS.items() if provider == "aws"]
)


def open_places(graph: Graph) -> set[tuple[str, str]]:
    return {
        (found.kind.rpartition(":")[2], found.name)
        for found in graph.resources
        for _, value in leaves(found.inputs)
        if value in EVERYWHERE
    }


@both_ways
@all_examples
def test_everywhere_is_where_a_way_out_was_asked_for(base: str, preview: bool, run: Run) -> None:
    plan, graph = run(base, preview=preview)
    assert plan.intent.network.egress == "nat"
    assert open_places(graph) == {
        ("Route", "to-internet"),
        ("Route", "to-nat"),
        ("SecurityGroupEgressRule", "mirrors-80"),
        ("SecurityGroupEgressRule", "mirrors-443"),
    }


@both_ways
def test_a_closed_replica_names_everywhere_nowhere(preview: bool, run: Run) -> None:
    _, graph = run("pair", CLOSED, preview=preview)
    assert open_places(graph) == set()
    assert not list(graph.of("aws:ec2/internetGateway:InternetGateway"))
    assert not list(graph.of("aws:ec2/eip:Eip"))


def test_a_closed_replica_reaches_object_storage_through_its_endpoint(run: Run) -> None:
    """Its addresses are public: without a rule for them the endpoint is a route to nothing."""
    _, graph = run("pair", CLOSED)
    rules = [rule for rule in graph.of(EGRESS) if "prefixListId" in rule.inputs]
    assert [(r.inputs["prefixListId"], r.inputs["fromPort"]) for r in rules] == [
        ("pl-of-com.amazonaws.us-east-1.s3", 443)
    ]
    assert rules[0].inputs["securityGroupId"] == graph.one(GROUP, "hosts").id


def test_only_the_given_networks_reach_the_bastion(run: Run) -> None:
    cidrs = ["192.0.2.0/24", "198.51.100.7/32"]
    _, graph = run("pair", {"replica.access.cidrs": cidrs})
    rules = [rule.inputs for rule in graph.of(INGRESS) if "cidrIpv4" in rule.inputs]
    # Resources are declared by several threads, in any order.
    assert sorted(rule["cidrIpv4"] for rule in rules) == cidrs
    assert {(r["fromPort"], r["toPort"], r["ipProtocol"]) for r in rules} == {(22, 22, "tcp")}
    bastion = graph.one("aws:ec2/securityGroup:SecurityGroup", "bastion").id
    assert {rule["securityGroupId"] for rule in rules} == {bastion}


@all_examples
def test_no_host_but_the_bastion_has_a_public_address(base: str, run: Run) -> None:
    _, graph = run(base)
    for subnet in graph.of("aws:ec2/subnet:Subnet"):
        assert subnet.inputs["mapPublicIpOnLaunch"] is False
    for template in graph.of(TEMPLATE):
        for interface in template.inputs["networkInterfaces"]:
            assert "associatePublicIpAddress" not in interface
    addresses = {found.name: found.inputs for found in graph.of("aws:ec2/eip:Eip")}
    assert set(addresses) <= {"nat", "bastion"}
    assert "instance" not in addresses.get("nat", {})


@both_ways
@all_examples
def test_metadata_is_version_2_alone(base: str, preview: bool, run: Run) -> None:
    _, graph = run(base, preview=preview)
    templates = [found.inputs["metadataOptions"] for found in graph.of(TEMPLATE)]
    bare = [f.inputs["metadataOptions"] for f in graph.of(INSTANCE) if f.name == "bastion"]
    assert templates
    for options in templates + bare:
        assert (options["httpTokens"], options["httpPutResponseHopLimit"]) == ("required", 1)


@both_ways
@all_examples
def test_every_disk_is_encrypted(base: str, preview: bool, run: Run) -> None:
    _, graph = run(base, preview=preview)
    for template in graph.of(TEMPLATE):
        disks = template.inputs["blockDeviceMappings"]
        assert [disk["ebs"]["encrypted"] for disk in disks] == ["true"]
        # The image's own root: else an encrypted disk would stand beside an open one.
        assert [disk["deviceName"] for disk in disks] == ["/dev/xvda"]
    for instance in graph.of(INSTANCE):
        if "launchTemplate" not in instance.inputs:
            assert instance.inputs["rootBlockDevice"]["encrypted"] is True


@all_examples
def test_efa_is_let_in_from_its_own_group_and_out_to_it(base: str, run: Run) -> None:
    _, graph = run(base)
    hosts = graph.one("aws:ec2/securityGroup:SecurityGroup", "hosts").id
    for kind, name in ((INGRESS, "efa-in"), (EGRESS, "efa-out")):
        rule = graph.one(kind, name).inputs
        assert (rule["securityGroupId"], rule["referencedSecurityGroupId"]) == (hosts, hosts)
        assert rule["ipProtocol"] == "-1"
        assert not {"fromPort", "toPort"} & set(rule)
    for template in graph.of(TEMPLATE):
        for interface in template.inputs["networkInterfaces"]:
            assert interface["securityGroups"] == [hosts]


@both_ways
@all_examples
def test_what_a_template_makes_is_tagged_too(base: str, preview: bool, run: Run) -> None:
    _, graph = run(base, preview=preview)
    for template in graph.of(TEMPLATE):
        kinds = template.inputs["tagSpecifications"]
        made = {"instance", "volume", "network-interface"}
        if template.inputs.get("instanceMarketOptions", {}).get("marketType") == "spot":
            made.add("spot-instances-request")
        assert {kind["resourceType"] for kind in kinds} == made
        lasting = {key: tag for key, tag in template.inputs["tags"].items() if key != "expires"}
        assert all(kind["tags"] == lasting for kind in kinds)
    for instance in graph.of(INSTANCE):
        assert instance.inputs["volumeTags"] == instance.inputs["tags"]


def test_the_group_that_a_vpc_comes_with_lets_nothing_through(run: Run) -> None:
    _, graph = run("pair")
    unused = graph.one("aws:ec2/defaultSecurityGroup:DefaultSecurityGroup").inputs
    assert (unused["ingress"], unused["egress"]) == ([], [])


@all_examples
def test_the_budget_is_the_ceiling_of_this_replica(base: str, run: Run) -> None:
    plan, graph = run(base)
    budget = graph.one("aws:budgets/budget:Budget").inputs
    assert budget["limitAmount"] == f"{plan.intent.usd_per_day_ceiling:.2f}"
    assert budget["costFilters"] == [
        {"name": "TagKeyValue", "values": [f"user:fireflyer-replica${plan.site}-{plan.name}"]}
    ]
    watched = [a.inputs for a in graph.of(ALARM) if a.inputs["namespace"] == "AWS/EC2"]
    assert {alarm["dimensions"]["InstanceId"] for alarm in watched} == {
        instance.id for instance in graph.of(INSTANCE)
    }
