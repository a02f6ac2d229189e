"""End a replica's instances, found by tag. AWS Systems Manager runs the text of this file.

Each instance is ended by its own call: one that is gone or cannot be ended keeps no other one
running. What could not be ended fails the execution, which is reported.
"""

import boto3


def end(events: dict[str, str], context: object) -> dict[str, list[str]]:
    """Stop instances on demand, terminate the others; raise if one could not be ended."""
    ec2 = boto3.client("ec2")
    filters = [
        {"Name": "tag:" + events["Tag"], "Values": [events["Replica"]]},
        {"Name": "instance-state-name", "Values": ["pending", "running"]},
    ]
    ended: list[str] = []
    failed: list[str] = []
    for page in ec2.get_paginator("describe_instances").paginate(Filters=filters):
        for reservation in page["Reservations"]:
            for instance in reservation["Instances"]:
                name = instance["InstanceId"]
                # A spot instance cannot be stopped; one of a capacity block has none to return to.
                on_demand = not instance.get("InstanceLifecycle")
                call = ec2.stop_instances if on_demand else ec2.terminate_instances
                try:
                    call(InstanceIds=[name])
                    ended.append(name)
                except Exception as error:
                    failed.append(f"{name}: {error}")
    if failed:
        raise RuntimeError("; ".join(failed))
    return {"ended": ended}
