"""Names: the site's domain, seen inside the replica alone."""

from __future__ import annotations

import pulumi_aws as aws
from pulumi import ComponentResource, ResourceOptions

from fireflyer.model.replica_plan import ReplicaPlan
from infra.parts import NAME_TTL_S, NetworkPart
from infra.tags import named, tags


class Dns(ComponentResource):
    """A private zone with every host's names."""

    def __init__(self, plan: ReplicaPlan, network: NetworkPart, opts: ResourceOptions) -> None:
        """Declare the zone and the names of a plan."""
        super().__init__("fireflyer:replica:Dns", named(plan, "dns"), None, opts)
        child = ResourceOptions(parent=self)
        zone = aws.route53.Zone(
            named(plan, plan.domain),
            name=plan.domain,
            comment=f"replica {plan.name} of {plan.site}",
            vpcs=[{"vpc_id": network.id}],
            tags=tags(plan, plan.domain),
            opts=child,
        )
        for host in plan.hosts:
            for name, address in host.names.items():
                aws.route53.Record(
                    named(plan, name),
                    zone_id=zone.zone_id,
                    name=f"{name}.{plan.domain}",
                    type="A",
                    ttl=NAME_TTL_S,
                    records=[str(address)],
                    opts=child,
                )
        self.register_outputs({})
