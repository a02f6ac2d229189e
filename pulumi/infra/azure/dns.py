"""Names: the site's domain, seen inside the replica alone."""

from __future__ import annotations

from pulumi import ComponentResource, ResourceOptions
from pulumi_azure_native import privatedns

from fireflyer.model.replica_plan import ReplicaPlan
from infra.azure.home import Home
from infra.parts import NAME_TTL_S, NetworkPart
from infra.tags import named, tags


class Dns(ComponentResource):
    """A private zone with every host's names."""

    def __init__(
        self, home: Home, plan: ReplicaPlan, network: NetworkPart, opts: ResourceOptions
    ) -> None:
        """Declare the zone and the names of a plan."""
        super().__init__("fireflyer:replica:Dns", named(plan, "dns"), None, opts)
        child = ResourceOptions(parent=self)
        zone = privatedns.PrivateZone(
            named(plan, plan.domain),
            private_zone_name=plan.domain,
            resource_group_name=home.name,
            location="Global",
            tags=tags(plan, plan.domain),
            opts=child,
        )
        privatedns.VirtualNetworkLink(
            named(plan, "vnet"),
            virtual_network_link_name="vnet",
            private_zone_name=zone.name,
            resource_group_name=home.name,
            location="Global",
            registration_enabled=False,
            virtual_network={"id": network.id},
            tags=tags(plan, "vnet"),
            opts=child,
        )
        for host in plan.hosts:
            for name, address in host.names.items():
                privatedns.PrivateRecordSet(
                    named(plan, name),
                    relative_record_set_name=name,
                    private_zone_name=zone.name,
                    resource_group_name=home.name,
                    record_type="A",
                    ttl=NAME_TTL_S,
                    a_records=[{"ipv4_address": str(address)}],
                    opts=child,
                )
        self.register_outputs({})
