"""The whole replica: a provider's components, put together in the same way for all of them."""

from __future__ import annotations

import importlib

import pulumi
from pulumi import ComponentResource, ResourceOptions

from fireflyer.model.replica_plan import ReplicaPlan
from infra.hosts import Compute, Management, Storage
from infra.inventory import inventory_output
from infra.parts import Ground, Mail, Package

TYPE = "fireflyer:replica"
"""Types of components begin with this."""


class Replica(ComponentResource):
    """A scale model of a site."""

    def __init__(
        self, plan: ReplicaPlan, mail: Mail = None, opts: ResourceOptions | None = None
    ) -> None:
        """Declare every resource of a plan; `mail` gets the alarms."""
        if plan.expires is None:
            raise pulumi.RunError(
                "the stack has no expiry, so nothing would stop it; run make replica-up, which"
                " sets one, or: pulumi config set expires 2030-01-31T18:00:00Z"
            )
        super().__init__(f"{TYPE}:Replica", f"{plan.site}-{plan.name}", None, opts)
        package: Package = importlib.import_module(f"infra.{plan.intent.provider}")
        within = ResourceOptions(
            parent=self, providers=[package.provider(plan)], transformations=[_delete_first]
        )
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
