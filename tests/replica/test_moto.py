"""The same program against moto's server: what it holds equals the plan; destroy leaves nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.replica.fake_engine import FakeEngine, run_program
from tests.replica.fake_moto import FakeMoto
from tests.stacks import READY, make_stack

from fireflyer.design.replica import plan_replica
from fireflyer.load.replica import load_instances, load_replica
from fireflyer.model.replica_plan import ReplicaPlan

os.environ["MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION"] = "true"
os.environ["MOTO_ENABLE_AMI_VALIDATION"] = "true"
from moto.server import ThreadedMotoServer

IMAGE = "ami-999844e0"  # one that moto knows
Raised = tuple[ReplicaPlan, FakeEngine, FakeMoto]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """Return the address of a server of its own."""
    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(params=["smoke", "pair"], scope="module")
def raised(
    request: pytest.FixtureRequest, endpoint: str, tmp_path_factory: pytest.TempPathFactory
) -> Raised:
    """Return a replica that stands."""
    folder = tmp_path_factory.mktemp(request.param)
    changes = {**READY, "replica.image": {"id": IMAGE}}
    if request.param == "smoke":
        changes |= {"replica.access.kind": "session-manager", "replica.access.cidrs": []}
        changes |= {"replica.network": {"egress": "none"}}
    file = make_stack(folder / "stack", request.param, changes)
    moto = FakeMoto(endpoint)
    engine = run_program(file, moto, folder / "program", config={"alarm_email": "a@example.org"})
    return plan_replica(load_replica(file)), engine, moto


def of_replica(plan: ReplicaPlan) -> list[dict[str, Any]]:
    return [{"Name": "tag:fireflyer-replica", "Values": [f"{plan.site}-{plan.name}"]}]


def name_of(found: dict[str, Any]) -> str:
    return str(next(tag["Value"] for tag in found["Tags"] if tag["Key"] == "Name"))


def instances(plan: ReplicaPlan, moto: FakeMoto) -> dict[str, dict[str, Any]]:
    """Return the replica's instances that are not terminated, by name."""
    filters = [*of_replica(plan), {"Name": "instance-state-name", "Values": ["running"]}]
    found = moto.ec2.describe_instances(Filters=filters)["Reservations"]
    return {name_of(i): i for reservation in found for i in reservation["Instances"]}


def test_the_network_is_the_plans(raised: Raised) -> None:
    plan, _, moto = raised
    (vpc,) = moto.ec2.describe_vpcs(Filters=of_replica(plan))["Vpcs"]
    assert vpc["CidrBlock"] == str(plan.network)
    found = moto.ec2.describe_subnets(Filters=of_replica(plan))["Subnets"]
    assert {(name_of(s), s["CidrBlock"], s["AvailabilityZone"], s["VpcId"]) for s in found} == {
        (
            f"{plan.site}-{plan.name}-{subnet.name}",
            str(subnet.network),
            plan.intent.zone,
            vpc["VpcId"],
        )
        for subnet in plan.subnets
    }


def test_the_instances_are_the_plans(raised: Raised) -> None:
    plan, _, moto = raised
    found = instances(plan, moto)
    assert set(found) - {"bastion"} == {host.name for host in plan.hosts}
    assert ("bastion" in found) is (plan.bastion is not None)
    subnets = {
        s["SubnetId"]: name_of(s).removeprefix(f"{plan.site}-{plan.name}-")
        for s in moto.ec2.describe_subnets(Filters=of_replica(plan))["Subnets"]
    }
    for host in plan.hosts:
        instance = found[host.name]
        assert instance["InstanceType"] == host.instance.type
        assert instance["PrivateIpAddress"] == str(host.address)
        assert instance["Placement"]["AvailabilityZone"] == plan.intent.zone
        feet = {
            subnets[i["SubnetId"]]: i["PrivateIpAddress"]
            for i in instance["NetworkInterfaces"]
            if i["PrivateIpAddress"] in {str(a.address) for a in host.interfaces}
        }
        assert feet == {i.subnet: str(i.address) for i in host.interfaces if i.address}
        asked = moto.interfaces[instance["InstanceId"]]
        assert [(i["networkCardIndex"], i["deviceIndex"]) for i in asked] == [
            (i.card, i.device) for i in host.interfaces
        ]


def test_the_rules_are_those_that_were_asked_for(raised: Raised) -> None:
    plan, _, moto = raised
    groups = moto.ec2.describe_security_groups(Filters=of_replica(plan))["SecurityGroups"]
    by_name = {group["GroupName"]: group for group in groups}
    hosts = by_name[f"{plan.site}-{plan.name}-hosts"]
    own = [
        pair["GroupId"]
        for way in ("IpPermissions", "IpPermissionsEgress")
        for rule in hosts[way]
        if rule["IpProtocol"] == "-1"
        for pair in rule["UserIdGroupPairs"]
    ]
    assert own == [hosts["GroupId"]] * 2
    entering = [
        source["CidrIp"]
        for group in groups
        for rule in group["IpPermissions"]
        for source in rule["IpRanges"]
    ]
    assert entering == list(plan.intent.access.cidrs)
    (vpc,) = moto.ec2.describe_vpcs(Filters=of_replica(plan))["Vpcs"]
    filters = [
        {"Name": "vpc-id", "Values": [vpc["VpcId"]]},
        {"Name": "group-name", "Values": ["default"]},
    ]
    (unused,) = moto.ec2.describe_security_groups(Filters=filters)["SecurityGroups"]
    assert (unused["IpPermissions"], unused["IpPermissionsEgress"]) == ([], [])


def test_names_groups_and_the_end_are_there(raised: Raised) -> None:
    plan, engine, moto = raised
    assert moto.groups == set(plan.new_groups)
    zone = engine.graph.one("aws:route53/zone:Zone").id
    records = moto.route53.list_resource_record_sets(HostedZoneId=zone)["ResourceRecordSets"]
    found = {r["Name"].rstrip("."): r["ResourceRecords"][0]["Value"] for r in records}
    for host in plan.hosts:
        for name, address in host.names.items():
            assert found[f"{name}.{plan.domain}"] == str(address)
    schedules = moto.scheduler.list_schedules()["Schedules"]
    assert [s for s in schedules if s["Name"].startswith(f"{plan.site}-{plan.name}-")]


def test_the_exported_instances_are_those_that_run(raised: Raised) -> None:
    plan, engine, moto = raised
    found = instances(plan, moto)
    exported = engine.graph.outputs["inventory"]
    assert {name: values["replica_instance"] for name, values in exported["hosts"].items()} == {
        name: found[name]["InstanceId"] for name in exported["hosts"]
    }
    jump = exported["variables"]["replica_jump"]
    assert bool(jump) is (plan.bastion is not None)
    if jump:
        assert found["bastion"]["PublicIpAddress"] == jump


def left(moto: FakeMoto) -> dict[str, int]:
    """Count what an account has that is not there from the start."""
    ec2 = moto.ec2
    running = [
        instance
        for reservation in ec2.describe_instances()["Reservations"]
        for instance in reservation["Instances"]
        if instance["State"]["Name"] != "terminated"
    ]
    nats = ec2.describe_nat_gateways()["NatGateways"]
    return {
        "vpcs": len([v for v in ec2.describe_vpcs()["Vpcs"] if not v["IsDefault"]]),
        "subnets": len([s for s in ec2.describe_subnets()["Subnets"] if not s["DefaultForAz"]]),
        "instances": len(running),
        "interfaces": len(ec2.describe_network_interfaces()["NetworkInterfaces"]),
        "templates": len(ec2.describe_launch_templates()["LaunchTemplates"]),
        "addresses": len(ec2.describe_addresses()["Addresses"]),
        "translators": len([n for n in nats if n["State"] not in ("deleted", "deleting")]),
        "endpoints": len(
            [e for e in ec2.describe_vpc_endpoints()["VpcEndpoints"] if e["State"] != "deleted"]
        ),
        "gateways": len(ec2.describe_internet_gateways()["InternetGateways"]),
        "keys": len(ec2.describe_key_pairs()["KeyPairs"]),
        "groups": len(moto.groups),
        "roles": len(moto.iam.list_roles()["Roles"]),
        "profiles": len(moto.iam.list_instance_profiles()["InstanceProfiles"]),
        "zones": len(moto.route53.list_hosted_zones()["HostedZones"]),
        "topics": len(moto.sns.list_topics()["Topics"]),
        "alarms": len(moto.cloudwatch.describe_alarms()["MetricAlarms"]),
        "runbooks": len(own_runbooks(moto)),
        "queues": len(moto.sqs.list_queues().get("QueueUrls", [])),
        "rules": len(moto.events.list_rules()["Rules"]),
        "schedules": len(moto.scheduler.list_schedules()["Schedules"]),
        "budgets": len(moto.budgets.describe_budgets(AccountId="123456789012")["Budgets"]),
    }


def own_runbooks(moto: FakeMoto) -> list[Any]:
    filters = [{"Key": "Owner", "Values": ["Self"]}]
    return list(moto.ssm.list_documents(Filters=filters)["DocumentIdentifiers"])


@pytest.mark.parametrize(
    "fails", [None, ("aws:ec2/instance:Instance", 0)], ids=["whole", "half made"]
)
def test_destroy_leaves_nothing(
    fails: tuple[str, int] | None, endpoint: str, tmp_path: Path
) -> None:
    moto = FakeMoto(endpoint)
    before = left(moto)
    moto.fail_at = fails
    changes = {**READY, "replica.image": {"id": IMAGE}}
    file = make_stack(tmp_path / "stack", "pair", changes, name="gone")
    engine = FakeEngine(moto, preview=False)
    if fails is None:
        run_program(file, moto, tmp_path / "program", engine=engine)
    else:
        with pytest.raises(Exception, match="InsufficientInstanceCapacity"):
            run_program(file, moto, tmp_path / "program", engine=engine)
    assert left(moto) != before
    engine.destroy()
    assert left(moto) == before


@pytest.mark.parametrize("name", sorted(load_instances().of("aws")))
def test_the_catalogue_is_what_the_provider_says(name: str) -> None:
    """Moto has AWS's own description of every type: an oracle that is not ours."""
    from moto.ec2.models.instance_types import INSTANCE_TYPES

    ours, theirs = load_instances().of("aws")[name], INSTANCE_TYPES[name]
    network = theirs["NetworkInfo"]
    assert ours.vcpus == theirs["VCpuInfo"]["DefaultVCpus"]
    assert ours.memory_mb == theirs["MemoryInfo"]["SizeInMiB"]
    assert ours.network.cards == network["MaximumNetworkCards"]
    for card in network["NetworkCards"]:
        assert card["MaximumNetworkInterfaces"] == ours.network.interfaces_per_card
    assert ours.network.rdma_devices == (network.get("EfaInfo") or {}).get(
        "MaximumEfaInterfaces", 0
    )
    gpus = theirs.get("GpuInfo", {}).get("Gpus", [])
    assert (ours.gpus.count if ours.gpus else 0) == sum(gpu["Count"] for gpu in gpus)
    disks = theirs.get("InstanceStorageInfo", {}).get("Disks", [])
    assert ours.nvme.drives == sum(disk["Count"] for disk in disks)
    assert all(disk["SizeInGB"] == ours.nvme.drive_gb for disk in disks)
    assert set(ours.markets) == set(theirs["SupportedUsageClasses"])
    strategies = theirs["PlacementGroupInfo"]["SupportedStrategies"]
    assert ours.cluster_placement is ("cluster" in strategies)
