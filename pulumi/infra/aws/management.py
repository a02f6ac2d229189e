"""The management nodes, and the bastion that people and Ansible come through, if there is one."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi_aws as aws
from pulumi import ComponentResource, Output, ResourceOptions

from fireflyer.design.replica.price import DISK_GB
from fireflyer.model.fabric import Role
from infra.aws.instance import Host
from infra.parts import Ground
from infra.tags import tags

BASTION = "bastion"
"""It is watched and stopped as the hosts are; the inventory has it as the way in alone."""


class Management(ComponentResource):
    """Management nodes and the way in."""

    ids: Mapping[str, Output[str]]
    jump: Output[str] | None

    def __init__(self, ground: Ground, opts: ResourceOptions) -> None:
        """Declare the management nodes and the bastion of a plan."""
        super().__init__("fireflyer:replica:Management", "management", None, opts)
        child = ResourceOptions(parent=self)
        hosts = ground.plan.hosts_of(Role.MANAGEMENT)
        self.ids = {host.name: Host(ground, host, child).id for host in hosts}
        self.jump = None
        if ground.plan.bastion is not None:
            bastion = self._bastion(ground, child)
            self.jump = self._address(ground, bastion)
            self.ids = {**self.ids, BASTION: bastion}
        self.register_outputs({})

    def _bastion(self, ground: Ground, child: ResourceOptions) -> Output[str]:
        plan = ground.plan
        assert plan.bastion is not None
        assert ground.security.bastion is not None
        labels = tags(plan, BASTION)
        return aws.ec2.Instance(
            BASTION,
            ami=ground.image.id,
            instance_type=plan.bastion.type,
            subnet_id=ground.network.subnets["public"],
            vpc_security_group_ids=[ground.security.bastion],
            key_name=ground.security.key,
            metadata_options={
                "http_endpoint": "enabled",
                "http_tokens": "required",
                "http_put_response_hop_limit": 1,
            },
            root_block_device={
                "encrypted": True,
                "delete_on_termination": True,
                "volume_size": DISK_GB,
                "volume_type": "gp3",
            },
            tags=labels,
            volume_tags=labels,
            opts=child,
        ).id

    def _address(self, ground: Ground, bastion: Output[str]) -> Output[str]:
        return aws.ec2.Eip(
            BASTION,
            domain="vpc",
            instance=bastion,
            tags=tags(ground.plan, BASTION),
            # An address is refused as long as the network has no gateway.
            opts=ResourceOptions(parent=self, depends_on=[ground.network]),
        ).public_ip
