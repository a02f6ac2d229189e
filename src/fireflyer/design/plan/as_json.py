"""A study as one JSON object."""

from __future__ import annotations

import math
from dataclasses import asdict

from fireflyer.design.plan.figures import Plan
from fireflyer.design.plan.study import Study
from fireflyer.design.prices import Cost
from fireflyer.design.resilience import Loss


def as_json(found: Study) -> dict[str, object]:
    """Return a study as values that `json` prints."""
    plan, cost = found.plan, found.cost
    zones = {
        zone: {**asdict(budget), "used": budget.used, "free": budget.free}
        for zone, budget in plan.budgets.items()
    }
    return {
        "site": plan.site,
        "technology": plan.technology,
        "switches": {"total": sum(plan.switches.values()), **plan.switches},
        **{role: asdict(count) for role, count in plan.roles.items()},
        "cables": {"total": sum(plan.cables.values()), **plan.cables},
        "media": [
            {"medium": medium, "length_m": length, "count": count}
            for (medium, length), count in plan.media.items()
        ],
        "materials": [asdict(item) for item in found.items],
        "length_m": found.length_m,
        "cabling": asdict(found.cabling),
        "ports": {"zones": zones},
        "bisection": _bisection(plan),
        "paths": {tree: asdict(figures.paths) for tree, figures in plan.trees.items()},
        "losses": [_loss(loss) for loss in found.losses],
        "addresses": dict(plan.networks),
        "racks": plan.racks,
        "packet_memory": [asdict(use) for use in plan.memory],
        "power_kw": {**asdict(plan.power), "total_kw": plan.power.total_kw},
        "relative_price": {"network": plan.network_price, "servers": plan.server_price},
        "cost": _cost(cost) if cost is not None else None,
        "placeholder_guids": plan.placeholder_guids,
    }


def _bisection(plan: Plan) -> dict[str, object]:
    return {
        "zones": {
            tree: {
                "full": figures.is_full,
                "oversubscription": figures.oversubscription,
                "tbps": figures.bisection_tbps,
            }
            for tree, figures in plan.trees.items()
        },
        "interzone_gbps": plan.interzone_gbps,
        "interzone_switches": plan.interzone_switches,
    }


def _loss(loss: Loss) -> dict[str, object]:
    """Return a loss; an oversubscription without limit is null, since JSON has no infinity."""
    ratio = loss.oversubscription
    return {**asdict(loss), "oversubscription": ratio if math.isfinite(ratio) else None}


def _cost(cost: Cost) -> dict[str, object]:
    return {
        "currency": cost.currency,
        "complete": not cost.missing,
        **cost.built_in,
        "network": cost.network,
        "total": cost.total,
        "spares": cost.spares,
        "missing": list(cost.missing),
    }
