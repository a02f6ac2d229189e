"""The bastion that people and Ansible come through: the only host with a public address."""

from __future__ import annotations

from pulumi import ComponentResource, Output, ResourceOptions
from pulumi_azure_native import network as net

from infra.azure.home import Home
from infra.azure.machine import Frame, Start, machine
from infra.azure.network import public_address
from infra.parts import Ground
from infra.tags import named, tags


class Bastion(ComponentResource):
    """The way in."""

    id: Output[str]
    address: Output[str]

    def __init__(self, home: Home, ground: Ground, opts: ResourceOptions) -> None:
        """Declare the bastion of a plan."""
        super().__init__("fireflyer:replica:Bastion", named(ground.plan, "bastion"), None, opts)
        plan, child = ground.plan, ResourceOptions(parent=self)
        assert plan.bastion is not None
        assert ground.security.bastion is not None
        address = public_address("bastion", home, plan, child)
        interface = net.NetworkInterface(
            named(ground.plan, "bastion"),
            network_interface_name="bastion",
            resource_group_name=home.name,
            location=home.location,
            ip_configurations=[
                {
                    "name": "main",
                    "primary": True,
                    "private_ip_allocation_method": "Dynamic",
                    "subnet": {"id": ground.network.subnets["public"]},
                    "public_ip_address": {"id": address.id},
                }
            ],
            network_security_group={"id": ground.security.bastion},
            tags=tags(plan, "bastion"),
            opts=child,
        )
        self.id = machine(
            Frame(home=home, ground=ground, parent=self),
            "bastion",
            plan.bastion.type,
            [interface.id],
            Start(),
        )
        self.address = address.ip_address.apply(lambda found: found or "")
        self.register_outputs({"address": self.address})
