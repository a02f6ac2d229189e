"""The calls that make and remove a network, for `fake_moto`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from tests.replica.fake_moto import FakeMoto

Made: TypeAlias = tuple[str, dict[str, Any]]


def tags_of(inputs: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    """Return a resource's tags as EC2 takes them."""
    tags = [{"Key": key, "Value": value} for key, value in inputs.get("tags", {}).items()]
    return [{"ResourceType": kind, "Tags": tags}]


def vpc(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    made = moto.ec2.create_vpc(
        CidrBlock=inputs["cidrBlock"], TagSpecifications=tags_of(inputs, "vpc")
    )["Vpc"]["VpcId"]
    moto.ec2.modify_vpc_attribute(VpcId=made, EnableDnsHostnames={"Value": True})
    return made, {}


def subnet(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    made = moto.ec2.create_subnet(
        VpcId=inputs["vpcId"],
        CidrBlock=inputs["cidrBlock"],
        AvailabilityZone=inputs["availabilityZone"],
        TagSpecifications=tags_of(inputs, "subnet"),
    )
    return made["Subnet"]["SubnetId"], {}


def table(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    made = moto.ec2.create_route_table(
        VpcId=inputs["vpcId"], TagSpecifications=tags_of(inputs, "route-table")
    )
    return made["RouteTable"]["RouteTableId"], {}


def associate(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    made = moto.ec2.associate_route_table(
        RouteTableId=inputs["routeTableId"], SubnetId=inputs["subnetId"]
    )
    return made["AssociationId"], {}


def gateway(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    made = moto.ec2.create_internet_gateway(TagSpecifications=tags_of(inputs, "internet-gateway"))
    identity = made["InternetGateway"]["InternetGatewayId"]
    moto.ec2.attach_internet_gateway(InternetGatewayId=identity, VpcId=inputs["vpcId"])
    return identity, {}


def no_gateway(moto: FakeMoto, identity: str, outputs: Mapping[str, Any]) -> None:
    moto.ec2.detach_internet_gateway(InternetGatewayId=identity, VpcId=outputs["vpcId"])
    moto.ec2.delete_internet_gateway(InternetGatewayId=identity)


def route(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    ways = {"gatewayId": "GatewayId", "natGatewayId": "NatGatewayId"}
    moto.ec2.create_route(
        RouteTableId=inputs["routeTableId"],
        DestinationCidrBlock=inputs["destinationCidrBlock"],
        **{ways[key]: value for key, value in inputs.items() if key in ways},
    )
    return f"{inputs['routeTableId']}-{inputs['destinationCidrBlock']}", {}


def eip(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    made = moto.ec2.allocate_address(Domain="vpc", TagSpecifications=tags_of(inputs, "elastic-ip"))
    if "instance" in inputs:
        moto.ec2.associate_address(AllocationId=made["AllocationId"], InstanceId=inputs["instance"])
    return made["AllocationId"], {"publicIp": made["PublicIp"]}


def no_eip(moto: FakeMoto, identity: str, outputs: Mapping[str, Any]) -> None:
    (found,) = moto.ec2.describe_addresses(AllocationIds=[identity])["Addresses"]
    if "AssociationId" in found:
        moto.ec2.disassociate_address(AssociationId=found["AssociationId"])
    moto.ec2.release_address(AllocationId=identity)


def nat(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    made = moto.ec2.create_nat_gateway(
        AllocationId=inputs["allocationId"], SubnetId=inputs["subnetId"]
    )
    return made["NatGateway"]["NatGatewayId"], {}


def no_nat(moto: FakeMoto, identity: str, outputs: Mapping[str, Any]) -> None:
    found = moto.ec2.describe_nat_gateways(NatGatewayIds=[identity])["NatGateways"][0]
    moto.ec2.delete_nat_gateway(NatGatewayId=identity)
    for address in found["NatGatewayAddresses"]:  # AWS removes it with its gateway, moto does not
        moto.ec2.delete_network_interface(NetworkInterfaceId=address["NetworkInterfaceId"])


def endpoint(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    more = {"routeTableIds": "RouteTableIds", "subnetIds": "SubnetIds"}
    more |= {"securityGroupIds": "SecurityGroupIds"}
    made = moto.ec2.create_vpc_endpoint(
        VpcId=inputs["vpcId"],
        ServiceName=inputs["serviceName"],
        VpcEndpointType=inputs["vpcEndpointType"],
        TagSpecifications=tags_of(inputs, "vpc-endpoint"),
        **{more[key]: value for key, value in inputs.items() if key in more},
    )
    return made["VpcEndpoint"]["VpcEndpointId"], {}
