"""The edits: file below `pulumi/infra/`, text that occurs in it once, and what it becomes."""

from __future__ import annotations

from typing import NamedTuple


class Edit(NamedTuple):
    """One change of the program."""

    file: str
    old: str
    new: str


MEANING = (
    # What is asked, and what hosts start from.
    Edit("aws/image.py", "owners=[image.owner] if image.owner is not None else None", "owners=None"),
    Edit("aws/image.py", "most_recent=False", "most_recent=True"),
    Edit("aws/image.py", '("image-id", image.id)', '("name", image.id)'),
    Edit("azure/machine.py", "version=image.version", 'version="latest"'),
    # The end on AWS.
    Edit("aws/stop.py", 'EVERY = "rate(1 hours)"', 'EVERY = "rate(1 days)"'),
    Edit("aws/stop.py", "            start_date=plan.expires,\n", ""),
    Edit("aws/stop.py", 'state="ENABLED",\n            flexible', 'state="DISABLED",\n            flexible'),
    Edit("aws/stop.py", '"scheduler.amazonaws.com"', '"events.amazonaws.com"'),
    Edit("aws/stop.py", '"ssm.amazonaws.com", _may_end', '"ec2.amazonaws.com", _may_end'),
    Edit("aws/stop.py", "policy=policy, opts=self.child", 'policy="{}", opts=self.child'),
    Edit("aws/stop.py", '"ec2:TerminateInstances"],', "],"),
    Edit("aws/stop.py", '{"Action": ["ec2:DescribeInstances"], "Resource": "*"},', ""),
    Edit("aws/stop.py", '{f"aws:ResourceTag/{REPLICA}": identity(plan)}', '{f"aws:RequestTag/{REPLICA}": identity(plan)}'),
    Edit("aws/stop.py", '{"StringEquals": {f"aws:ResourceTag/{REPLICA}": identity(plan)}}', "{}"),
    Edit("aws/stop.py", '"dead_letter_config": {"arn": queue.arn},', ""),
    Edit("aws/stop.py", '{"Action": ["sqs:SendMessage"], "Resource": queue},', ""),
    Edit("aws/stop.py", '"Action": ["iam:PassRole"]', '"Action": ["iam:GetRole"]'),
    Edit("aws/stop.py", "automation-definition/{runbook}:*", "automation-definition/{runbook}"),
    Edit("aws/stop.py", "ssm:startAutomationExecution", "ssm:sendCommand"),
    Edit("aws/stop.py", "alarm_actions=[watch.told]", "alarm_actions=[]"),
    Edit("aws/stop.py", "ApproximateNumberOfMessagesVisible", "NumberOfMessagesSent"),
    Edit("aws/stop.py", '["Failed", "TimedOut", "Cancelled"]', '["Failed"]'),
    Edit("aws/stop.py", '"Principal": {"Service": ["events.amazonaws.com"]}', '"Principal": {"Service": ["sns.amazonaws.com"]}'),
    Edit("aws/stop.py", '"InputPayload": {"Tag": REPLICA,', '"InputPayload": {"Tag": "Name",'),
    Edit("aws/end_instances.py", '["pending", "running"]', '["stopped"]'),
    Edit("aws/end_instances.py", "                except Exception as error:\n                    failed.append", "                except KeyError as error:\n                    failed.append"),
    Edit("aws/end_instances.py", 'on_demand = not instance.get("InstanceLifecycle")', "on_demand = True"),
    Edit("aws/end_instances.py", "    if failed:\n", "    if not failed:\n"),
    Edit("aws/instance.py", "opts=ground.after_end(self)", "opts=child"),
    Edit("aws/bastion.py", "opts=ground.after_end(self)", "opts=ResourceOptions(parent=self)"),
    Edit("parts.py", "depends_on=[self.end]", "depends_on=[]"),
    # The end on Azure.
    Edit("azure/stop.py", '"frequency": "Hour"', '"frequency": "Month"'),
    Edit("azure/stop.py", '"startTime": expires', '"startTime": "2040-01-01T00:00:00Z"'),
    Edit("azure/stop.py", 'state="Enabled"', 'state="Disabled"'),
    Edit("azure/stop.py", '"stop", principal, MAY_FIND, MAY_STOP', '"stop", principal, MAY_STOP'),
    Edit("azure/stop.py", '"runAfter": {"each": ["Succeeded", "Failed"]}', '"runAfter": {"each": ["Succeeded"]}'),
    Edit("azure/stop.py", "coalesce(body('list')?['nextLink'], '')", "coalesce(body('list')?['next'], '')"),
    Edit("azure/stop.py", "self.identity = hosts.id", "self.identity = home.id"),
    Edit("azure/stop.py", "scope=home.id,\n            role_definition_id", 'scope=home.id.apply(lambda of: of.rpartition("/")[0]),\n            role_definition_id'),
    Edit("azure/stop.py", '"metric_name": "ActionsFailed"', '"metric_name": "RunsStarted"'),
    Edit("azure/stop.py", "?['id']}}/deallocate\"", "?['id']}}/powerOff\""),
    Edit("azure/machine.py", "opts=frame.ground.after_end(frame.parent)", "opts=ResourceOptions(parent=frame.parent)"),
    # Of each host.
    Edit("boot.py", "units = [*((UNIT,) if routes else ()), END_TIMER]", "units = [*((UNIT,) if routes else ())]"),
    Edit("boot.py", '"permissions": "0755"', '"permissions": "0644"'),
    Edit("boot.py", "OnUnitInactiveSec=5min", "OnUnitInactiveSec=5d"),
    Edit("replica_end.py", ">= expires\n", "> expires + (expires - moment('2029-01-01T00:00:00Z'))\n"),
    Edit("replica_end.py", "(now or datetime.now(UTC))", "datetime.now(UTC)"),
    Edit("replica_end.py", '["systemctl", "poweroff"]', '["systemctl", "reboot"]'),
    Edit("replica_end.py", "UNKNOWN_S = 24 * 3600", "UNKNOWN_S = 240 * 3600"),
    Edit("aws/instance.py", 'instance_metadata_tags="enabled"', 'instance_metadata_tags="disabled"'),
    Edit("aws/instance.py", 'return "stop" if bought', 'return "terminate" if bought'),
    # Network and ways.
    Edit("aws/network.py", "self._nat(private, gateway)", "self._nat(public, gateway)"),
    Edit("aws/network.py", "self._s3(private)", 'self._s3(self._table("unused", []))'),
    Edit("aws/network.py", 'subnet_id=self.subnets["public"]', 'subnet_id=self.subnets["management"]'),
    Edit("aws/network.py", 'if s.kind != "public"', 'if s.kind == "zone"'),
    Edit("aws/network.py", "enable_dns_hostnames=True", "enable_dns_hostnames=False"),
    Edit("aws/network.py", "map_public_ip_on_launch=False", "map_public_ip_on_launch=True"),
    Edit("aws/network.py", "ingress=[], egress=[]", 'ingress=[], egress=[{"protocol": "-1", "from_port": 0, "to_port": 0}]'),
    Edit("aws/network.py", "availability_zone=plan.intent.zone", 'availability_zone=f"{plan.intent.region}b"'),
    Edit("azure/network.py", "default_outbound_access=False", "default_outbound_access=True"),
    Edit("azure/network.py", 'if nat is not None and closed else None', "if nat is not None and not closed else None"),
    Edit("azure/network.py", '[{"service": "Microsoft.Storage"}]', '[{"service": "Microsoft.Sql"}]'),
    # Who may reach whom.
    Edit("aws/security.py", "private_dns_enabled=True", "private_dns_enabled=False"),
    Edit("aws/security.py", '    "ssmmessages:OpenDataChannel",\n', ""),
    Edit("aws/security.py", 'trust("ec2.amazonaws.com")', 'trust("ssm.amazonaws.com")'),
    Edit("aws/security.py", 'self._rule("in", "ssh-from-bastion", self.hosts, "tcp", SSH, peer=self.bastion)', "pass"),
    Edit("aws/security.py", 'self._rule("out", "efa-out", self.hosts, "-1", peer=self.hosts)', 'self._rule("out", "efa-out", self.hosts, "tcp", 0, peer=self.hosts)'),
    Edit("aws/security.py", "SSH, HTTP, HTTPS = 22, 80, 443", "SSH, HTTP, HTTPS = 23, 80, 443"),
    Edit("azure/security.py", 'yield rule("nothing-else-out", "Outbound", LAST, allow=False)\n\n    def _of_bastion', "\n    def _of_bastion"),
    Edit("azure/security.py", 'yield rule("ssh-in", "Inbound", FIRST, "Tcp", SSH, sources=cidrs, targets=bastion)', 'yield rule("ssh-in", "Inbound", FIRST, "Tcp", SSH, sources=["Internet"], targets=bastion)'),
    Edit("azure/security.py", 'yield rule("hosts-in", "Inbound", FIRST, sources=self.inside, targets=self.inside)', 'yield rule("hosts-in", "Inbound", FIRST, "Tcp", sources=self.inside, targets=self.inside)'),
    # Hosts.
    Edit("aws/instance.py", '"efa-only"}', '"efa"}'),
    Edit("aws/instance.py", "private_ip_address=str(found.address)", "private_ip_address=str(found.address + 1)"),
    Edit("aws/instance.py", "security_groups=[self.ground.security.hosts]", "security_groups=[]"),
    Edit("aws/instance.py", 'encrypted="true"', 'encrypted="false"'),
    Edit("aws/instance.py", 'http_tokens="required"', 'http_tokens="optional"'),
    Edit("aws/instance.py", "instance_market_options=market(host)", "instance_market_options=None"),
    Edit("aws/instance.py", '"tags": lasting_tags(plan, host.name)', '"tags": labels'),
    Edit("aws/bastion.py", "vpc_security_group_ids=[ground.security.bastion]", "vpc_security_group_ids=[ground.security.hosts]"),
    Edit("azure/machine.py", 'security_profile={"encryption_at_host": True}', 'security_profile={"encryption_at_host": False}'),
    Edit("azure/machine.py", "disable_password_authentication=True", "disable_password_authentication=False"),
    Edit("azure/machine.py", 'eviction_policy="Deallocate"', 'eviction_policy="Delete"'),
    Edit("azure/machine.py", '"primary": number == 0', '"primary": number == len(interfaces) - 1'),
    Edit("azure/machine.py", '"disk_size_gb": DISK_GB', '"disk_size_gb": 30'),
    Edit("azure/placement.py", "platform_fault_domain_count=1", "platform_fault_domain_count=3"),
    # Names, alarms, money, tags, replacement.
    Edit("aws/dns.py", "records=[str(address)]", "records=[str(host.address)]"),
    Edit("azure/dns.py", 'virtual_network={"id": network.id}', 'virtual_network={"id": zone.id}'),
    Edit("aws/watch.py", 'for name in ("budgets", "cloudwatch")', 'for name in ("budgets",)'),
    Edit("aws/watch.py", '"aws:SourceAccount": account', '"aws:SourceAccount": "*"'),
    Edit("aws/watch.py", "topic=topic.arn, protocol", "topic=topic.id, protocol"),
    Edit("aws/watch.py", 'metric_name="StatusCheckFailed"', 'metric_name="CPUUtilization"'),
    Edit("aws/watch.py", '"breaching" if host in spot else "missing"', '"missing"'),
    Edit("aws/watch.py", "plan.intent.usd_per_day_ceiling:.2f", "plan.usd_per_day:.2f"),
    Edit("aws/watch.py", "user:{REPLICA}${identity(plan)}", "{REPLICA}${identity(plan)}"),
    Edit("azure/watch.py", '"operator": "LessThan"', '"operator": "GreaterThan"'),
    Edit("azure/watch.py", "receivers = [] if mail is None else", "receivers = [] if mail else"),
    Edit("azure/watch.py", "* plan.intent.ttl_hours / HOURS_A_DAY", "* HOURS_A_DAY / plan.intent.ttl_hours"),
    Edit("tags.py", '"owner": plan.intent.owner', '"owner": plan.site'),
    Edit("tags.py", 'return f"{plan.site}-{plan.name}"', "return plan.site"),
    Edit("replica.py", "delete_before_replace=True", "delete_before_replace=False"),
    Edit("replica.py", "if plan.expires is None:", "if plan is None:"),
    Edit("inventory.py", '"replica_jump": jump', '"replica_jump": ""'),
    # Raising and removing.
    Edit("operate.py", "            # What was lost since is in the state: without a look it would never be made again.\n            stack.refresh(on_output=_tell, clear_pending_creates=True)\n", ""),
    Edit("operate.py", "except (Exception, KeyboardInterrupt) as error:\n        interrupted = isinstance(error, KeyboardInterrupt)\n        _say(\"interrupted\" if interrupted else f\"error: {_reason(error)}\")\n        _say(_what_runs", "except Exception as error:\n        interrupted = isinstance(error, KeyboardInterrupt)\n        _say(\"interrupted\" if interrupted else f\"error: {_reason(error)}\")\n        _say(_what_runs"),
    Edit("operate.py", "            stack.refresh(on_output=_tell, clear_pending_creates=True)\n            stack.destroy", "            stack.refresh(on_output=_tell)\n            stack.destroy"),
    Edit("preview.py", '"replace": "REPLACED"', '"replace": "~"'),
    Edit("interrupt.py", "os.waitpid(-1, 0)", "os.waitpid(-1, os.WNOHANG); break"),
    Edit("aws/running.py", '["pending", "running"]', '["pending", "running", "stopped"]'),
    Edit("aws/ask.py", "if lifecycle == \"capacity-block\" or _own(instance, self.plan):", "if lifecycle == \"capacity-block\":"),
    Edit("aws/ask.py", 'found["AvailableInstanceCount"] + len(own)', 'found["AvailableInstanceCount"]'),
    Edit("azure/ask.py", 'usage["currentValue"] - self._own_vcpus(code)', 'usage["currentValue"]'),
    Edit("azure/running.py", "if one[\"id\"].casefold() not in gone", "if one[\"id\"] not in gone"),
)  # fmt: skip
HARMLESS = (
    Edit("aws/stop.py", 'f"End of replica {plan.name} of {plan.site}",\n            schedule', 'f"The end of replica {plan.name} of {plan.site}",\n            schedule'),
    Edit("aws/network.py", "# The group that a VPC comes with", "# The default group"),
    Edit("replica.py", "kinds = (Compute, Storage, Management)", "kinds = (Management, Compute, Storage)"),
)  # fmt: skip
