"""The components on Azure."""

from __future__ import annotations

from functools import partial

import pulumi
import pulumi_azure_native as azure

from fireflyer.model.replica_plan import ReplicaPlan
from infra.azure.bastion import Bastion
from infra.azure.dns import Dns
from infra.azure.home import Home
from infra.azure.image import Image
from infra.azure.machine import Host
from infra.azure.network import Network
from infra.azure.placement import Placement
from infra.azure.security import Security
from infra.azure.stop import Stop
from infra.azure.watch import Alarms, Watch
from infra.parts import Cloud
from infra.tags import named


def provider(plan: ReplicaPlan, opts: pulumi.ResourceOptions) -> pulumi.ProviderResource:
    """Return what makes a plan's resources."""
    return azure.Provider(named(plan, "azure"), location=plan.intent.region, opts=opts)


def cloud(plan: ReplicaPlan, opts: pulumi.ResourceOptions) -> Cloud:
    """Declare the resource group, and return the components that stand in it."""
    home = Home(plan, opts)
    return Cloud(
        network=partial(Network, home),
        security=partial(Security, home),
        placement=partial(Placement, home),
        image=Image,
        host=partial(Host, home),
        bastion=partial(Bastion, home),
        dns=partial(Dns, home),
        watch=partial(Watch, home),
        stop=partial(Stop, home),
        alarms=partial(Alarms, home),
    )
