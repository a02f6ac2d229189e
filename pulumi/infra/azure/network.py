"""The network: a VNet, a subnet for each zone, for storage and for management, and a way out.

The subnets are part of the VNet's own declaration: made beside it they would be made at once, and
Azure changes one subnet of a network at a time.
"""

from __future__ import annotations

from collections.abc import Mapping

from pulumi import ComponentResource, Output, ResourceOptions
from pulumi_azure_native import network as net

from fireflyer.model.replica_plan import PlannedSubnet, ReplicaPlan
from infra.azure.home import Home
from infra.tags import identity, named, tags


class Network(ComponentResource):
    """All subnets are closed: what is not let out by the translator goes nowhere."""

    id: Output[str]
    subnets: Mapping[str, Output[str]]

    def __init__(self, home: Home, plan: ReplicaPlan, opts: ResourceOptions) -> None:
        """Declare the network of a plan."""
        super().__init__("fireflyer:replica:Network", named(plan, "network"), None, opts)
        self.home, self.plan, self.child = home, plan, ResourceOptions(parent=self)
        nat = self._nat() if plan.intent.network.egress == "nat" else None
        vnet = net.VirtualNetwork(
            named(plan, "vnet"),
            virtual_network_name=identity(plan),
            resource_group_name=home.name,
            location=home.location,
            address_space={"address_prefixes": [str(plan.network)]},
            subnets=[_subnet(subnet, nat) for subnet in plan.subnets],
            tags=tags(plan, identity(plan)),
            opts=self.child,
        )
        self.id = vnet.id
        self.subnets = {
            subnet.name: Output.concat(vnet.id, "/subnets/", subnet.name) for subnet in plan.subnets
        }
        self.register_outputs({"id": self.id})

    def _nat(self) -> Output[str]:
        """Let hosts fetch packages. The address is the translator's; no host has one."""
        address = public_address("nat", self.home, self.plan, self.child)
        return net.NatGateway(
            named(self.plan, "nat"),
            nat_gateway_name="nat",
            resource_group_name=self.home.name,
            location=self.home.location,
            public_ip_addresses=[{"id": address.id}],
            sku={"name": "Standard"},
            tags=tags(self.plan, "nat"),
            opts=self.child,
        ).id


def public_address(
    name: str, home: Home, plan: ReplicaPlan, opts: ResourceOptions
) -> net.PublicIPAddress:
    """Declare an address that stays."""
    return net.PublicIPAddress(
        named(plan, name),
        public_ip_address_name=name,
        resource_group_name=home.name,
        location=home.location,
        public_ip_allocation_method="Static",
        sku={"name": "Standard"},
        tags=tags(plan, name),
        opts=opts,
    )


def _subnet(subnet: PlannedSubnet, nat: Output[str] | None) -> net.SubnetArgs:
    closed = subnet.kind != "public"
    return net.SubnetArgs(
        name=subnet.name,
        address_prefix=str(subnet.network),
        default_outbound_access=False,
        # Object storage without a way out: packages and data sets may be mirrored there.
        service_endpoints=[{"service": "Microsoft.Storage"}] if closed else None,
        nat_gateway=net.NatGatewayArgs(id=nat) if nat is not None and closed else None,
    )
