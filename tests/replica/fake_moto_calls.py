"""The calls that make and remove each type of resource, for `fake_moto`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from tests.replica.fake_moto_network import (
    Made,
    associate,
    eip,
    endpoint,
    gateway,
    nat,
    no_eip,
    no_gateway,
    no_nat,
    route,
    subnet,
    table,
    tags_of,
    vpc,
)

if TYPE_CHECKING:
    from tests.replica.fake_moto import FakeMoto

REGION = "us-east-1"
Create: TypeAlias = Callable[["FakeMoto", str, Mapping[str, Any]], Made]
Delete: TypeAlias = Callable[["FakeMoto", str, Mapping[str, Any]], object]


def _key(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    moto.ec2.import_key_pair(
        KeyName=inputs["keyName"],
        PublicKeyMaterial=inputs["publicKey"].encode(),
        TagSpecifications=tags_of(inputs, "key-pair"),
    )
    return inputs["keyName"], {}


def _placement_group(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    assert inputs["name"] not in moto.groups
    assert inputs["strategy"] == "cluster"
    moto.groups.add(inputs["name"])
    return inputs["name"], {}


def _role(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    made = moto.iam.create_role(
        RoleName=inputs["name"], AssumeRolePolicyDocument=inputs["assumeRolePolicy"]
    )
    return inputs["name"], {"arn": made["Role"]["Arn"]}


def _policy(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    moto.iam.put_role_policy(
        RoleName=inputs["role"], PolicyName=name, PolicyDocument=inputs["policy"]
    )
    return name, {}


def _profile(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    moto.iam.create_instance_profile(InstanceProfileName=inputs["name"])
    moto.iam.add_role_to_instance_profile(
        InstanceProfileName=inputs["name"], RoleName=inputs["role"]
    )
    return inputs["name"], {}


def _no_profile(moto: FakeMoto, identity: str, outputs: Mapping[str, Any]) -> None:
    moto.iam.remove_role_from_instance_profile(
        InstanceProfileName=identity, RoleName=outputs["role"]
    )
    moto.iam.delete_instance_profile(InstanceProfileName=identity)


def _zone(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    made = moto.route53.create_hosted_zone(
        Name=inputs["name"],
        CallerReference=name,
        VPC={"VPCRegion": REGION, "VPCId": inputs["vpcs"][0]["vpcId"]},
        HostedZoneConfig={"PrivateZone": True, "Comment": inputs["comment"]},
    )
    identity = made["HostedZone"]["Id"].rpartition("/")[2]
    return identity, {"zoneId": identity}


def _topic(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    arn = moto.sns.create_topic(Name=inputs["name"])["TopicArn"]
    return arn, {"arn": arn}


def _subscription(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    made = moto.sns.subscribe(
        TopicArn=inputs["topic"], Protocol=inputs["protocol"], Endpoint=inputs["endpoint"]
    )
    return made["SubscriptionArn"], {}


def _topic_policy(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    moto.sns.set_topic_attributes(
        TopicArn=inputs["arn"], AttributeName="Policy", AttributeValue=inputs["policy"]
    )
    return inputs["arn"], {}


def _budget(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    moto.budgets.create_budget(
        AccountId="123456789012",
        Budget={
            "BudgetName": inputs["name"],
            "BudgetLimit": {"Amount": inputs["limitAmount"], "Unit": inputs["limitUnit"]},
            "TimeUnit": inputs["timeUnit"],
            "BudgetType": inputs["budgetType"],
        },
    )
    return inputs["name"], {}


def _alarm(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    dimensions = [{"Name": key, "Value": value} for key, value in inputs["dimensions"].items()]
    moto.cloudwatch.put_metric_alarm(
        AlarmName=inputs["name"],
        Namespace=inputs["namespace"],
        MetricName=inputs["metricName"],
        Statistic=inputs["statistic"],
        ComparisonOperator=inputs["comparisonOperator"],
        Threshold=inputs["threshold"],
        Period=int(inputs["period"]),
        EvaluationPeriods=int(inputs["evaluationPeriods"]),
        Dimensions=dimensions,
        AlarmActions=inputs["alarmActions"],
    )
    return inputs["name"], {}


def _schedule(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    target = inputs["target"]
    moto.scheduler.create_schedule(
        Name=inputs["name"],
        ScheduleExpression=inputs["scheduleExpression"],
        ScheduleExpressionTimezone=inputs["scheduleExpressionTimezone"],
        StartDate=datetime.fromisoformat(inputs["startDate"]),
        FlexibleTimeWindow={"Mode": inputs["flexibleTimeWindow"]["mode"]},
        Target={
            "Arn": target["arn"],
            "RoleArn": target["roleArn"],
            "Input": target["input"],
            "DeadLetterConfig": {"Arn": target["deadLetterConfig"]["arn"]},
        },
    )
    return inputs["name"], {}


def _runbook(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    moto.ssm.create_document(
        Name=inputs["name"],
        Content=inputs["content"],
        DocumentType=inputs["documentType"],
        DocumentFormat=inputs["documentFormat"],
    )
    return inputs["name"], {}


def _queue(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    url = moto.sqs.create_queue(QueueName=inputs["name"])["QueueUrl"]
    asked = moto.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    return url, {"url": url, "arn": asked["Attributes"]["QueueArn"]}


def _queue_policy(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    policy = {"Policy": inputs["policy"]}
    moto.sqs.set_queue_attributes(QueueUrl=inputs["queueUrl"], Attributes=policy)
    return inputs["queueUrl"], {}


def _event_rule(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    made = moto.events.put_rule(
        Name=inputs["name"], EventPattern=inputs["eventPattern"], State=inputs["state"]
    )
    return inputs["name"], {"arn": made["RuleArn"]}


def _event_target(moto: FakeMoto, name: str, inputs: Mapping[str, Any]) -> Made:
    target = {"Id": name, "Arn": inputs["arn"]}
    assert not moto.events.put_targets(Rule=inputs["rule"], Targets=[target])["FailedEntryCount"]
    return name, {}


CREATE: Mapping[str, Create] = {
    "aws:budgets/budget:Budget": _budget,
    "aws:cloudwatch/eventRule:EventRule": _event_rule,
    "aws:cloudwatch/eventTarget:EventTarget": _event_target,
    "aws:cloudwatch/metricAlarm:MetricAlarm": _alarm,
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": lambda m, n, i: m.unused_group(i),
    "aws:ec2/eip:Eip": eip,
    "aws:ec2/instance:Instance": lambda m, n, i: m.instance(n, i),
    "aws:ec2/internetGateway:InternetGateway": gateway,
    "aws:ec2/keyPair:KeyPair": _key,
    "aws:ec2/launchTemplate:LaunchTemplate": lambda m, n, i: m.template(n, i),
    "aws:ec2/natGateway:NatGateway": nat,
    "aws:ec2/placementGroup:PlacementGroup": _placement_group,
    "aws:ec2/route:Route": route,
    "aws:ec2/routeTable:RouteTable": table,
    "aws:ec2/routeTableAssociation:RouteTableAssociation": associate,
    "aws:ec2/securityGroup:SecurityGroup": lambda m, n, i: m.security_group(i),
    "aws:ec2/subnet:Subnet": subnet,
    "aws:ec2/vpc:Vpc": vpc,
    "aws:ec2/vpcEndpoint:VpcEndpoint": endpoint,
    "aws:iam/instanceProfile:InstanceProfile": _profile,
    "aws:iam/role:Role": _role,
    "aws:iam/rolePolicy:RolePolicy": _policy,
    "aws:route53/record:Record": lambda m, n, i: m.record("CREATE", i),
    "aws:route53/zone:Zone": _zone,
    "aws:scheduler/schedule:Schedule": _schedule,
    "aws:sns/topic:Topic": _topic,
    "aws:sns/topicPolicy:TopicPolicy": _topic_policy,
    "aws:sns/topicSubscription:TopicSubscription": _subscription,
    "aws:sqs/queue:Queue": _queue,
    "aws:sqs/queuePolicy:QueuePolicy": _queue_policy,
    "aws:ssm/document:Document": _runbook,
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": lambda m, n, i: m.rule("egress", i),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": lambda m, n, i: m.rule(
        "ingress", i
    ),
}
DELETE: Mapping[str, Delete] = {
    "aws:budgets/budget:Budget": lambda m, i, o: m.budgets.delete_budget(
        AccountId="123456789012", BudgetName=i
    ),
    "aws:cloudwatch/eventRule:EventRule": lambda m, i, o: m.events.delete_rule(Name=i),
    "aws:cloudwatch/eventTarget:EventTarget": lambda m, i, o: m.events.remove_targets(
        Rule=o["rule"], Ids=[i]
    ),
    "aws:cloudwatch/metricAlarm:MetricAlarm": lambda m, i, o: m.cloudwatch.delete_alarms(
        AlarmNames=[i]
    ),
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": lambda m, i, o: None,
    "aws:ec2/eip:Eip": no_eip,
    "aws:ec2/instance:Instance": lambda m, i, o: m.terminate(i),
    "aws:ec2/internetGateway:InternetGateway": no_gateway,
    "aws:ec2/keyPair:KeyPair": lambda m, i, o: m.ec2.delete_key_pair(KeyName=i),
    "aws:ec2/launchTemplate:LaunchTemplate": lambda m, i, o: m.ec2.delete_launch_template(
        LaunchTemplateId=i
    ),
    "aws:ec2/natGateway:NatGateway": no_nat,
    "aws:ec2/placementGroup:PlacementGroup": lambda m, i, o: m.groups.remove(i),
    "aws:ec2/route:Route": lambda m, i, o: m.ec2.delete_route(
        RouteTableId=o["routeTableId"], DestinationCidrBlock=o["destinationCidrBlock"]
    ),
    "aws:ec2/routeTable:RouteTable": lambda m, i, o: m.ec2.delete_route_table(RouteTableId=i),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": lambda m, i, o: (
        m.ec2.disassociate_route_table(AssociationId=i)
    ),
    "aws:ec2/securityGroup:SecurityGroup": lambda m, i, o: m.ec2.delete_security_group(GroupId=i),
    "aws:ec2/subnet:Subnet": lambda m, i, o: m.ec2.delete_subnet(SubnetId=i),
    "aws:ec2/vpc:Vpc": lambda m, i, o: m.ec2.delete_vpc(VpcId=i),
    "aws:ec2/vpcEndpoint:VpcEndpoint": lambda m, i, o: m.ec2.delete_vpc_endpoints(
        VpcEndpointIds=[i]
    ),
    "aws:iam/instanceProfile:InstanceProfile": _no_profile,
    "aws:iam/role:Role": lambda m, i, o: m.iam.delete_role(RoleName=i),
    "aws:iam/rolePolicy:RolePolicy": lambda m, i, o: m.iam.delete_role_policy(
        RoleName=o["role"], PolicyName=i
    ),
    "aws:route53/record:Record": lambda m, i, o: m.record("DELETE", o),
    "aws:route53/zone:Zone": lambda m, i, o: m.route53.delete_hosted_zone(Id=i),
    "aws:scheduler/schedule:Schedule": lambda m, i, o: m.scheduler.delete_schedule(Name=i),
    "aws:sns/topic:Topic": lambda m, i, o: m.sns.delete_topic(TopicArn=i),
    "aws:sns/topicPolicy:TopicPolicy": lambda m, i, o: None,
    "aws:sns/topicSubscription:TopicSubscription": lambda m, i, o: m.sns.unsubscribe(
        SubscriptionArn=i
    ),
    "aws:sqs/queue:Queue": lambda m, i, o: m.sqs.delete_queue(QueueUrl=i),
    "aws:sqs/queuePolicy:QueuePolicy": lambda m, i, o: None,
    "aws:ssm/document:Document": lambda m, i, o: m.ssm.delete_document(Name=i),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": lambda m, i, o: m.revoke(
        "egress", i, o
    ),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": lambda m, i, o: m.revoke(
        "ingress", i, o
    ),
}
