"""Laws over everything a replica's program declares. No assertion hides in an apply."""

from __future__ import annotations

import base64
import inspect
import json
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
import yaml
from tests.replica.conftest import MAIL, Run
from tests.replica.fake_engine import SECRET, Declared, Graph
from tests.stacks import EXAMPLES

from fireflyer.render.replica_routes import routes_unit

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
all_examples = pytest.mark.parametrize("base", EXAMPLES)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every plain value inside inputs, with the way to it; JSON text is opened."""
    if isinstance(value, str) and value[:1] in "{[" and value[:1]:
        value = json.loads(value)
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item, path)
    else:
        yield path, value


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
    assert [rule["cidrIpv4"] for rule in rules] == cidrs
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


@all_examples
def test_a_host_starts_with_its_name_and_the_ways_its_answers_take(base: str, run: Run) -> None:
    plan, graph = run(base)
    for host in plan.hosts:
        text = base64.b64decode(graph.one(TEMPLATE, host.name).inputs["userData"]).decode()
        assert text.startswith("#cloud-config\n")
        told = yaml.safe_load(text)
        assert (told["hostname"], told["fqdn"]) == (host.name, f"{host.name}.{plan.domain}")
        assert told["manage_etc_hosts"] is False
        unit = routes_unit(plan, host)
        assert [file["content"] for file in told.get("write_files", [])] == ([unit] if unit else [])
        assert ("runcmd" in told) is (unit is not None)


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


def test_the_group_that_a_vpc_comes_with_lets_nothing_through(run: Run) -> None:
    _, graph = run("pair")
    unused = graph.one("aws:ec2/defaultSecurityGroup:DefaultSecurityGroup").inputs
    assert (unused["ingress"], unused["egress"]) == ([], [])


def takes_tags(found: Declared) -> bool:
    """Ask the SDK whether a resource takes tags."""
    package, module, name = found.kind.split(":")
    kind = getattr(import_module(f"pulumi_{package}.{module.split('/')[0]}"), name)
    return "tags" in inspect.signature(kind._internal_init).parameters


@both_ways
@all_examples
def test_whatever_takes_tags_has_an_owner_and_an_end(base: str, preview: bool, run: Run) -> None:
    plan, graph = run(base, preview=preview)
    tagged = [f for f in graph.resources if f.custom and "providers" not in f.kind]
    tagged = [found for found in tagged if takes_tags(found)]
    assert len(tagged) > len(plan.hosts)
    for found in tagged:
        tags = found.inputs["tags"]
        assert tags["owner"] == plan.intent.owner, found.urn
        assert tags["expires"] == plan.expires
        assert tags["fireflyer-site"] == plan.site
        assert tags["fireflyer-replica"] == f"{plan.site}-{plan.name}"
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


def test_a_later_end_replaces_no_instance(run: Run) -> None:
    """Another version of its template would; `replica-up` sets a later end whenever it runs."""
    before, after = (
        {
            found.name: {key: value for key, value in found.inputs.items() if key != "tags"}
            for found in run("pair", changes)[1].of(TEMPLATE)
        }
        for changes in ({}, {"expires": "2030-02-01T18:00:00Z"})
    )
    assert before == after


@both_ways
@all_examples
def test_everything_has_a_component_and_the_one_provider(
    base: str, preview: bool, run: Run
) -> None:
    _, graph = run(base, preview=preview)
    components = {found.urn for found in graph.resources if not found.custom}
    for found in graph.resources:
        if "providers" in found.kind:
            continue
        if found.kind != "fireflyer:replica:Replica":
            assert found.parent in components, found.urn
        if found.custom:
            assert "pulumi:providers:aws::aws::" in found.provider, found.urn


@all_examples
def test_a_preview_declares_what_is_made(base: str, run: Run) -> None:
    made = {found.urn for found in run(base)[1].resources}
    previewed = {found.urn for found in run(base, preview=True)[1].resources}
    assert previewed == made


@both_ways
def test_the_mail_address_is_a_secret_and_nowhere_else(preview: bool, run: Run) -> None:
    _, graph = run("pair", preview=preview)
    found = graph.one("aws:sns/topicSubscription:TopicSubscription").inputs["endpoint"]
    assert found == SECRET
    assert MAIL not in repr([r.inputs for r in graph.resources]) + repr(graph.outputs)


@all_examples
def test_no_role_may_do_more_than_it_needs(base: str, run: Run) -> None:
    _, graph = run(base)
    for policy in graph.of("aws:iam/rolePolicy:RolePolicy"):
        for statement in json.loads(policy.inputs["policy"])["Statement"]:
            assert all("*" not in action for action in statement["Action"])
            if policy.name == "stop":
                assert statement["Action"] == ["ec2:StopInstances", "ec2:TerminateInstances"]
                assert "aws:ResourceTag/fireflyer-replica" in statement["Condition"]["StringEquals"]
            else:
                assert {a.partition(":")[0] for a in statement["Action"]} == {"ssm", "ssmmessages"}


@all_examples
def test_at_the_end_every_instance_is_stopped_or_terminated(base: str, run: Run) -> None:
    plan, graph = run(base)
    ids = {found.name: found.id for found in graph.of(INSTANCE)}
    ended: dict[str, str] = {}
    for schedule in graph.of("aws:scheduler/schedule:Schedule"):
        assert schedule.inputs["scheduleExpression"] == "at(2030-01-31T18:00:00)"
        assert schedule.inputs["scheduleExpressionTimezone"] == "UTC"
        target = schedule.inputs["target"]
        for instance in json.loads(target["input"])["InstanceIds"]:
            assert instance not in ended
            ended[instance] = target["arn"].rpartition(":")[2]
    markets = {host.name: host.market for host in plan.hosts}
    assert set(ids) - set(markets) == ({"bastion"} if plan.bastion else set())
    assert ended == {
        instance: "stopInstances"
        if markets.get(name, "on-demand") == "on-demand"
        else "terminateInstances"
        for name, instance in ids.items()
    }


def test_no_expiry_no_replica(run: Run) -> None:
    with pytest.raises(Exception, match="the stack has no expiry, so nothing would stop it"):
        run("pair", {"expires": None})


@all_examples
def test_the_budget_is_the_ceiling_of_this_replica(base: str, run: Run) -> None:
    plan, graph = run(base)
    budget = graph.one("aws:budgets/budget:Budget").inputs
    assert budget["limitAmount"] == f"{plan.intent.usd_per_day_ceiling:.2f}"
    assert budget["costFilters"] == [
        {"name": "TagKeyValue", "values": [f"user:fireflyer-replica${plan.site}-{plan.name}"]}
    ]
    alarms = {alarm.inputs["dimensions"]["InstanceId"] for alarm in graph.of(ALARM)}
    assert alarms == {instance.id for instance in graph.of(INSTANCE)}
