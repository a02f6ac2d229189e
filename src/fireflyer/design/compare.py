"""Several sites side by side: the report of `fireflyer compare`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fireflyer.design.plan.as_json import as_json as study_as_json
from fireflyer.design.plan.as_text import share
from fireflyer.design.plan.figures import Plan, TreeFigures
from fireflyer.design.plan.study import Study
from fireflyer.model.cable_parts import MEDIA

_PLAN: tuple[tuple[str, Callable[[Plan], str]], ...] = (
    ("zones or planes", lambda plan: f"{len(plan.trees)}"),
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
    ("links", lambda plan: f"{sum(plan.cables.values()):,}"),
    ("  to hosts", lambda plan: f"{plan.cables['host']:,}"),
    ("  between switches", lambda plan: f"{plan.cables['tree'] + plan.cables['interzone']:,}"),
)
_TREE: tuple[tuple[str, Callable[[TreeFigures], str]], ...] = (
    ("bisection Tb/s a tree", lambda tree: f"{tree.bisection_tbps:,g}"),
    ("oversubscription", lambda tree: f"{tree.oversubscription:.2f}"),
    ("switches host to host", lambda tree: f"{tree.paths.switches or '-'}"),
    ("shortest paths", lambda tree: f"{tree.paths.shortest:,}"),
    ("  without common cable", lambda tree: f"{tree.paths.disjoint:,}"),
)
_REST: tuple[tuple[str, Callable[[Plan], str]], ...] = (
    ("between zones Tb/s", lambda plan: f"{plan.interzone_gbps / 1000:g}"),
    ("  switches on the way", lambda plan: f"{plan.interzone_switches or '-'}"),
    ("racks", lambda plan: f"{plan.racks:,}"),
    ("power kW", lambda plan: f"{plan.power.total_kw:,.0f}"),
    ("  switches kW", lambda plan: f"{plan.power.switches_kw:,.1f}"),
    ("network price", lambda plan: f"{plan.network_price:,.0f}"),
    ("server price", lambda plan: f"{plan.server_price:,.0f}"),
)
_LOSSES = ("leaf", "spine", "core", "gateway leaf", "interzone switch")


def as_json(studies: Sequence[Study]) -> dict[str, object]:
    """Return the studies as one JSON object, in the order given."""
    return {"sites": [study_as_json(study) for study in studies]}


def as_text(studies: Sequence[Study]) -> str:
    """Return the studies as a table, a column for each."""
    width = max(12, *(len(study.plan.site) for study in studies)) + 2
    lines = [f"{'':<24}" + "".join(f"{study.plan.site:>{width}}" for study in studies)]
    for name, figures in _rows(studies):
        lines.append(f"{name:<24}" + "".join(f"{figure:>{width}}" for figure in figures))
    lines.append(
        "prices in the unit of the paper's Table III; power to plan with, nodes under load"
    )
    lines += [
        f"no price in {study.plan.site}: {', '.join(study.cost.missing)}"
        for study in studies
        if study.cost is not None and study.cost.missing
    ]
    return "\n".join(lines)


def _rows(studies: Sequence[Study]) -> Iterator[tuple[str, list[str]]]:
    plans = [study.plan for study in studies]
    yield from ((name, [figure(plan) for plan in plans]) for name, figure in _PLAN)
    yield "cables to buy", [f"{sum(study.bought.values()):,}" for study in studies]
    for medium in MEDIA:
        if any(medium in study.bought for study in studies):
            yield f"  {medium}", [f"{study.bought.get(medium, 0):,}" for study in studies]
    yield "  length m", [f"{study.length_m:,.0f}" for study in studies]
    yield "transceivers", [f"{study.transceivers:,}" for study in studies]
    for name, of_tree in _TREE:
        yield name, [_each(plan, of_tree) for plan in plans]
    yield from ((name, [figure(plan) for plan in plans]) for name, figure in _REST)
    for kind in _LOSSES:
        yield from _lost(studies, kind)
    if all(study.cost is not None for study in studies):
        costs = [study.cost for study in studies if study.cost is not None]
        least = ["> " if cost.missing else "" for cost in costs]
        sums = [f"{cost.total:,.0f} {cost.currency}" for cost in costs]
        yield "cost", [a + b for a, b in zip(least, sums, strict=True)]
        yield "  network", [f"{cost.network:,.0f}" for cost in costs]


def _each(plan: Plan, figure: Callable[[TreeFigures], str]) -> str:
    """Return a figure of the trees: once if all have the same."""
    return " ".join(dict.fromkeys(figure(tree) for tree in plan.trees.values()))


def _lost(studies: Sequence[Study], kind: str) -> Iterator[tuple[str, list[str]]]:
    found = [next((x for x in study.losses if x.kind == kind), None) for study in studies]
    if not any(found):
        return
    yield (
        f"{kind} lost",
        [f"{x.nodes_cut_off:,} cut off" if x else "-" for x in found],
    )
    yield "  bisection", [share(x.bisection_share) if x else "-" for x in found]
    if "interzone" in kind or "gateway" in kind:
        yield "  between zones", [share(x.interzone_share) if x else "-" for x in found]
