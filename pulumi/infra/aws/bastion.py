"""The bastion that people and Ansible come through: the only host with a public address."""

from __future__ import annotations

import pulumi_aws as aws
from pulumi import ComponentResource, Output, ResourceOptions

from fireflyer.design.replica.price import DISK_GB
from infra.aws.instance import at_power_off
from infra.boot import user_data
from infra.parts import Ground
from infra.tags import named, tags


class Bastion(ComponentResource):
    """The way in."""

    id: Output[str]
    address: Output[str]

    def __init__(self, ground: Ground, opts: ResourceOptions) -> None:
        """Declare the bastion of a plan."""
        super().__init__("fireflyer:replica:Bastion", named(ground.plan, "bastion"), None, opts)
        plan, labels = ground.plan, tags(ground.plan, "bastion")
        assert plan.bastion is not None
        assert ground.security.bastion is not None
        self.id = aws.ec2.Instance(
            named(ground.plan, "bastion"),
            ami=ground.image.id,
            instance_type=plan.bastion.type,
            subnet_id=ground.network.subnets["public"],
            vpc_security_group_ids=[ground.security.bastion],
            key_name=ground.security.key,
            user_data_base64=user_data(plan, "bastion"),
            instance_initiated_shutdown_behavior=at_power_off("on-demand"),
            metadata_options={
                "http_endpoint": "enabled",
                "http_tokens": "required",
                "http_put_response_hop_limit": 1,
                "instance_metadata_tags": "enabled",
            },
            root_block_device={
                "encrypted": True,
                "delete_on_termination": True,
                "volume_size": DISK_GB,
                "volume_type": "gp3",
            },
            tags=labels,
            volume_tags=labels,
            opts=ground.after_end(self),
        ).id
        self.address = aws.ec2.Eip(
            named(ground.plan, "bastion"),
            domain="vpc",
            instance=self.id,
            tags=labels,
            # An address is refused as long as the network has no gateway.
            opts=ResourceOptions(parent=self, depends_on=[ground.network]),
        ).public_ip
        self.register_outputs({"address": self.address})
