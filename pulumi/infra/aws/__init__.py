"""The components on AWS."""

from __future__ import annotations

import pulumi
import pulumi_aws as aws

from fireflyer.model.replica_plan import ReplicaPlan
from infra.aws.bastion import Bastion
from infra.aws.dns import Dns
from infra.aws.image import Image
from infra.aws.instance import Host
from infra.aws.network import Network
from infra.aws.placement import Placement
from infra.aws.security import Security
from infra.aws.stop import Stop
from infra.aws.watch import Alarms, Watch
from infra.parts import Cloud
from infra.tags import named


def provider(plan: ReplicaPlan, opts: pulumi.ResourceOptions) -> pulumi.ProviderResource:
    """Return what makes a plan's resources."""
    return aws.Provider(named(plan, "aws"), region=plan.intent.region, opts=opts)


def cloud(plan: ReplicaPlan, opts: pulumi.ResourceOptions) -> Cloud:
    """Return the components; on AWS they stand in nothing but the account."""
    return Cloud(
        network=Network,
        security=Security,
        placement=Placement,
        image=Image,
        host=Host,
        bastion=Bastion,
        dns=Dns,
        watch=Watch,
        stop=Stop,
        alarms=Alarms,
    )
