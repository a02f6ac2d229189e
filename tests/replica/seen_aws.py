"""What a program declared on AWS."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.replica.fake_engine import UNKNOWN, Graph
from tests.replica.seen import Machine, Seen

INSTANCE = "aws:ec2/instance:Instance"


def seen(graph: Graph) -> Seen:
    """Return what stands after a program."""
    groups = {g.id: g.name for g in graph.of("aws:ec2/securityGroup:SecurityGroup")}
    ids = {found.id: found.name for found in graph.of(INSTANCE)}
    schedule = graph.one("aws:scheduler/schedule:Schedule").inputs
    inbound = graph.of("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule")
    rules = [rule.inputs for rule in inbound if "cidrIpv4" in rule.inputs]
    return Seen(
        machines=dict(_machines(graph)),
        subnets={s.name: s.inputs["cidrBlock"] for s in graph.of("aws:ec2/subnet:Subnet")},
        names={
            r.inputs["name"]: tuple(r.inputs["records"])
            for r in graph.of("aws:route53/record:Record")
        },
        let_in={
            # In a preview nothing has an id; the bastion is the only one that may be meant.
            (groups.get(r["securityGroupId"], "bastion"), int(r["toPort"]), r["cidrIpv4"])
            for r in rules
        },
        public={
            ids.get(found.inputs["instance"], "bastion")
            for found in graph.of("aws:ec2/eip:Eip")
            if "instance" in found.inputs
        },
        ended=_ended(graph),
        ends_at=schedule["startDate"],
        alarms={
            found.name
            for found in graph.of("aws:cloudwatch/metricAlarm:MetricAlarm")
            if found.inputs["namespace"] == "AWS/EC2"
        },
        lasting={
            found.urn: {key: value for key, value in found.inputs.items() if key != "tags"}
            for found in graph.of("aws:ec2/launchTemplate:LaunchTemplate")
        },
    )


def _ended(graph: Graph) -> set[str]:
    """Return the instances that have the tag which the runbook looks for."""
    content = graph.one("aws:ssm/document:Document").inputs["content"]
    if content == UNKNOWN:
        return set()
    (step,) = json.loads(content)["mainSteps"]
    wanted = step["inputs"]["InputPayload"]
    tags = {found.name: found.inputs["tags"] for found in graph.of(INSTANCE)}
    return {name for name, of in tags.items() if of.get(wanted["Tag"]) == wanted["Replica"]}


def _machines(graph: Graph) -> Mapping[str, Machine]:
    subnets = {found.id: found.name for found in graph.of("aws:ec2/subnet:Subnet") if found.id}
    made = {}
    for found in graph.of("aws:ec2/launchTemplate:LaunchTemplate"):
        inputs = found.inputs
        feet = [f for f in inputs["networkInterfaces"] if "privateIpAddress" in f]
        market = inputs.get("instanceMarketOptions", {}).get("marketType", "on-demand")
        disks = [disk["ebs"] for disk in inputs["blockDeviceMappings"]]
        made[found.name] = Machine(
            type=inputs["instanceType"],
            market=market,
            addresses=tuple(foot["privateIpAddress"] for foot in feet),
            subnets=tuple(subnets[f["subnetId"]] for f in feet if f["subnetId"] in subnets),
            group=inputs["placement"].get("groupName"),
            encrypted=all(disk["encrypted"] == "true" for disk in disks),
            disk_goes=all(disk["deleteOnTermination"] == "true" for disk in disks),
            user_data=inputs["userData"],
        )
    for found in graph.of(INSTANCE):
        if found.name == "bastion":
            disk: Any = found.inputs["rootBlockDevice"]
            made["bastion"] = Machine(
                type=found.inputs["instanceType"],
                market="on-demand",
                addresses=(),
                subnets=tuple(filter(None, [subnets.get(found.inputs["subnetId"])])),
                group=None,
                encrypted=disk["encrypted"] is True,
                disk_goes=disk["deleteOnTermination"] is True,
                user_data=found.inputs["userDataBase64"],
            )
    return made
