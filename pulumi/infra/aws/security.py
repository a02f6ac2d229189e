"""Security groups, the endpoints of the session manager, the hosts' role, and the key.

EFA needs one group that lets everything in from itself and out to itself: its traffic is no IP
traffic, so no rule by port or by address matches it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pulumi_aws as aws
from pulumi import ComponentResource, InvokeOptions, Output, ResourceOptions

from fireflyer.design.replica.price import SESSION_ENDPOINTS
from fireflyer.model.replica_plan import ReplicaPlan
from infra.aws.network import EVERYWHERE
from infra.parts import NetworkPart
from infra.tags import identity, named, tags

SSH, HTTP, HTTPS = 22, 80, 443
SESSION_ACTIONS = (
    "ssm:UpdateInstanceInformation",
    "ssmmessages:CreateControlChannel",
    "ssmmessages:CreateDataChannel",
    "ssmmessages:OpenControlChannel",
    "ssmmessages:OpenDataChannel",
)
"""All that a host does for a session to reach it."""


class Security(ComponentResource):
    """Who may reach whom."""

    hosts: Output[str]
    bastion: Output[str] | None
    profile: Output[str] | None
    key: Output[str]

    def __init__(self, plan: ReplicaPlan, network: NetworkPart, opts: ResourceOptions) -> None:
        """Declare the groups, rules, role and key of a plan."""
        super().__init__("fireflyer:replica:Security", named(plan, "security"), None, opts)
        self.plan, self.network = plan, network
        self.child = ResourceOptions(parent=self)
        self.bastion = self.profile = None
        self.hosts = self._group("hosts", "Every host: all of them reach each other, also by EFA")
        self._rule("in", "efa-in", self.hosts, "-1", peer=self.hosts)
        self._rule("out", "efa-out", self.hosts, "-1", peer=self.hosts)
        if plan.intent.network.egress == "nat":
            for port in (HTTP, HTTPS):
                name = f"mirrors-{port}"
                self._rule("out", name, self.hosts, "tcp", port, cidr=EVERYWHERE)
        else:
            # Its endpoint is a route alone: the addresses it leads to are public ones.
            prefixes = aws.ec2.get_managed_prefix_list_output(
                name=f"com.amazonaws.{plan.intent.region}.s3", opts=InvokeOptions(parent=self)
            ).id
            self._rule("out", "object-storage", self.hosts, "tcp", HTTPS, prefixes=prefixes)
        if plan.intent.access.kind == "bastion":
            self._bastion()
        else:
            self._sessions()
        self.key = aws.ec2.KeyPair(
            named(plan, "key"),
            key_name=identity(plan),
            public_key=plan.intent.access.public_key or "",
            tags=tags(plan, "key"),
            opts=self.child,
        ).key_name
        self.register_outputs({"hosts": self.hosts})

    def _bastion(self) -> None:
        self.bastion = self._group("bastion", "The only host with a public address")
        for number, cidr in enumerate(self.plan.intent.access.cidrs, start=1):
            self._rule("in", f"ssh-from-{number}", self.bastion, "tcp", SSH, cidr=cidr)
        self._rule("out", "bastion-to-hosts", self.bastion, "tcp", SSH, peer=self.hosts)
        self._rule("in", "ssh-from-bastion", self.hosts, "tcp", SSH, peer=self.bastion)

    def _sessions(self) -> None:
        plan = self.plan
        group = self._group("endpoints", "Where hosts answer the session manager")
        self._rule("in", "hosts-to-endpoints-in", group, "tcp", HTTPS, peer=self.hosts)
        self._rule("out", "hosts-to-endpoints", self.hosts, "tcp", HTTPS, peer=group)
        for service in SESSION_ENDPOINTS:
            aws.ec2.VpcEndpoint(
                named(plan, service),
                vpc_id=self.network.id,
                service_name=f"com.amazonaws.{plan.intent.region}.{service}",
                vpc_endpoint_type="Interface",
                private_dns_enabled=True,
                subnet_ids=[self.network.subnets["management"]],
                security_group_ids=[group],
                tags=tags(plan, service),
                opts=self.child,
            )
        role = aws.iam.Role(
            named(plan, "host"),
            name=f"{identity(plan)}-host",
            assume_role_policy=trust("ec2.amazonaws.com"),
            tags=tags(plan, "host"),
            opts=self.child,
        )
        aws.iam.RolePolicy(
            named(plan, "host"),
            role=role.name,
            policy=allowing({"Action": list(SESSION_ACTIONS), "Resource": "*"}),
            opts=self.child,
        )
        self.profile = aws.iam.InstanceProfile(
            named(plan, "host"),
            name=f"{identity(plan)}-host",
            role=role.name,
            tags=tags(plan, "host"),
            opts=self.child,
        ).name

    def _group(self, name: str, description: str) -> Output[str]:
        return aws.ec2.SecurityGroup(
            named(self.plan, name),
            name=f"{identity(self.plan)}-{name}",
            description=description,
            vpc_id=self.network.id,
            tags=tags(self.plan, name),
            opts=self.child,
        ).id

    def _rule(
        self,
        way: str,
        name: str,
        group: Output[str],
        protocol: str,
        port: int | None = None,
        *,
        peer: Output[str] | None = None,
        cidr: str | None = None,
        prefixes: Output[str] | None = None,
    ) -> None:
        kind = aws.vpc.SecurityGroupIngressRule if way == "in" else aws.vpc.SecurityGroupEgressRule
        kind(
            named(self.plan, name),
            security_group_id=group,
            ip_protocol=protocol,
            from_port=port,
            to_port=port,
            referenced_security_group_id=peer,
            cidr_ipv4=cidr,
            prefix_list_id=prefixes,
            tags=tags(self.plan, name),
            opts=self.child,
        )


def trust(service: str) -> str:
    """Return the policy that lets a service of AWS take a role."""
    return allowing({"Action": "sts:AssumeRole", "Principal": {"Service": service}})


def allowing(*statements: Mapping[str, Any]) -> str:
    """Return the policy that allows what each statement says."""
    allowed = [{"Effect": "Allow", **statement} for statement in statements]
    return json.dumps({"Version": "2012-10-17", "Statement": allowed})
