"""AWS out of the air: every resource gets an id, and the outputs that the program reads."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Mapping
from typing import Any

PREFIXES = {
    "aws:budgets/budget:Budget": "budget",
    "aws:cloudwatch/eventRule:EventRule": "rule",
    "aws:cloudwatch/eventTarget:EventTarget": "target",
    "aws:cloudwatch/metricAlarm:MetricAlarm": "alarm",
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": "sg",
    "aws:ec2/eip:Eip": "eipalloc",
    "aws:ec2/instance:Instance": "i",
    "aws:ec2/internetGateway:InternetGateway": "igw",
    "aws:ec2/keyPair:KeyPair": "key",
    "aws:ec2/launchTemplate:LaunchTemplate": "lt",
    "aws:ec2/natGateway:NatGateway": "nat",
    "aws:ec2/placementGroup:PlacementGroup": "pg",
    "aws:ec2/route:Route": "r",
    "aws:ec2/routeTable:RouteTable": "rtb",
    "aws:ec2/routeTableAssociation:RouteTableAssociation": "rtbassoc",
    "aws:ec2/securityGroup:SecurityGroup": "sg",
    "aws:ec2/subnet:Subnet": "subnet",
    "aws:ec2/vpc:Vpc": "vpc",
    "aws:ec2/vpcEndpoint:VpcEndpoint": "vpce",
    "aws:iam/instanceProfile:InstanceProfile": "profile",
    "aws:iam/role:Role": "role",
    "aws:iam/rolePolicy:RolePolicy": "policy",
    "aws:route53/record:Record": "record",
    "aws:route53/zone:Zone": "Z",
    "aws:scheduler/schedule:Schedule": "schedule",
    "aws:sns/topic:Topic": "topic",
    "aws:sns/topicPolicy:TopicPolicy": "topicpolicy",
    "aws:sns/topicSubscription:TopicSubscription": "subscription",
    "aws:sqs/queue:Queue": "queue",
    "aws:sqs/queuePolicy:QueuePolicy": "queuepolicy",
    "aws:ssm/document:Document": "document",
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": "sgr",
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": "sgr",
}
ACCOUNT = "123456789012"


class FakeAws:
    """Ids and outputs. An unknown type or question is a KeyError."""

    def __init__(self) -> None:
        self.made: Counter[str] = Counter()

    def create(self, kind: str, name: str, inputs: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        prefix = PREFIXES[kind]
        self.made[prefix] += 1
        # Of its name and not of its turn: resources are declared by several threads.
        identity = f"{prefix}-{zlib.crc32(f'{kind} {name}'.encode()):08x}"
        outputs: dict[str, Any] = {"arn": f"arn:aws:fake:us-east-1:{ACCOUNT}:{identity}"}
        if prefix == "lt":
            outputs["latestVersion"] = 1
        elif prefix == "Z":
            outputs["zoneId"] = identity
        elif prefix == "queue":
            outputs["url"] = f"https://sqs.fake/{ACCOUNT}/{inputs['name']}"
        elif prefix == "eipalloc":
            outputs["publicIp"] = f"203.0.113.{zlib.crc32(name.encode()) % 256}"
        return identity, outputs

    def call(self, token: str, args: Mapping[str, Any]) -> dict[str, Any]:
        if token == "aws:ec2/getManagedPrefixList:getManagedPrefixList":
            return {"id": f"pl-of-{args['name']}"}
        found = {"id": "ami-0123456789abcdef0", "rootDeviceName": "/dev/xvda"}
        for wanted in args["filters"]:
            if wanted["name"] == "image-id":
                found["id"] = wanted["values"][0]
        return {"aws:ec2/getAmi:getAmi": found}[token]

    def delete(self, kind: str, identity: str, outputs: Mapping[str, Any]) -> None:
        self.made[PREFIXES[kind]] -= 1
