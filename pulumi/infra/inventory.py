"""The dynamic inventory that the stack exports: the plan's, and what the provider gave."""

from __future__ import annotations

from collections.abc import Mapping

from pulumi import Output

from fireflyer.model.replica_plan import ReplicaPlan
from fireflyer.render.inventory import Json
from fireflyer.render.replica import exported
from infra.parts import Text


def inventory_output(
    plan: ReplicaPlan, ids: Mapping[str, Text], jump: Text | None
) -> Output[dict[str, Json]]:
    """Return the inventory, known once the instances are there."""
    found = exported(plan)
    return Output.all(ids=dict(ids), jump=jump or "").apply(
        lambda known: with_instances(found, known["ids"], known["jump"])
    )


def with_instances(found: Mapping[str, Json], ids: Mapping[str, str], jump: str) -> dict[str, Json]:
    """Add each host's instance and the address of the bastion.

    >>> with_instances({"variables": {}, "hosts": {"mg01": {}}}, {"mg01": "i-1"}, "")["hosts"]
    {'mg01': {'replica_instance': 'i-1'}}
    """
    hosts, variables = _mapping(found["hosts"]), _mapping(found["variables"])
    return {
        **found,
        "variables": {**variables, "replica_jump": jump},
        "hosts": {
            name: {**_mapping(values), "replica_instance": ids[name]}
            for name, values in hosts.items()
        },
    }


def _mapping(value: Json) -> Mapping[str, Json]:
    assert isinstance(value, Mapping)
    return value
