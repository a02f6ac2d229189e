"""What raising a replica takes of rights at Azure: of every kind of resource that it declares."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.replica.conftest import Run
from tests.replica.fake_azure import PATHS
from tests.stacks import READY, make_stack

from fireflyer.design.replica import plan_replica
from fireflyer.load.replica import load_replica
from infra.azure.permissions import TYPES, actions, permissions
from infra.azure.policy import as_text

SUBSCRIPTION = "12345678-1234-1234-1234-123456789012"
GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/fire-flyer-2-infiniband"
REST = "providers/Microsoft.Authorization/permissions"
CONTRIBUTOR = {
    "actions": ["*"],
    "notActions": ["Microsoft.Authorization/*/Delete", "Microsoft.Authorization/*/Write"],
}
"""As Azure's page of built-in roles has it, in part."""


def test_every_kind_that_a_program_declares_has_rights(run: Run) -> None:
    _, graph = run("infiniband")
    declared = {f.kind for f in graph.resources if f.kind.startswith("azure-native:")}
    assert declared == set(TYPES) == set(PATHS)
    # A resource that another one names is joined by it: Azure's "permissions reference", Compute
    # and Network.
    assert {
        action for kind in TYPES for action in actions(kind) if action.endswith("/action")
    } == {
        "Microsoft.ManagedIdentity/userAssignedIdentities/assign/action",
        *(
            f"Microsoft.Network/{path}/join/action"
            for path in ("natGateways", "networkInterfaces", "networkSecurityGroups",
                         "publicIPAddresses", "virtualNetworks", "virtualNetworks/subnets")
        ),
    }  # fmt: skip
    for kind, path in PATHS.items():
        assert TYPES[kind].rpartition("/")[2] == path.rpartition("/")[2]


def asked(there: Mapping[str, Any]) -> Any:
    def get(path: str, version: str, more: Mapping[str, str]) -> Any:
        assert path.endswith(REST)
        return {"value": there[path]} if path in there else None

    return permissions(SUBSCRIPTION, GROUP, get)


@pytest.mark.parametrize("where", [GROUP, f"/subscriptions/{SUBSCRIPTION}"])
def test_a_contributor_lacks_the_roles_of_the_end(where: str) -> None:
    found = asked({f"{where}/{REST}": [CONTRIBUTOR]})
    assert found.unchecked == ""
    assert found.missing == {
        f"azure-native:authorization:{kind}": (
            f"Microsoft.Authorization/{path}/write",
            f"Microsoft.Authorization/{path}/delete",
        )
        for kind, path in (("RoleAssignment", "roleAssignments"),
                           ("RoleDefinition", "roleDefinitions"))
    }  # fmt: skip


def test_the_role_that_is_printed_is_enough_and_each_action_of_it_is_needed(
    tmp_path: Path,
) -> None:
    plan = plan_replica(load_replica(make_stack(tmp_path, "infiniband", READY)))
    role = json.loads(as_text(plan))
    where = f"/subscriptions/{SUBSCRIPTION}/{REST}"
    assert asked({where: [{"actions": role["Actions"]}]}).missing == {}
    assert len(role["Actions"]) > 40
    for action in role["Actions"][1:]:
        left = [one for one in role["Actions"] if one != action]
        ((kind, lacks),) = asked({where: [{"actions": left, "notActions": []}]}).missing.items()
        assert lacks == (action,)
        assert action in actions(kind)


def test_without_an_answer_it_is_said() -> None:
    assert asked({}).unchecked == "Azure does not tell what it may do"
