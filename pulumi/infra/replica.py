"""The whole replica: a provider's components, put together in the same way for all of them."""

from __future__ import annotations

import dataclasses
import importlib

import pulumi
from pulumi import ComponentResource, ResourceOptions

from fireflyer.design.replica import plan_replica
from fireflyer.load import replica as load
from fireflyer.model.replica_plan import ReplicaPlan
from fireflyer.render.inventory import Json
from infra.hosts import Compute, Management, Storage
from infra.inventory import inventory_output
from infra.parts import Ground, Mail, Package

TYPE = "fireflyer:replica"
"""Types of components begin with this."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaArgs:
    """What a replica is made from."""

    replica: load.Replica
    """Its intent, site and catalogue; the name in it gives way to the component's."""
    mail: Mail = None
    """Who gets budget and alarms."""


def planned(name: str, args: ReplicaArgs) -> ReplicaPlan:
    """Return the plan of a replica that has an end.

    Raises:
        IntentError: the intent cannot be built.
    """
    plan = plan_replica(dataclasses.replace(args.replica, name=name))
    if plan.expires is None:
        raise pulumi.RunError(
            "the stack has no expiry, so nothing would stop it; run make replica-up, which"
            " sets one, or: pulumi config set expires 2030-01-31T18:00:00Z"
        )
    return plan


class Replica(ComponentResource):
    """A scale model of a site. Several may stand in one stack, under different names."""

    plan: ReplicaPlan
    inventory: pulumi.Output[dict[str, Json]]

    def __init__(self, name: str, args: ReplicaArgs, opts: ResourceOptions | None = None) -> None:
        """Declare every resource under `name`, which is also in the names and tags at the provider.

        Raises:
            IntentError: the intent cannot be built.
        """
        self.plan = plan = planned(name, args)
        super().__init__(f"{TYPE}:Replica", name, None, opts)
        mail = args.mail
        package: Package = importlib.import_module(f"infra.{plan.intent.provider}")
        provider = package.provider(plan, ResourceOptions(parent=self))
        within = ResourceOptions(parent=self, providers=[provider], transformations=[_delete_first])
        cloud = package.cloud(plan, within)
        watch = cloud.watch(plan, mail, within)
        end = cloud.stop(plan, watch, within)
        network = cloud.network(plan, within)
        ground = Ground(
            plan=plan,
            network=network,
            security=cloud.security(plan, network, within),
            placement=cloud.placement(plan, within),
            image=cloud.image(plan, within),
            end=end,
        )
        kinds = (Compute, Storage, Management)
        ids = {
            host: found
            for kind in kinds
            for host, found in kind(ground, cloud.host, within).ids.items()
        }
        jump = None
        if plan.bastion is not None:
            bastion = cloud.bastion(ground, within)
            ids["bastion"], jump = bastion.id, bastion.address
        cloud.dns(plan, network, within)
        cloud.alarms(plan, watch, ids, within)
        self.inventory = inventory_output(plan, ids, jump)
        self.register_outputs({"inventory": self.inventory})


def _delete_first(
    args: pulumi.ResourceTransformationArgs,
) -> pulumi.ResourceTransformationResult:
    """Have a replacement made once the old one is gone: addresses and names are fixed."""
    first = ResourceOptions(delete_before_replace=True)
    return pulumi.ResourceTransformationResult(args.props, ResourceOptions.merge(args.opts, first))
