"""A plan in text, and as one JSON object."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from haiscale.planner.plan import Plan


def as_json(plan: Plan) -> dict[str, Any]:
    """Return the plan as JSON holds it."""
    return {
        "layout": asdict(plan.layout) | {"world": plan.layout.world},
        "node": plan.node.name,
        "visible_devices": plan.visible_devices,
        "hosts": [
            {"node_rank": number, "host": host.name, "zone": host.zone}
            for number, host in enumerate(plan.hosts)
        ],
        "ranks": [asdict(rank) for rank in plan.ranks],
        "rules": [asdict(rule) for rule in plan.rules],
    }


def as_text(plan: Plan) -> str:
    """Return the plan for a person: a line a node, then a line a rule."""
    return "\n".join(_lines(plan)) + "\n"


def _lines(plan: Plan) -> Iterator[str]:
    layout, gpus = plan.layout, len(plan.node.gpus)
    yield (
        f"{layout.world} ranks on {_count(len(plan.hosts), 'node')} ({plan.node.name}):"
        f" dp {layout.dp} x pp {layout.pp} x tp {layout.tp}, ep {layout.ep}"
    )
    yield f"CUDA_VISIBLE_DEVICES={plan.visible_devices} on every node"
    yield ""
    width = max(len(host.name) for host in plan.hosts)
    for number, host in enumerate(plan.hosts):
        ranks = plan.ranks[number * gpus : (number + 1) * gpus]
        yield (
            f"node {number:>4}  {host.name:<{width}}  zone {host.zone}"
            f"  ranks {ranks[0].rank}-{ranks[-1].rank}"
            f"  stage {_span([rank.pp for rank in ranks])}"
            f"  dp {_span([rank.dp for rank in ranks])}"
        )
    yield ""
    for rule in plan.rules:
        yield f"{rule.state:<11}  {rule.name}: {rule.why}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _span(numbers: list[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low}-{high}"
