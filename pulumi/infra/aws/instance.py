"""One host: a launch template that says all of it, and an instance of it.

Interfaces are in the template because a card's EFA cannot be attached to an instance that runs.
Another version of a template replaces its instance, so nothing in one follows from when it is run.
"""

from __future__ import annotations

import pulumi_aws as aws
from pulumi import ComponentResource, Output, ResourceOptions

from fireflyer.design.replica.price import DISK_GB
from fireflyer.model.instance import Market
from fireflyer.model.replica_plan import PlannedHost, PlannedInterface
from infra.boot import user_data
from infra.parts import Ground
from infra.tags import lasting_tags, named, tags

INTERFACE_TYPES = {"ethernet": "interface", "rdma": "efa-only"}


class Host(ComponentResource):
    """An instance with every interface of the plan."""

    id: Output[str]

    def __init__(self, ground: Ground, host: PlannedHost, opts: ResourceOptions) -> None:
        """Declare a host of a plan."""
        super().__init__("fireflyer:replica:Host", named(ground.plan, host.name), None, opts)
        self.ground, self.host = ground, host
        plan, child = ground.plan, ResourceOptions(parent=self)
        labels = tags(plan, host.name)
        assert ground.image.root_device is not None
        template = aws.ec2.LaunchTemplate(
            named(ground.plan, host.name),
            name=f"{labels['fireflyer-replica']}-{host.name}",
            image_id=ground.image.id,
            instance_type=host.instance.type,
            key_name=ground.security.key,
            user_data=user_data(plan, host.name, host),
            update_default_version=True,
            instance_initiated_shutdown_behavior=at_power_off(host.market),
            metadata_options=METADATA,
            block_device_mappings=[root_disk(ground.image.root_device)],
            network_interfaces=[self._interface(found) for found in host.interfaces],
            placement=self._placement(),
            capacity_reservation_specification=self._reservation(),
            instance_market_options=market(host),
            iam_instance_profile={"name": ground.security.profile}
            if ground.security.profile is not None
            else None,
            tag_specifications=[
                {"resource_type": kind, "tags": lasting_tags(plan, host.name)}
                for kind in tagged_kinds(host)
            ],
            tags=labels,
            opts=child,
        )
        self.id = aws.ec2.Instance(
            named(ground.plan, host.name),
            launch_template={
                "id": template.id,
                "version": template.latest_version.apply(str),
            },
            tags=labels,
            volume_tags=labels,
            opts=ground.after_end(self),
        ).id
        self.register_outputs({"id": self.id})

    def _interface(self, found: PlannedInterface) -> aws.ec2.LaunchTemplateNetworkInterfaceArgs:
        # Nothing about a public address: with several interfaces AWS refuses even the word, and
        # the subnets give none.
        return aws.ec2.LaunchTemplateNetworkInterfaceArgs(
            network_card_index=found.card,
            device_index=found.device,
            interface_type=INTERFACE_TYPES[found.kind],
            subnet_id=self.ground.network.subnets[found.subnet],
            private_ip_address=str(found.address) if found.address is not None else None,
            security_groups=[self.ground.security.hosts],
            delete_on_termination="true",
        )

    def _placement(self) -> aws.ec2.LaunchTemplatePlacementArgs:
        group = self.host.group
        return aws.ec2.LaunchTemplatePlacementArgs(
            availability_zone=self.ground.plan.intent.zone,
            group_name=self.ground.placement.groups.get(group, group) if group else None,
        )

    def _reservation(self) -> aws.ec2.LaunchTemplateCapacityReservationSpecificationArgs | None:
        if self.host.reservation is None:
            return None
        return aws.ec2.LaunchTemplateCapacityReservationSpecificationArgs(
            capacity_reservation_target={"capacity_reservation_id": self.host.reservation}
        )


METADATA = aws.ec2.LaunchTemplateMetadataOptionsArgs(
    http_endpoint="enabled",
    http_tokens="required",  # IMDSv2
    http_put_response_hop_limit=1,
    instance_metadata_tags="enabled",  # a host reads its end there
)


def root_disk(device: Output[str]) -> aws.ec2.LaunchTemplateBlockDeviceMappingArgs:
    """Return the encrypted root disk, which goes when its host does.

    Under a name that is not the image's root it would be a second disk, and the first one as it is.
    """
    return aws.ec2.LaunchTemplateBlockDeviceMappingArgs(
        device_name=device,
        ebs=aws.ec2.LaunchTemplateBlockDeviceMappingEbsArgs(
            encrypted="true",
            delete_on_termination="true",
            volume_size=DISK_GB,
            volume_type="gp3",
        ),
    )


def at_power_off(bought: Market) -> str:
    """Return what becomes of an instance that powers itself off at its end."""
    return "stop" if bought == "on-demand" else "terminate"


def market(host: PlannedHost) -> aws.ec2.LaunchTemplateInstanceMarketOptionsArgs | None:
    """Return how an instance is bought, if it is not on demand."""
    if host.market == "on-demand":
        return None
    spot = {"spot_instance_type": "one-time", "instance_interruption_behavior": "terminate"}
    return aws.ec2.LaunchTemplateInstanceMarketOptionsArgs(
        market_type=host.market, spot_options=spot if host.market == "spot" else None
    )


def tagged_kinds(host: PlannedHost) -> tuple[str, ...]:
    """Return what the start of an instance makes that takes tags."""
    kinds = ("instance", "volume", "network-interface")
    return (*kinds, "spot-instances-request") if host.market == "spot" else kinds
