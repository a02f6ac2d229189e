"""The network: a VPC, a subnet for each zone, for storage and for management, and ways out."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi_aws as aws
from pulumi import ComponentResource, Output, ResourceOptions

from fireflyer.model.replica_plan import ReplicaPlan
from infra.tags import identity, named, tags

EVERYWHERE = "0.0.0.0/0"


class Network(ComponentResource):
    """All subnets are in one availability zone: a storage node has a foot in every one."""

    id: Output[str]
    subnets: Mapping[str, Output[str]]

    def __init__(self, plan: ReplicaPlan, opts: ResourceOptions) -> None:
        """Declare the network of a plan."""
        super().__init__("fireflyer:replica:Network", named(plan, "network"), None, opts)
        self.plan, self.child = plan, ResourceOptions(parent=self)
        vpc = aws.ec2.Vpc(
            named(plan, "vpc"),
            cidr_block=str(plan.network),
            enable_dns_support=True,
            enable_dns_hostnames=True,
            tags=tags(plan, identity(plan)),
            opts=self.child,
        )
        self.id = vpc.id
        # The group that a VPC comes with lets everything through; without rules it lets nothing.
        aws.ec2.DefaultSecurityGroup(
            named(plan, "unused"), vpc_id=vpc.id, ingress=[], egress=[], tags=tags(plan, "unused"),
            opts=self.child,
        )  # fmt: skip
        self.subnets = {
            subnet.name: aws.ec2.Subnet(
                named(plan, subnet.name),
                vpc_id=vpc.id,
                cidr_block=str(subnet.network),
                availability_zone=plan.intent.zone,
                map_public_ip_on_launch=False,
                tags=tags(plan, f"{identity(plan)}-{subnet.name}"),
                opts=self.child,
            ).id
            for subnet in plan.subnets
        }
        private = self._table("private", [s.name for s in plan.subnets if s.kind != "public"])
        self._s3(private)
        if "public" in self.subnets:
            gateway = aws.ec2.InternetGateway(
                named(plan, "internet"), vpc_id=vpc.id, tags=tags(plan, "internet"), opts=self.child
            )
            public = self._table("public", ["public"])
            aws.ec2.Route(
                named(plan, "to-internet"),
                route_table_id=public,
                destination_cidr_block=EVERYWHERE,
                gateway_id=gateway.id,
                opts=self.child,
            )
            if plan.intent.network.egress == "nat":
                self._nat(private, gateway)
        self.register_outputs({"id": self.id})

    def _table(self, name: str, subnets: list[str]) -> Output[str]:
        table = aws.ec2.RouteTable(
            named(self.plan, name), vpc_id=self.id, tags=tags(self.plan, name), opts=self.child
        )
        for subnet in subnets:
            aws.ec2.RouteTableAssociation(
                named(self.plan, subnet),
                subnet_id=self.subnets[subnet],
                route_table_id=table.id,
                opts=self.child,
            )
        return table.id

    def _s3(self, table: Output[str]) -> None:
        """Object storage without a way out: packages and data sets may be mirrored there."""
        aws.ec2.VpcEndpoint(
            named(self.plan, "s3"),
            vpc_id=self.id,
            service_name=f"com.amazonaws.{self.plan.intent.region}.s3",
            vpc_endpoint_type="Gateway",
            route_table_ids=[table],
            tags=tags(self.plan, "s3"),
            opts=self.child,
        )

    def _nat(self, table: Output[str], gateway: aws.ec2.InternetGateway) -> None:
        """Let hosts fetch packages. The address is the translator's; no host has one."""
        address = aws.ec2.Eip(
            named(self.plan, "nat"),
            domain="vpc",
            tags=tags(self.plan, "nat"),
            opts=ResourceOptions(parent=self, depends_on=[gateway]),
        )
        nat = aws.ec2.NatGateway(
            named(self.plan, "nat"),
            allocation_id=address.id,
            subnet_id=self.subnets["public"],
            tags=tags(self.plan, "nat"),
            opts=self.child,
        )
        aws.ec2.Route(
            named(self.plan, "to-nat"),
            route_table_id=table,
            destination_cidr_block=EVERYWHERE,
            nat_gateway_id=nat.id,
            opts=self.child,
        )
