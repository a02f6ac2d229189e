"""AWS as moto's server has it: each resource is made by the calls that the provider would make.

moto knows no placement groups, capacity reservations, cards of an interface or EFA: those are kept
here, and so are the rules it does not check.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import boto3

REGION = "us-east-1"
Made = tuple[str, dict[str, Any]]


def _tags(inputs: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    tags = [{"Key": key, "Value": value} for key, value in inputs.get("tags", {}).items()]
    return [{"ResourceType": kind, "Tags": tags}]


class FakeMoto:
    """Creates and deletes through boto3, at an endpoint of moto's."""

    def __init__(self, endpoint: str) -> None:
        keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}

        def client(name: str) -> Any:
            return boto3.client(name, endpoint_url=endpoint, region_name=REGION, **keys)

        self.ec2, self.iam, self.route53 = client("ec2"), client("iam"), client("route53")
        self.sns, self.budgets = client("sns"), client("budgets")
        self.cloudwatch, self.scheduler = client("cloudwatch"), client("scheduler")
        self.groups: set[str] = set()
        """Placement groups."""
        self.templates: dict[str, Mapping[str, Any]] = {}
        self.interfaces: dict[str, list[Mapping[str, Any]]] = {}
        """By instance: what its template asks for, cards and EFA included."""
        self.fail_at: str | None = None
        """Type whose creation fails."""

    def create(self, kind: str, name: str, inputs: Mapping[str, Any]) -> Made:
        if kind == self.fail_at:
            raise RuntimeError(f"{name}: InsufficientInstanceCapacity")
        return CREATE[kind](self, name, inputs)

    def delete(self, kind: str, identity: str, outputs: Mapping[str, Any]) -> None:
        DELETE[kind](self, identity, outputs)

    def call(self, token: str, args: Mapping[str, Any]) -> dict[str, Any]:
        assert token == "aws:ec2/getAmi:getAmi"
        filters = [{"Name": f["name"], "Values": f["values"]} for f in args["filters"]]
        owners = args.get("owners") or []
        (found,) = self.ec2.describe_images(Owners=owners, Filters=filters)["Images"]
        return {"id": found["ImageId"], "rootDeviceName": found["RootDeviceName"]}

    def template(self, name: str, inputs: Mapping[str, Any]) -> Made:
        group = inputs["placement"].get("groupName")
        assert group is None or group in self.groups, f"{name}: no placement group {group}"
        made = self.ec2.create_launch_template(
            LaunchTemplateName=inputs["name"],
            LaunchTemplateData={
                "ImageId": inputs["imageId"],
                "InstanceType": inputs["instanceType"],
                "KeyName": inputs["keyName"],
                "UserData": inputs["userData"],
                "MetadataOptions": {"HttpTokens": inputs["metadataOptions"]["httpTokens"]},
            },
            TagSpecifications=_tags(inputs, "launch-template"),
        )["LaunchTemplate"]
        self.templates[made["LaunchTemplateId"]] = inputs
        return made["LaunchTemplateId"], {"latestVersion": 1}

    def instance(self, name: str, inputs: Mapping[str, Any]) -> Made:
        if "launchTemplate" not in inputs:
            wanted: dict[str, Any] = {
                "ImageId": inputs["ami"],
                "InstanceType": inputs["instanceType"],
                "KeyName": inputs["keyName"],
                "SubnetId": inputs["subnetId"],
                "SecurityGroupIds": inputs["vpcSecurityGroupIds"],
            }
            interfaces: list[Mapping[str, Any]] = []
        else:
            template = self.templates[inputs["launchTemplate"]["id"]]
            interfaces = template["networkInterfaces"]
            wanted = {
                "ImageId": template["imageId"],
                "InstanceType": template["instanceType"],
                "KeyName": template["keyName"],
                "NetworkInterfaces": [_interface(found) for found in interfaces],
                "Placement": {"AvailabilityZone": template["placement"]["availabilityZone"]},
            }
        made = self.ec2.run_instances(
            MinCount=1, MaxCount=1, TagSpecifications=_tags(inputs, "instance"), **wanted
        )["Instances"][0]
        self.interfaces[made["InstanceId"]] = interfaces
        return made["InstanceId"], {"arn": made["InstanceId"]}

    def terminate(self, identity: str) -> None:
        filters = [{"Name": "attachment.instance-id", "Values": [identity]}]
        attached = self.ec2.describe_network_interfaces(Filters=filters)["NetworkInterfaces"]
        self.ec2.terminate_instances(InstanceIds=[identity])
        # moto keeps what AWS deletes because the template says so.
        if all(found["deleteOnTermination"] == "true" for found in self.interfaces.pop(identity)):
            left = self.ec2.describe_network_interfaces()["NetworkInterfaces"]
            for found in {i["NetworkInterfaceId"] for i in attached} & {
                i["NetworkInterfaceId"] for i in left
            }:
                self.ec2.delete_network_interface(NetworkInterfaceId=found)

    def rule(self, way: str, inputs: Mapping[str, Any]) -> Made:
        permission: dict[str, Any] = {"IpProtocol": inputs["ipProtocol"]}
        if "fromPort" in inputs:
            permission |= {"FromPort": inputs["fromPort"], "ToPort": inputs["toPort"]}
        if "cidrIpv4" in inputs:
            permission["IpRanges"] = [{"CidrIp": inputs["cidrIpv4"]}]
        else:
            permission["UserIdGroupPairs"] = [{"GroupId": inputs["referencedSecurityGroupId"]}]
        authorize = getattr(self.ec2, f"authorize_security_group_{way}")
        made = authorize(GroupId=inputs["securityGroupId"], IpPermissions=[permission])
        return made["SecurityGroupRules"][0]["SecurityGroupRuleId"], {}

    def revoke(self, way: str, identity: str, outputs: Mapping[str, Any]) -> None:
        revoke = getattr(self.ec2, f"revoke_security_group_{way}")
        revoke(GroupId=outputs["securityGroupId"], SecurityGroupRuleIds=[identity])

    def security_group(self, inputs: Mapping[str, Any]) -> Made:
        made = self.ec2.create_security_group(
            GroupName=inputs["name"],
            Description=inputs["description"],
            VpcId=inputs["vpcId"],
            TagSpecifications=_tags(inputs, "security-group"),
        )["GroupId"]
        # As the provider does: a group begins with no rule at all.
        group = self.ec2.describe_security_groups(GroupIds=[made])["SecurityGroups"][0]
        self.ec2.revoke_security_group_egress(
            GroupId=made, IpPermissions=group["IpPermissionsEgress"]
        )
        return made, {}

    def unused_group(self, inputs: Mapping[str, Any]) -> Made:
        filters = [
            {"Name": "vpc-id", "Values": [inputs["vpcId"]]},
            {"Name": "group-name", "Values": ["default"]},
        ]
        (group,) = self.ec2.describe_security_groups(Filters=filters)["SecurityGroups"]
        for way, key in (("egress", "IpPermissionsEgress"), ("ingress", "IpPermissions")):
            if group[key]:
                revoke = getattr(self.ec2, f"revoke_security_group_{way}")
                revoke(GroupId=group["GroupId"], IpPermissions=group[key])
        return group["GroupId"], {}

    def record(self, action: str, inputs: Mapping[str, Any]) -> Made:
        records = [{"Value": value} for value in inputs["records"]]
        change = {
            "Action": action,
            "ResourceRecordSet": {
                "Name": inputs["name"],
                "Type": inputs["type"],
                "TTL": int(inputs["ttl"]),
                "ResourceRecords": records,
            },
        }
        self.route53.change_resource_record_sets(
            HostedZoneId=inputs["zoneId"], ChangeBatch={"Changes": [change]}
        )
        return inputs["name"], {}


def _interface(found: Mapping[str, Any]) -> dict[str, Any]:
    wanted = {
        "DeviceIndex": int(found["deviceIndex"]),
        "NetworkCardIndex": int(found["networkCardIndex"]),
        "InterfaceType": found["interfaceType"],
        "SubnetId": found["subnetId"],
        "Groups": found["securityGroups"],
        "DeleteOnTermination": True,
    }
    if "privateIpAddress" in found:
        wanted["PrivateIpAddress"] = found["privateIpAddress"]
    return wanted


Create = Callable[[FakeMoto, str, Mapping[str, Any]], Made]
Delete = Callable[[FakeMoto, str, Mapping[str, Any]], object]


def _vpc(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    made = moto.ec2.create_vpc(
        CidrBlock=inputs["cidrBlock"], TagSpecifications=_tags(inputs, "vpc")
    )["Vpc"]["VpcId"]
    moto.ec2.modify_vpc_attribute(VpcId=made, EnableDnsHostnames={"Value": True})
    return made, {}


def _subnet(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    made = moto.ec2.create_subnet(
        VpcId=inputs["vpcId"],
        CidrBlock=inputs["cidrBlock"],
        AvailabilityZone=inputs["availabilityZone"],
        TagSpecifications=_tags(inputs, "subnet"),
    )
    return made["Subnet"]["SubnetId"], {}


def _table(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    made = moto.ec2.create_route_table(
        VpcId=inputs["vpcId"], TagSpecifications=_tags(inputs, "route-table")
    )
    return made["RouteTable"]["RouteTableId"], {}


def _associate(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    made = moto.ec2.associate_route_table(
        RouteTableId=inputs["routeTableId"], SubnetId=inputs["subnetId"]
    )
    return made["AssociationId"], {}


def _gateway(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    made = moto.ec2.create_internet_gateway(TagSpecifications=_tags(inputs, "internet-gateway"))
    identity = made["InternetGateway"]["InternetGatewayId"]
    moto.ec2.attach_internet_gateway(InternetGatewayId=identity, VpcId=inputs["vpcId"])
    return identity, {}


def _no_gateway(moto: FakeMoto, identity: str, outputs: Mapping[str, Any]) -> None:
    moto.ec2.detach_internet_gateway(InternetGatewayId=identity, VpcId=outputs["vpcId"])
    moto.ec2.delete_internet_gateway(InternetGatewayId=identity)


def _route(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    ways = {"gatewayId": "GatewayId", "natGatewayId": "NatGatewayId"}
    moto.ec2.create_route(
        RouteTableId=inputs["routeTableId"],
        DestinationCidrBlock=inputs["destinationCidrBlock"],
        **{ways[key]: value for key, value in inputs.items() if key in ways},
    )
    return f"{inputs['routeTableId']}-{inputs['destinationCidrBlock']}", {}


def _eip(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    made = moto.ec2.allocate_address(Domain="vpc", TagSpecifications=_tags(inputs, "elastic-ip"))
    if "instance" in inputs:
        moto.ec2.associate_address(AllocationId=made["AllocationId"], InstanceId=inputs["instance"])
    return made["AllocationId"], {"publicIp": made["PublicIp"]}


def _no_eip(moto: FakeMoto, identity: str, outputs: Mapping[str, Any]) -> None:
    (found,) = moto.ec2.describe_addresses(AllocationIds=[identity])["Addresses"]
    if "AssociationId" in found:
        moto.ec2.disassociate_address(AssociationId=found["AssociationId"])
    moto.ec2.release_address(AllocationId=identity)


def _nat(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    made = moto.ec2.create_nat_gateway(
        AllocationId=inputs["allocationId"], SubnetId=inputs["subnetId"]
    )
    return made["NatGateway"]["NatGatewayId"], {}


def _no_nat(moto: FakeMoto, identity: str, outputs: Mapping[str, Any]) -> None:
    found = moto.ec2.describe_nat_gateways(NatGatewayIds=[identity])["NatGateways"][0]
    moto.ec2.delete_nat_gateway(NatGatewayId=identity)
    for address in found["NatGatewayAddresses"]:  # AWS removes it with its gateway, moto does not
        moto.ec2.delete_network_interface(NetworkInterfaceId=address["NetworkInterfaceId"])


def _endpoint(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    more = {"routeTableIds": "RouteTableIds", "subnetIds": "SubnetIds"}
    more |= {"securityGroupIds": "SecurityGroupIds"}
    made = moto.ec2.create_vpc_endpoint(
        VpcId=inputs["vpcId"],
        ServiceName=inputs["serviceName"],
        VpcEndpointType=inputs["vpcEndpointType"],
        TagSpecifications=_tags(inputs, "vpc-endpoint"),
        **{more[key]: value for key, value in inputs.items() if key in more},
    )
    return made["VpcEndpoint"]["VpcEndpointId"], {}


def _key(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    moto.ec2.import_key_pair(
        KeyName=inputs["keyName"],
        PublicKeyMaterial=inputs["publicKey"].encode(),
        TagSpecifications=_tags(inputs, "key-pair"),
    )
    return inputs["keyName"], {}


def _placement_group(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    assert inputs["name"] not in moto.groups
    assert inputs["strategy"] == "cluster"
    moto.groups.add(inputs["name"])
    return inputs["name"], {}


def _role(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    made = moto.iam.create_role(
        RoleName=inputs["name"], AssumeRolePolicyDocument=inputs["assumeRolePolicy"]
    )
    return inputs["name"], {"arn": made["Role"]["Arn"]}


def _policy(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    moto.iam.put_role_policy(
        RoleName=inputs["role"], PolicyName=name, PolicyDocument=inputs["policy"]
    )
    return name, {}


def _profile(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    moto.iam.create_instance_profile(InstanceProfileName=inputs["name"])
    moto.iam.add_role_to_instance_profile(
        InstanceProfileName=inputs["name"], RoleName=inputs["role"]
    )
    return inputs["name"], {}


def _no_profile(moto: FakeMoto, identity: str, outputs: Mapping[str, Any]) -> None:
    moto.iam.remove_role_from_instance_profile(
        InstanceProfileName=identity, RoleName=outputs["role"]
    )
    moto.iam.delete_instance_profile(InstanceProfileName=identity)


def _zone(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    made = moto.route53.create_hosted_zone(
        Name=inputs["name"],
        CallerReference=name,
        VPC={"VPCRegion": REGION, "VPCId": inputs["vpcs"][0]["vpcId"]},
        HostedZoneConfig={"PrivateZone": True, "Comment": inputs["comment"]},
    )
    identity = made["HostedZone"]["Id"].rpartition("/")[2]
    return identity, {"zoneId": identity}


def _topic(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    arn = moto.sns.create_topic(Name=inputs["name"])["TopicArn"]
    return arn, {"arn": arn}


def _subscription(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    made = moto.sns.subscribe(
        TopicArn=inputs["topic"], Protocol=inputs["protocol"], Endpoint=inputs["endpoint"]
    )
    return made["SubscriptionArn"], {}


def _topic_policy(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    moto.sns.set_topic_attributes(
        TopicArn=inputs["arn"], AttributeName="Policy", AttributeValue=inputs["policy"]
    )
    return inputs["arn"], {}


def _budget(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    moto.budgets.create_budget(
        AccountId="123456789012",
        Budget={
            "BudgetName": inputs["name"],
            "BudgetLimit": {"Amount": inputs["limitAmount"], "Unit": inputs["limitUnit"]},
            "TimeUnit": inputs["timeUnit"],
            "BudgetType": inputs["budgetType"],
        },
    )
    return inputs["name"], {}


def _alarm(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    dimensions = [{"Name": key, "Value": value} for key, value in inputs["dimensions"].items()]
    moto.cloudwatch.put_metric_alarm(
        AlarmName=inputs["name"],
        Namespace=inputs["namespace"],
        MetricName=inputs["metricName"],
        Statistic=inputs["statistic"],
        ComparisonOperator=inputs["comparisonOperator"],
        Threshold=inputs["threshold"],
        Period=int(inputs["period"]),
        EvaluationPeriods=int(inputs["evaluationPeriods"]),
        Dimensions=dimensions,
        AlarmActions=inputs["alarmActions"],
    )
    return inputs["name"], {}


def _schedule(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    target = inputs["target"]
    json.loads(target["input"])
    moto.scheduler.create_schedule(
        Name=inputs["name"],
        ScheduleExpression=inputs["scheduleExpression"],
        ScheduleExpressionTimezone=inputs["scheduleExpressionTimezone"],
        FlexibleTimeWindow={"Mode": inputs["flexibleTimeWindow"]["mode"]},
        Target={"Arn": target["arn"], "RoleArn": target["roleArn"], "Input": target["input"]},
    )
    return inputs["name"], {}


CREATE: Mapping[str, Create] = {
    "aws:budgets/budget:Budget": _budget,
    "aws:cloudwatch/metricAlarm:MetricAlarm": _alarm,
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": lambda m, n, i: m.unused_group(i),
    "aws:ec2/eip:Eip": _eip,
    "aws:ec2/instance:Instance": FakeMoto.instance,
    "aws:ec2/internetGateway:InternetGateway": _gateway,
    "aws:ec2/keyPair:KeyPair": _key,
    "aws:ec2/launchTemplate:LaunchTemplate": FakeMoto.template,
    "aws:ec2/natGateway:NatGateway": _nat,
    "aws:ec2/placementGroup:PlacementGroup": _placement_group,
    "aws:ec2/route:Route": _route,
    "aws:ec2/routeTable:RouteTable": _table,
    "aws:ec2/routeTableAssociation:RouteTableAssociation": _associate,
    "aws:ec2/securityGroup:SecurityGroup": lambda m, n, i: m.security_group(i),
    "aws:ec2/subnet:Subnet": _subnet,
    "aws:ec2/vpc:Vpc": _vpc,
    "aws:ec2/vpcEndpoint:VpcEndpoint": _endpoint,
    "aws:iam/instanceProfile:InstanceProfile": _profile,
    "aws:iam/role:Role": _role,
    "aws:iam/rolePolicy:RolePolicy": _policy,
    "aws:route53/record:Record": lambda m, n, i: m.record("CREATE", i),
    "aws:route53/zone:Zone": _zone,
    "aws:scheduler/schedule:Schedule": _schedule,
    "aws:sns/topic:Topic": _topic,
    "aws:sns/topicPolicy:TopicPolicy": _topic_policy,
    "aws:sns/topicSubscription:TopicSubscription": _subscription,
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": lambda m, n, i: m.rule("egress", i),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": lambda m, n, i: m.rule(
        "ingress", i
    ),
}
DELETE: Mapping[str, Delete] = {
    "aws:budgets/budget:Budget": lambda m, i, o: m.budgets.delete_budget(
        AccountId="123456789012", BudgetName=i
    ),
    "aws:cloudwatch/metricAlarm:MetricAlarm": lambda m, i, o: m.cloudwatch.delete_alarms(
        AlarmNames=[i]
    ),
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": lambda m, i, o: None,
    "aws:ec2/eip:Eip": _no_eip,
    "aws:ec2/instance:Instance": lambda m, i, o: m.terminate(i),
    "aws:ec2/internetGateway:InternetGateway": _no_gateway,
    "aws:ec2/keyPair:KeyPair": lambda m, i, o: m.ec2.delete_key_pair(KeyName=i),
    "aws:ec2/launchTemplate:LaunchTemplate": lambda m, i, o: m.ec2.delete_launch_template(
        LaunchTemplateId=i
    ),
    "aws:ec2/natGateway:NatGateway": _no_nat,
    "aws:ec2/placementGroup:PlacementGroup": lambda m, i, o: m.groups.remove(i),
    "aws:ec2/route:Route": lambda m, i, o: m.ec2.delete_route(
        RouteTableId=o["routeTableId"], DestinationCidrBlock=o["destinationCidrBlock"]
    ),
    "aws:ec2/routeTable:RouteTable": lambda m, i, o: m.ec2.delete_route_table(RouteTableId=i),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": lambda m, i, o: (
        m.ec2.disassociate_route_table(AssociationId=i)
    ),
    "aws:ec2/securityGroup:SecurityGroup": lambda m, i, o: m.ec2.delete_security_group(GroupId=i),
    "aws:ec2/subnet:Subnet": lambda m, i, o: m.ec2.delete_subnet(SubnetId=i),
    "aws:ec2/vpc:Vpc": lambda m, i, o: m.ec2.delete_vpc(VpcId=i),
    "aws:ec2/vpcEndpoint:VpcEndpoint": lambda m, i, o: m.ec2.delete_vpc_endpoints(
        VpcEndpointIds=[i]
    ),
    "aws:iam/instanceProfile:InstanceProfile": _no_profile,
    "aws:iam/role:Role": lambda m, i, o: m.iam.delete_role(RoleName=i),
    "aws:iam/rolePolicy:RolePolicy": lambda m, i, o: m.iam.delete_role_policy(
        RoleName=o["role"], PolicyName=i
    ),
    "aws:route53/record:Record": lambda m, i, o: m.record("DELETE", o),
    "aws:route53/zone:Zone": lambda m, i, o: m.route53.delete_hosted_zone(Id=i),
    "aws:scheduler/schedule:Schedule": lambda m, i, o: m.scheduler.delete_schedule(Name=i),
    "aws:sns/topic:Topic": lambda m, i, o: m.sns.delete_topic(TopicArn=i),
    "aws:sns/topicPolicy:TopicPolicy": lambda m, i, o: None,
    "aws:sns/topicSubscription:TopicSubscription": lambda m, i, o: m.sns.unsubscribe(
        SubscriptionArn=i
    ),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": lambda m, i, o: m.revoke(
        "egress", i, o
    ),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": lambda m, i, o: m.revoke(
        "ingress", i, o
    ),
}
