"""Several sites side by side: the report of `fireflyer compare`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fireflyer.design.plan import Plan
from fireflyer.design.plan import as_json as plan_as_json

_ROWS: tuple[tuple[str, Callable[[Plan], str]], ...] = (
    ("zones", lambda plan: str(len(plan.budgets))),
    ("switches", lambda plan: f"{sum(plan.switches.values()):,}"),
    *(
        (f"  {layer}", lambda plan, layer=layer: f"{plan.switches[layer]:,}")
        for layer in ("leaf", "spine", "core", "interzone")
    ),
    ("host ports", lambda plan: f"{sum(b.total for b in plan.budgets.values()):,}"),
    ("  free", lambda plan: f"{sum(b.free for b in plan.budgets.values()):,}"),
    ("compute nodes", lambda plan: f"{plan.roles['compute'].nodes:,}"),
    ("GPUs", lambda plan: f"{plan.roles['compute'].gpus:,}"),
    ("storage nodes", lambda plan: f"{plan.roles['storage'].nodes:,}"),
    ("cables", lambda plan: f"{sum(plan.cables.values()):,}"),
    ("  to hosts", lambda plan: f"{plan.cables['host']:,}"),
    ("  between switches", lambda plan: f"{plan.cables['tree'] + plan.cables['interzone']:,}"),
    ("cable length m", lambda plan: f"{sum(m * n for (_, m), n in plan.media.items()):,.0f}"),
    ("oversubscription", lambda plan: f"{plan.oversubscription:.2f}"),
    ("bisection Tb/s a zone", lambda plan: f"{plan.bisection_tbps:g}"),
    ("between zones Tb/s", lambda plan: f"{plan.interzone_gbps / 1000:g}"),
    ("power kW", lambda plan: f"{plan.power.total_kw:,.0f}"),
    ("  switches kW", lambda plan: f"{plan.power.switches_kw:,.1f}"),
    ("network price", lambda plan: f"{plan.network_price:,.0f}"),
    ("server price", lambda plan: f"{plan.server_price:,.0f}"),
)


def as_json(plans: Sequence[Plan]) -> dict[str, object]:
    """Return the plans as one JSON object, in the order given."""
    return {"sites": [plan_as_json(plan) for plan in plans]}


def as_text(plans: Sequence[Plan]) -> str:
    """Return the plans as a table, a column for each."""
    width = max(12, *(len(plan.site) for plan in plans)) + 2
    lines = [f"{'':<24}" + "".join(f"{plan.site:>{width}}" for plan in plans)]
    for name, figure in _ROWS:
        lines.append(f"{name:<24}" + "".join(f"{figure(plan):>{width}}" for plan in plans))
    lines.append(
        "prices in the unit of the paper's Table III; power to plan with, nodes under load"
    )
    return "\n".join(lines)
