"""A program with two replicas in one stack: the second has a name and network of its own."""

import dataclasses
import importlib
import json
from pathlib import Path
from typing import Any

from fireflyer.load.replica import PROJECT, configured_replica
from infra.replica import Replica, ReplicaArgs


def main() -> None:
    """Declare both."""
    pulumi: Any = importlib.import_module("pulumi")
    config, file = pulumi.Config(), Path(__file__).with_name(f"Pulumi.{pulumi.get_stack()}.yaml")
    values = {f"{PROJECT}:{key}": config.require(key) for key in ("replica", "expires")}
    first = Replica("first", ReplicaArgs(replica=configured_replica("both", values, file)))
    values[f"{PROJECT}:replica"] = json.dumps(
        {**json.loads(values[f"{PROJECT}:replica"]), "network": {"cidr": "10.61.0.0/16"}}
    )
    second = Replica("second", ReplicaArgs(replica=configured_replica("both", values, file)))
    assert dataclasses.replace(first.plan, name="second").intent != second.plan.intent
    pulumi.export("inventory", first.inventory)
    pulumi.export("second", second.inventory)


if __name__ == "__main__":
    main()
