"""Ways through the network on AWS: routes, endpoints, and who may answer the session manager."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.replica.conftest import Run
from tests.replica.fake_engine import Graph
from tests.stacks import PROVIDERS

TABLE = "aws:ec2/routeTable:RouteTable"
ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
GROUP = "aws:ec2/securityGroup:SecurityGroup"
all_examples = pytest.mark.parametrize(
    "base", [name for name, provider in PROVIDERS.items() if provider == "aws"]
)
CLOSED = {"replica.network": {"egress": "none"}, "replica.access.kind": "session-manager",
          "replica.access.cidrs": []}  # fmt: skip
SESSIONS = {"replica.access.kind": "session-manager", "replica.access.cidrs": []}
NO_WAY_OUT = {"replica.network": {"egress": "none"}}


def ways(graph: Graph) -> dict[str, dict[str, Any]]:
    """Return each subnet's routes: destination to type and name of what it goes to."""
    ids = {found.id: (found.kind.rpartition(":")[2], found.name) for found in graph.resources}
    subnets = {found.id: found.name for found in graph.of("aws:ec2/subnet:Subnet")}
    tables: dict[str, dict[str, Any]] = {found.id: {} for found in graph.of(TABLE)}
    for route in graph.of("aws:ec2/route:Route"):
        inputs = dict(route.inputs)
        table, to = inputs.pop("routeTableId"), inputs.pop("destinationCidrBlock")
        (next_hop,) = inputs.values()
        tables[table][to] = ids[next_hop]
    for endpoint in graph.of(ENDPOINT):
        for table in endpoint.inputs.get("routeTableIds", []):
            tables[table][endpoint.inputs["serviceName"]] = ids[endpoint.id]
    return {
        subnets[found.inputs["subnetId"]]: tables[found.inputs["routeTableId"]]
        for found in graph.of("aws:ec2/routeTableAssociation:RouteTableAssociation")
    }


@pytest.mark.parametrize(
    ("changes", "private", "public"),
    [
        ({}, True, True),
        (NO_WAY_OUT, False, True),
        (SESSIONS, True, True),
        (CLOSED, False, False),
    ],
    ids=["bastion and nat", "bastion alone", "nat alone", "closed"],
)
def test_each_subnet_has_its_routes(
    changes: dict[str, Any], private: bool, public: bool, run: Run
) -> None:
    plan, graph = run("pair", changes)
    inside = {"com.amazonaws.us-east-1.s3": ("VpcEndpoint", "s3")}
    if private:
        inside["0.0.0.0/0"] = ("NatGateway", "nat")
    wanted = {s.name: inside for s in plan.subnets if s.kind != "public"}
    if public:
        wanted["public"] = {"0.0.0.0/0": ("InternetGateway", "internet")}
    assert ways(graph) == wanted
    assert {subnet.name for subnet in plan.subnets} == set(wanted)


@all_examples
def test_the_translator_stands_outside_with_an_address_of_its_own(base: str, run: Run) -> None:
    _, graph = run(base)
    subnets = {found.name: found.id for found in graph.of("aws:ec2/subnet:Subnet")}
    nat = graph.one("aws:ec2/natGateway:NatGateway").inputs
    assert nat["subnetId"] == subnets["public"]
    assert nat["allocationId"] == graph.one("aws:ec2/eip:Eip", "nat").id
    vpc = graph.one("aws:ec2/vpc:Vpc")
    assert (vpc.inputs["enableDnsSupport"], vpc.inputs["enableDnsHostnames"]) == (True, True)
    for found in graph.resources:
        if "vpcId" in found.inputs:
            assert found.inputs["vpcId"] == vpc.id, found.urn
    (zone,) = graph.one("aws:route53/zone:Zone").inputs["vpcs"]
    assert zone == {"vpcId": vpc.id}
    internet = graph.one("aws:ec2/internetGateway:InternetGateway")
    for address in graph.of("aws:ec2/eip:Eip"):
        assert address.inputs["domain"] == "vpc"
        assert internet.urn in graph.before(address)


@all_examples
def test_every_subnet_is_in_the_zone_of_the_plan(base: str, run: Run) -> None:
    plan, graph = run(base)
    for subnet in graph.of("aws:ec2/subnet:Subnet"):
        assert subnet.inputs["availabilityZone"] == plan.intent.zone
    for template in graph.of("aws:ec2/launchTemplate:LaunchTemplate"):
        assert template.inputs["placement"]["availabilityZone"] == plan.intent.zone


@pytest.mark.parametrize("changes", [SESSIONS, CLOSED], ids=["nat", "closed"])
def test_a_host_answers_the_session_manager_by_endpoints_role_and_rules(
    changes: dict[str, Any], run: Run
) -> None:
    _, graph = run("pair", changes)
    groups = {found.id: found.name for found in graph.of(GROUP)}
    subnets = {found.id: found.name for found in graph.of("aws:ec2/subnet:Subnet")}
    endpoints = {
        found.inputs["serviceName"]: found.inputs
        for found in graph.of(ENDPOINT)
        if found.inputs["vpcEndpointType"] == "Interface"
    }
    # AWS, "Improve the security of EC2 instances by using VPC endpoints for Systems Manager".
    assert set(endpoints) == {"com.amazonaws.us-east-1.ssm", "com.amazonaws.us-east-1.ssmmessages"}
    for inputs in endpoints.values():
        assert inputs["privateDnsEnabled"] is True
        assert [subnets[found] for found in inputs["subnetIds"]] == ["management"]
        assert [groups[found] for found in inputs["securityGroupIds"]] == ["endpoints"]
    rules = {
        (rule.kind.rpartition("Group")[2], groups[rule.inputs["securityGroupId"]],
         groups.get(rule.inputs.get("referencedSecurityGroupId", ""), ""),
         rule.inputs["ipProtocol"], rule.inputs.get("fromPort"), rule.inputs.get("toPort"))
        for rule in graph.resources if "SecurityGroup" in rule.kind and "Rule" in rule.kind
    }  # fmt: skip
    assert ("IngressRule", "endpoints", "hosts", "tcp", 443, 443) in rules
    assert ("EgressRule", "hosts", "endpoints", "tcp", 443, 443) in rules
    role = graph.one("aws:iam/role:Role", "host").inputs
    (trust,) = json.loads(role["assumeRolePolicy"])["Statement"]
    assert trust["Principal"] == {"Service": "ec2.amazonaws.com"}
    policy = graph.one("aws:iam/rolePolicy:RolePolicy", "host").inputs
    assert policy["role"] == role["name"]
    assert json.loads(policy["policy"])["Statement"] == [
        {
            "Effect": "Allow",
            # The least that the agent needs, by AWS's "Add Session Manager permissions".
            "Action": [
                "ssm:UpdateInstanceInformation",
                "ssmmessages:CreateControlChannel",
                "ssmmessages:CreateDataChannel",
                "ssmmessages:OpenControlChannel",
                "ssmmessages:OpenDataChannel",
            ],
            "Resource": "*",
        }
    ]
    profile = graph.one("aws:iam/instanceProfile:InstanceProfile").inputs
    assert profile["role"] == role["name"]
    for template in graph.of("aws:ec2/launchTemplate:LaunchTemplate"):
        assert template.inputs["iamInstanceProfile"] == {"name": profile["name"]}


def test_a_bastion_reaches_hosts_by_ssh_and_nothing_else(run: Run) -> None:
    _, graph = run("pair")
    groups = {found.id: found.name for found in graph.of(GROUP)}
    found = [
        (rule.kind.rpartition("Group")[2], groups[inputs["securityGroupId"]],
         groups.get(inputs.get("referencedSecurityGroupId", ""), inputs.get("cidrIpv4")),
         inputs["ipProtocol"], inputs.get("fromPort"), inputs.get("toPort"))
        for rule in graph.resources if "SecurityGroup" in rule.kind and "Rule" in rule.kind
        for inputs in [rule.inputs]
    ]  # fmt: skip
    assert sorted(found, key=str) == sorted(
        [
            ("IngressRule", "hosts", "hosts", "-1", None, None),
            ("EgressRule", "hosts", "hosts", "-1", None, None),
            ("EgressRule", "hosts", "0.0.0.0/0", "tcp", 80, 80),
            ("EgressRule", "hosts", "0.0.0.0/0", "tcp", 443, 443),
            ("IngressRule", "bastion", "192.0.2.0/24", "tcp", 22, 22),
            ("EgressRule", "bastion", "hosts", "tcp", 22, 22),
            ("IngressRule", "hosts", "bastion", "tcp", 22, 22),
        ],
        key=str,
    )
    bastion = graph.one("aws:ec2/instance:Instance", "bastion").inputs
    assert [groups[group] for group in bastion["vpcSecurityGroupIds"]] == ["bastion"]
    key = graph.one("aws:ec2/keyPair:KeyPair")
    assert bastion["keyName"] == key.inputs["keyName"]
    address = graph.one("aws:ec2/eip:Eip", "bastion")
    assert address.inputs["instance"] == graph.one("aws:ec2/instance:Instance", "bastion").id
    assert graph.outputs["inventory"]["variables"]["replica_jump"] == address.outputs["publicIp"]


@all_examples
def test_instances_are_bought_and_start_as_planned(base: str, run: Run) -> None:
    plan, graph = run(base)
    key = graph.one("aws:ec2/keyPair:KeyPair").inputs
    assert key["publicKey"] == plan.intent.access.public_key
    for host in plan.hosts:
        template = graph.one("aws:ec2/launchTemplate:LaunchTemplate", host.name)
        inputs = template.inputs
        assert inputs["keyName"] == key["keyName"]
        assert inputs["metadataOptions"]["instanceMetadataTags"] == "enabled"
        assert inputs["metadataOptions"]["httpEndpoint"] == "enabled"
        on_demand = host.market == "on-demand"
        power_off = "stop" if on_demand else "terminate"
        assert inputs["instanceInitiatedShutdownBehavior"] == power_off
        options = inputs.get("instanceMarketOptions", {})
        spot = {"spotInstanceType": "one-time", "instanceInterruptionBehavior": "terminate"}
        assert options.get("spotOptions") == (spot if host.market == "spot" else None)
        (disk,) = inputs["blockDeviceMappings"]
        assert (disk["ebs"]["volumeSize"], disk["ebs"]["volumeType"]) == (100, "gp3")
        for interface in inputs["networkInterfaces"]:
            assert interface["deleteOnTermination"] == "true"
        started = graph.one("aws:ec2/instance:Instance", host.name).inputs
        assert started["launchTemplate"] == {"id": template.id, "version": "1"}
    for group in graph.of("aws:ec2/placementGroup:PlacementGroup"):
        assert group.inputs["strategy"] == "cluster"
    for instance in graph.of("aws:ec2/instance:Instance"):
        if instance.name == "bastion":
            inputs = instance.inputs
            assert inputs["metadataOptions"]["instanceMetadataTags"] == "enabled"
            assert inputs["instanceInitiatedShutdownBehavior"] == "stop"
            assert (inputs["ami"], inputs["instanceType"]) == ("ami-0123456789abcdef0", "t3.micro")
            disk = inputs["rootBlockDevice"]
            assert (disk["volumeSize"], disk["volumeType"]) == (100, "gp3")
    assert graph.one("aws:budgets/budget:Budget").inputs["timeUnit"] == "DAILY"
    assert graph.one("aws:budgets/budget:Budget").inputs["budgetType"] == "COST"
