"""What whoever raises a replica on AWS must be allowed: the calls for each kind of resource.

Actions, the resources they can be scoped to and their condition keys are those of AWS's "Service
Authorization Reference"; which of them the provider calls for a kind is from its documentation
and its debug log's form. A kind without an entry is an error, so that none goes unchecked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fireflyer.model.replica_plan import ReplicaPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """The actions that one kind of resource takes, by how far AWS lets them be scoped."""

    arn: str
    """One such resource, after `arn:aws:`; `{own}` begins the names of the replica's."""
    makes: tuple[str, ...] = ()
    """Their request carries the replica's tag (EC2 alone)."""
    changes: tuple[str, ...] = ()
    """Of a resource with the replica's tag (EC2), or with a name of the replica's (others)."""
    anywhere: tuple[str, ...] = ()
    """Reads, and what AWS scopes neither by name nor by tag."""


def _ec2(
    kind: str, makes: str = "", changes: str = "", anywhere: str = "", also: tuple[str, ...] = ()
) -> Rights:
    def actions(text: str) -> tuple[str, ...]:
        return tuple(f"ec2:{action}" for action in text.split())

    arn = f"ec2:{{region}}:{{account}}:{kind}/{kind}-0123456789abcdef0"
    return Rights(
        arn=arn,
        makes=actions(makes),
        changes=actions(f"{changes} CreateTags DeleteTags"),
        anywhere=(*actions(anywhere), *also),
    )


def _named(service: str, arn: str, changes: str, anywhere: tuple[str, ...] = ()) -> Rights:
    actions = tuple(f"{service}:{action}" for action in changes.split())
    return Rights(arn=arn, changes=actions, anywhere=anywhere)


_ROLE = "iam::{account}:role/{own}-stop"
_ROLE_READS = "GetRole ListRolePolicies ListAttachedRolePolicies ListInstanceProfilesForRole"
_TOPIC = "sns:{region}:{account}:{own}-alarms"
_QUEUE = "sqs:{region}:{account}:{own}-stop-failed"
_RULE = "events:{region}:{account}:rule/{own}-stop-failed"
_ALARM = "cloudwatch:{region}:{account}:alarm:{own}-stop-failed"
_GROUP_READS = "DescribeSecurityGroups DescribeSecurityGroupRules DescribeNetworkInterfaces"
_ZONE = "route53:::hostedzone/Z0123456789ABCDEFGHIJ"

DEFAULT_GROUP = "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup"
RIGHTS: Mapping[str, Rights] = {
    "aws:budgets/budget:Budget": _named(
        "budgets", "budgets::{account}:budget/{own}-day",
        "ModifyBudget ViewBudget TagResource UntagResource ListTagsForResource",
    ),
    "aws:cloudwatch/eventRule:EventRule": _named(
        "events", _RULE,
        "PutRule DescribeRule DeleteRule TagResource UntagResource ListTagsForResource",
    ),
    "aws:cloudwatch/eventTarget:EventTarget": _named(
        "events", _RULE, "PutTargets RemoveTargets ListTargetsByRule"
    ),
    "aws:cloudwatch/metricAlarm:MetricAlarm": _named(
        "cloudwatch", _ALARM,
        "PutMetricAlarm DeleteAlarms TagResource UntagResource ListTagsForResource",
        ("cloudwatch:DescribeAlarms",),
    ),
    # Until it has its tag, nothing tells a VPC's default group from any other.
    DEFAULT_GROUP: Rights(
        arn="ec2:{region}:{account}:security-group/sg-0123456789abcdef0",
        changes=("ec2:CreateTags", "ec2:RevokeSecurityGroupEgress",
                 "ec2:RevokeSecurityGroupIngress"),
        anywhere=tuple(f"ec2:{action}" for action in _GROUP_READS.split()),
    ),
    # The interface that an address is given to has no tag of its own.
    "aws:ec2/eip:Eip": _ec2(
        "elastic-ip",
        makes="AllocateAddress",
        changes="ReleaseAddress",
        anywhere="AssociateAddress DisassociateAddress DescribeAddresses DescribeAddressesAttribute"
        " DescribeNetworkInterfaces",
    ),
    "aws:ec2/instance:Instance": _ec2(
        "instance",
        makes="RunInstances",
        changes="ModifyInstanceAttribute ModifyInstanceMetadataOptions StartInstances StopInstances"
        " TerminateInstances",
        anywhere="DescribeInstances DescribeInstanceAttribute DescribeInstanceTypes"
        " DescribeInstanceCreditSpecifications DescribeVolumes DescribeTags DescribeImages"
        " DescribeNetworkInterfaces",
    ),
    "aws:ec2/internetGateway:InternetGateway": _ec2(
        "internet-gateway",
        makes="CreateInternetGateway",
        changes="AttachInternetGateway DetachInternetGateway DeleteInternetGateway",
        anywhere="DescribeInternetGateways",
    ),
    "aws:ec2/keyPair:KeyPair": _ec2(
        "key-pair", makes="ImportKeyPair", changes="DeleteKeyPair", anywhere="DescribeKeyPairs"
    ),
    "aws:ec2/launchTemplate:LaunchTemplate": _ec2(
        "launch-template",
        makes="CreateLaunchTemplate",
        changes="CreateLaunchTemplateVersion ModifyLaunchTemplate DeleteLaunchTemplate",
        anywhere="DescribeLaunchTemplates DescribeLaunchTemplateVersions",
    ),
    "aws:ec2/natGateway:NatGateway": _ec2(
        "natgateway",
        makes="CreateNatGateway",
        changes="DeleteNatGateway",
        anywhere="DescribeNatGateways",
    ),
    "aws:ec2/placementGroup:PlacementGroup": _ec2(
        "placement-group",
        makes="CreatePlacementGroup",
        changes="DeletePlacementGroup",
        anywhere="DescribePlacementGroups",
    ),
    "aws:ec2/route:Route": _ec2(
        "route-table",
        changes="CreateRoute ReplaceRoute DeleteRoute",
        anywhere="DescribeRouteTables",
    ),
    "aws:ec2/routeTable:RouteTable": _ec2(
        "route-table",
        makes="CreateRouteTable",
        changes="DeleteRouteTable",
        anywhere="DescribeRouteTables",
    ),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": _ec2(
        "route-table",
        changes="AssociateRouteTable DisassociateRouteTable ReplaceRouteTableAssociation",
        anywhere="DescribeRouteTables",
    ),
    "aws:ec2/securityGroup:SecurityGroup": _ec2(
        "security-group",
        makes="CreateSecurityGroup",
        changes="DeleteSecurityGroup RevokeSecurityGroupIngress RevokeSecurityGroupEgress",
        anywhere=_GROUP_READS,
    ),
    "aws:ec2/subnet:Subnet": _ec2(
        "subnet",
        makes="CreateSubnet",
        changes="ModifySubnetAttribute DeleteSubnet",
        anywhere="DescribeSubnets DescribeNetworkInterfaces",
    ),
    "aws:ec2/vpc:Vpc": _ec2(
        "vpc",
        makes="CreateVpc",
        changes="ModifyVpcAttribute DeleteVpc",
        anywhere="DescribeVpcs DescribeVpcAttribute DescribeNetworkAcls DescribeRouteTables"
        " DescribeSecurityGroups",
    ),
    # Private DNS of an endpoint is a zone that joins the VPC.
    "aws:ec2/vpcEndpoint:VpcEndpoint": _ec2(
        "vpc-endpoint",
        makes="CreateVpcEndpoint",
        changes="ModifyVpcEndpoint DeleteVpcEndpoints",
        anywhere="DescribeVpcEndpoints DescribePrefixLists",
        also=("route53:AssociateVPCWithHostedZone",),
    ),
    "aws:iam/instanceProfile:InstanceProfile": _named(
        "iam", "iam::{account}:instance-profile/{own}-host",
        "CreateInstanceProfile GetInstanceProfile DeleteInstanceProfile AddRoleToInstanceProfile"
        " RemoveRoleFromInstanceProfile TagInstanceProfile UntagInstanceProfile",
    ),
    "aws:iam/role:Role": _named(
        "iam", _ROLE,
        f"CreateRole {_ROLE_READS} UpdateRole UpdateAssumeRolePolicy DeleteRole TagRole UntagRole"
        " PassRole",
    ),
    "aws:iam/rolePolicy:RolePolicy": _named(
        "iam", _ROLE, "PutRolePolicy GetRolePolicy DeleteRolePolicy"
    ),
    "aws:route53/record:Record": Rights(
        arn=_ZONE,
        anywhere=("route53:ChangeResourceRecordSets", "route53:ListResourceRecordSets",
                  "route53:GetChange", "route53:GetHostedZone"),
    ),
    "aws:route53/zone:Zone": Rights(
        arn=_ZONE,
        anywhere=("route53:CreateHostedZone", "route53:GetHostedZone", "route53:DeleteHostedZone",
                  "route53:UpdateHostedZoneComment", "route53:AssociateVPCWithHostedZone",
                  "route53:ChangeTagsForResource", "route53:ListTagsForResource",
                  "route53:ListResourceRecordSets", "route53:GetChange", "ec2:DescribeVpcs"),
    ),
    "aws:scheduler/schedule:Schedule": _named(
        "scheduler", "scheduler:{region}:{account}:schedule/default/{own}-stop",
        "CreateSchedule GetSchedule UpdateSchedule DeleteSchedule",
    ),
    "aws:sns/topic:Topic": _named(
        "sns", _TOPIC,
        "CreateTopic GetTopicAttributes SetTopicAttributes DeleteTopic TagResource UntagResource"
        " ListTagsForResource",
    ),
    "aws:sns/topicPolicy:TopicPolicy": _named(
        "sns", _TOPIC, "GetTopicAttributes SetTopicAttributes"
    ),
    "aws:sns/topicSubscription:TopicSubscription": _named(
        "sns", _TOPIC, "Subscribe ListSubscriptionsByTopic",
        ("sns:GetSubscriptionAttributes", "sns:SetSubscriptionAttributes", "sns:Unsubscribe"),
    ),
    "aws:sqs/queue:Queue": _named(
        "sqs", _QUEUE,
        "CreateQueue GetQueueUrl GetQueueAttributes SetQueueAttributes DeleteQueue ListQueueTags"
        " TagQueue UntagQueue",
    ),
    "aws:sqs/queuePolicy:QueuePolicy": _named(
        "sqs", _QUEUE, "GetQueueAttributes SetQueueAttributes"
    ),
    "aws:ssm/document:Document": _named(
        "ssm", "ssm:{region}:{account}:document/{own}-stop",
        "CreateDocument DescribeDocument DescribeDocumentPermission GetDocument UpdateDocument"
        " UpdateDocumentDefaultVersion DeleteDocument AddTagsToResource RemoveTagsFromResource"
        " ListTagsForResource",
    ),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _ec2(
        "security-group-rule",
        makes="AuthorizeSecurityGroupEgress",
        changes="ModifySecurityGroupRules RevokeSecurityGroupEgress",
        anywhere="DescribeSecurityGroupRules",
    ),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _ec2(
        "security-group-rule",
        makes="AuthorizeSecurityGroupIngress",
        changes="ModifySecurityGroupRules RevokeSecurityGroupIngress",
        anywhere="DescribeSecurityGroupRules",
    ),
}  # fmt: skip
"""By type of resource, as the state has it."""

QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "aws:ec2/getAmi:getAmi": ("ec2:DescribeImages",),
    "aws:ec2/getManagedPrefixList:getManagedPrefixList": (
        "ec2:DescribeManagedPrefixLists",
        "ec2:GetManagedPrefixListEntries",
    ),
}
"""What the program asks while it is run."""
PREFLIGHT = (
    "ec2:DescribeAvailabilityZones",
    "ec2:DescribeCapacityReservations",
    "ec2:DescribeImages",
    "ec2:DescribeInstanceTypeOfferings",
    "ec2:DescribeInstances",
    "iam:GetRole",
    "iam:SimulatePrincipalPolicy",
    "pricing:GetProducts",
    "servicequotas:GetServiceQuota",
    "sts:GetCallerIdentity",
)
"""What the checks ask; a price that cannot be asked for is the catalogue's."""
STARTED_WITH = (
    "capacity-reservation", "image", "network-interface", "placement-group", "snapshot", "volume",
)  # fmt: skip
"""What RunInstances starts an instance with, or makes beside it, that has not the replica's tag."""
PASSED_TO = ("ec2.amazonaws.com", "scheduler.amazonaws.com", "ssm.amazonaws.com")


def kinds(plan: ReplicaPlan) -> frozenset[str]:
    """Return the types of resource that a plan takes."""
    intent, left_out = plan.intent, set[str]()
    if intent.access.kind != "session-manager":
        left_out.add("aws:iam/instanceProfile:InstanceProfile")
    if not plan.alarms_told:
        left_out.add("aws:sns/topicSubscription:TopicSubscription")
    if not plan.new_groups:
        left_out.add("aws:ec2/placementGroup:PlacementGroup")
    if intent.network.egress != "nat":
        left_out.add("aws:ec2/natGateway:NatGateway")
    if not any(subnet.kind == "public" for subnet in plan.subnets):
        left_out |= {"aws:ec2/eip:Eip", "aws:ec2/internetGateway:InternetGateway",
                     "aws:ec2/route:Route"}  # fmt: skip
    return frozenset(RIGHTS) - left_out


def actions(found: Iterable[str]) -> frozenset[str]:
    """Return every action that types of resource take."""
    rights = [RIGHTS[kind] for kind in found]
    return frozenset(a for one in rights for a in (*one.makes, *one.changes, *one.anywhere))
