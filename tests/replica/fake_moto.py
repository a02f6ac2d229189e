"""AWS as moto's server has it: each resource is made by the calls that the provider would make.

moto knows no placement groups, capacity reservations, cards of an interface or EFA: those are kept
here, and so are the rules it does not check.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import boto3
from tests.replica.fake_moto_calls import CREATE, DELETE, REGION
from tests.replica.fake_moto_network import Made, tags_of


class FakeMoto:
    """Creates and deletes through boto3, at an endpoint of moto's."""

    def __init__(self, endpoint: str) -> None:
        keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}

        def client(name: str) -> Any:
            return boto3.client(name, endpoint_url=endpoint, region_name=REGION, **keys)

        self.ec2: Any = client("ec2")
        self.iam: Any = client("iam")
        self.route53: Any = client("route53")
        self.sns: Any = client("sns")
        self.budgets: Any = client("budgets")
        self.cloudwatch: Any = client("cloudwatch")
        self.scheduler: Any = client("scheduler")
        self.sqs: Any = client("sqs")
        self.ssm: Any = client("ssm")
        self.events: Any = client("events")
        self.groups: set[str] = set()
        """Placement groups."""
        self.templates: dict[str, Mapping[str, Any]] = {}
        self.interfaces: dict[str, list[Mapping[str, Any]]] = {}
        """By instance: what its template asks for, cards and EFA included."""
        self.fail_at: tuple[str, int] | None = None
        """Type, and how many of it are made before its creation fails."""
        self.made: Counter[str] = Counter()

    def create(self, kind: str, name: str, inputs: Mapping[str, Any]) -> Made:
        if self.fail_at is not None and (kind, self.made[kind]) == self.fail_at:
            raise RuntimeError(f"{name}: InsufficientInstanceCapacity")
        self.made[kind] += 1
        return CREATE[kind](self, name, inputs)

    def delete(self, kind: str, identity: str, outputs: Mapping[str, Any]) -> None:
        DELETE[kind](self, identity, outputs)

    def call(self, token: str, args: Mapping[str, Any]) -> dict[str, Any]:
        if token == "aws:ec2/getManagedPrefixList:getManagedPrefixList":
            named = [{"Name": "prefix-list-name", "Values": [args["name"]]}]
            (found,) = self.ec2.describe_managed_prefix_lists(Filters=named)["PrefixLists"]
            return {"id": found["PrefixListId"]}
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
            TagSpecifications=tags_of(inputs, "launch-template"),
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
            if (options := template.get("instanceMarketOptions")) is not None:
                wanted["InstanceMarketOptions"] = {"MarketType": options["marketType"]}
        made = self.ec2.run_instances(
            MinCount=1,
            MaxCount=1,
            TagSpecifications=tags_of(inputs, "instance"),
            **wanted,
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
        elif "prefixListId" in inputs:
            permission["PrefixListIds"] = [{"PrefixListId": inputs["prefixListId"]}]
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
            TagSpecifications=tags_of(inputs, "security-group"),
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
