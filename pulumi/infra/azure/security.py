"""Network security groups, and the key.

A group ends with a rule that denies: what Azure adds after it would let the whole VNet in, and out
to the internet. InfiniBand is no IP traffic and passes by them all; who shares an availability set
reaches each other there.
"""

from __future__ import annotations

from collections.abc import Iterator

from pulumi import ComponentResource, Output, ResourceOptions
from pulumi_azure_native import compute
from pulumi_azure_native import network as net

from fireflyer.model.replica_plan import ReplicaPlan
from infra.azure.home import Home
from infra.parts import NetworkPart
from infra.tags import named, tags

SSH, HTTP, HTTPS, NTP = 22, 80, 443, 123
FIRST, STEP, LAST = 100, 10, 4096
"""Priorities: the lowest number is asked first."""


class Security(ComponentResource):
    """Who may reach whom."""

    hosts: Output[str]
    bastion: Output[str] | None
    profile: Output[str] | None
    key: Output[str]

    def __init__(
        self, home: Home, plan: ReplicaPlan, network: NetworkPart, opts: ResourceOptions
    ) -> None:
        """Declare the groups, rules and key of a plan."""
        super().__init__("fireflyer:replica:Security", named(plan, "security"), None, opts)
        self.home, self.plan, self.child = home, plan, ResourceOptions(parent=self)
        self.inside = [str(found.network) for found in plan.subnets if found.kind != "public"]
        self.bastion = self.profile = None
        self.hosts = self._group("hosts", list(self._of_hosts()))
        if plan.intent.access.kind == "bastion":
            self.bastion = self._group("bastion", list(self._of_bastion()))
        self.key = compute.SshPublicKey(
            named(plan, "key"),
            ssh_public_key_name="key",
            resource_group_name=home.name,
            location=home.location,
            public_key=plan.intent.access.public_key or "",
            tags=tags(plan, "key"),
            opts=self.child,
        ).public_key.apply(lambda key: key or "")
        self.register_outputs({"hosts": self.hosts})

    def _of_hosts(self) -> Iterator[net.SecurityRuleArgs]:
        intent = self.plan.intent
        yield rule("hosts-in", "Inbound", FIRST, sources=self.inside, targets=self.inside)
        if intent.access.kind == "bastion":
            bastion = [str(self.plan.subnet("public").network)]
            second, inside = FIRST + STEP, self.inside
            yield rule("ssh-in", "Inbound", second, "Tcp", SSH, sources=bastion, targets=inside)
        yield rule("nothing-else-in", "Inbound", LAST, allow=False)
        yield rule("hosts-out", "Outbound", FIRST, sources=self.inside, targets=self.inside)
        if intent.network.egress == "nat":
            ways = (("Tcp", HTTP), ("Tcp", HTTPS), ("Udp", NTP))
            for number, (protocol, port) in enumerate(ways, start=1):
                yield rule(
                    f"mirrors-{port}" if port != NTP else "time",
                    "Outbound",
                    FIRST + STEP * number,
                    protocol,
                    port,
                    sources=self.inside,
                    targets=["Internet"],
                )
        else:
            storage = [f"Storage.{intent.region}"]
            second, inside = FIRST + STEP, self.inside
            yield rule(
                "object-storage", "Outbound", second, "Tcp", HTTPS, sources=inside, targets=storage
            )
        yield rule("nothing-else-out", "Outbound", LAST, allow=False)

    def _of_bastion(self) -> Iterator[net.SecurityRuleArgs]:
        bastion = [str(self.plan.subnet("public").network)]
        cidrs = list(self.plan.intent.access.cidrs)
        yield rule("ssh-in", "Inbound", FIRST, "Tcp", SSH, sources=cidrs, targets=bastion)
        yield rule("nothing-else-in", "Inbound", LAST, allow=False)
        yield rule("ssh-out", "Outbound", FIRST, "Tcp", SSH, sources=bastion, targets=self.inside)
        yield rule("nothing-else-out", "Outbound", LAST, allow=False)

    def _group(self, name: str, rules: list[net.SecurityRuleArgs]) -> Output[str]:
        return net.NetworkSecurityGroup(
            named(self.plan, name),
            network_security_group_name=name,
            resource_group_name=self.home.name,
            location=self.home.location,
            security_rules=rules,
            tags=tags(self.plan, name),
            opts=self.child,
        ).id


def rule(
    name: str,
    way: str,
    priority: int,
    protocol: str = "*",
    port: int | None = None,
    *,
    sources: list[str] | None = None,
    targets: list[str] | None = None,
    allow: bool = True,
) -> net.SecurityRuleArgs:
    """Return a rule; without sources and targets it is of all."""
    # Azure takes a name such as Internet, or all, in the singular alone.
    tag = targets[0] if targets and not targets[0][0].isdigit() else None
    return net.SecurityRuleArgs(
        name=name,
        direction=way,
        access="Allow" if allow else "Deny",
        priority=priority,
        protocol=protocol,
        source_port_range="*",
        destination_port_range=str(port) if port is not None else "*",
        source_address_prefixes=sources,
        source_address_prefix=None if sources else "*",
        destination_address_prefixes=targets if tag is None else None,
        destination_address_prefix=tag or (None if targets else "*"),
    )
