"""One host: its interfaces, each with the plan's address, and the machine.

Adapters for InfiniBand are no resources: they come with the size, and with the set it stands in.
"""

from __future__ import annotations

from dataclasses import dataclass

from pulumi import ComponentResource, Output, Resource, ResourceOptions
from pulumi_azure_native import compute
from pulumi_azure_native import network as net

from fireflyer.design.replica.price import DISK_GB
from fireflyer.model.replica import Image
from fireflyer.model.replica_plan import PlannedHost, PlannedInterface, ReplicaPlan
from infra.azure.home import Home
from infra.boot import user_data
from infra.parts import Ground
from infra.tags import named, tags


class Host(ComponentResource):
    """A machine with every interface of the plan."""

    id: Output[str]

    def __init__(
        self, home: Home, ground: Ground, host: PlannedHost, opts: ResourceOptions
    ) -> None:
        """Declare a host of a plan."""
        super().__init__("fireflyer:replica:Host", named(ground.plan, host.name), None, opts)
        self.home, self.ground, self.host = home, ground, host
        self.child = ResourceOptions(parent=self)
        group, zone = host.group, ground.plan.intent.zone
        self.id = machine(
            Frame(home=home, ground=ground, parent=self, host=host),
            host.name,
            host.instance.type,
            [self._interface(found) for found in host.interfaces],
            Start(
                availability_set=ground.placement.groups[group] if group else None,
                zone=zone if zone != "none" else None,
                reservation=host.reservation,
                spot=host.market == "spot",
            ),
        )
        self.register_outputs({"id": self.id})

    def _interface(self, found: PlannedInterface) -> Output[str]:
        assert found.address is not None
        name = f"{self.host.name}-{found.subnet}"
        return net.NetworkInterface(
            named(self.ground.plan, name),
            network_interface_name=name,
            resource_group_name=self.home.name,
            location=self.home.location,
            enable_accelerated_networking=True,
            ip_configurations=[
                {
                    "name": "main",
                    "primary": True,
                    "private_ip_address": str(found.address),
                    "private_ip_allocation_method": "Static",
                    "subnet": {"id": self.ground.network.subnets[found.subnet]},
                }
            ],
            network_security_group={"id": self.ground.security.hosts},
            tags=tags(self.ground.plan, name),
            opts=self.child,
        ).id


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What a machine is declared in."""

    home: Home
    ground: Ground
    parent: Resource
    host: PlannedHost | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Where a machine starts, and how it is bought."""

    availability_set: Output[str] | None = None
    zone: str | None = None
    reservation: str | None = None
    """The group that holds it."""
    spot: bool = False


def machine(
    frame: Frame,
    name: str,
    size: str,
    interfaces: list[Output[str]],
    start: Start,
) -> Output[str]:
    """Declare a machine, and return its id."""
    plan, home = frame.ground.plan, frame.home
    return compute.VirtualMachine(
        named(plan, name),
        vm_name=name,
        resource_group_name=home.name,
        location=home.location,
        hardware_profile={"vm_size": size},
        network_profile={
            "network_interfaces": [
                {"id": found, "primary": number == 0} for number, found in enumerate(interfaces)
            ]
        },
        os_profile=_login(plan, name, frame),
        security_profile={"encryption_at_host": True},
        storage_profile={
            "image_reference": reference(plan.intent.image),
            "os_disk": {
                "name": name,
                "create_option": "FromImage",
                "delete_option": "Delete",
                "disk_size_gb": DISK_GB,
                "managed_disk": {"storage_account_type": "Premium_LRS"},
            },
        },
        diagnostics_profile={"boot_diagnostics": {"enabled": True}},
        availability_set={"id": start.availability_set}
        if start.availability_set is not None
        else None,
        zones=[start.zone] if start.zone else None,
        capacity_reservation={"capacity_reservation_group": {"id": start.reservation}}
        if start.reservation
        else None,
        priority="Spot" if start.spot else "Regular",
        eviction_policy="Deallocate" if start.spot else None,
        billing_profile={"max_price": -1} if start.spot else None,  # at most that on demand
        # By it a host has itself deallocated at its end.
        identity={"type": "UserAssigned", "user_assigned_identities": [frame.ground.end.identity]},
        tags=tags(plan, name),
        opts=frame.ground.after_end(frame.parent),
    ).id


def _login(plan: ReplicaPlan, name: str, frame: Frame) -> compute.OSProfileArgs:
    """Return who may log in: one user, by the key alone."""
    user, key = plan.login, frame.ground.security.key
    return compute.OSProfileArgs(
        computer_name=name,
        admin_username=user,
        custom_data=user_data(plan, name, frame.host),
        linux_configuration=compute.LinuxConfigurationArgs(
            disable_password_authentication=True,
            ssh=compute.SshConfigurationArgs(
                public_keys=[
                    compute.SshPublicKeyArgs(
                        key_data=key, path=f"/home/{user}/.ssh/authorized_keys"
                    )
                ]
            ),
        ),
    )


def reference(image: Image) -> compute.ImageReferenceArgs:
    """Return what a machine starts from."""
    if image.id is not None:
        return compute.ImageReferenceArgs(id=image.id)
    return compute.ImageReferenceArgs(
        publisher=image.publisher, offer=image.offer, sku=image.sku, version=image.version
    )
