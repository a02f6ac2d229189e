"""The role at Azure of whoever raises, plans and removes a replica, from `permissions.py`."""

from __future__ import annotations

import json

from fireflyer.model.replica_plan import ReplicaPlan
from infra.azure.permissions import TYPES, actions
from infra.tags import identity


def as_text(plan: ReplicaPlan) -> str:
    """Return the role as `az role definition create --role-definition` takes it."""
    writes = {a for kind in TYPES for a in actions(kind) if not a.endswith("/read")}
    role = {
        "Name": f"{identity(plan)}-owner",
        "Description": f"Raise, plan and remove replica {plan.name} of {plan.site}",
        "Actions": ["*/read", *sorted(writes)],
        "AssignableScopes": ["/subscriptions/<your subscription>"],
    }
    return json.dumps(role, indent=1)
