"""A study as a page."""

from __future__ import annotations

from collections.abc import Iterator

from fireflyer.design.plan.cabling import Cabling
from fireflyer.design.plan.figures import Plan, RoleCount, TreeFigures
from fireflyer.design.plan.study import Study
from fireflyer.design.prices import Cost
from fireflyer.design.resilience import Loss


def as_text(found: Study) -> str:
    """Return a study as a page for a person."""
    plan = found.plan
    kind = plan.tree_kind
    lines = [
        f"{plan.site}: {plan.technology}, {len(plan.budgets)} {kind}(s)",
        "",
        *_counts(plan),
        "",
        *_budgets(plan),
        "",
        *_bandwidth(plan),
        *_memory(plan),
        *_money(plan, found.cost),
        "networks    " + ", ".join(f"{name} {net}" for name, net in plan.networks.items()),
        *_bill(found),
        *_cabling(found.cabling),
        "",
        *_losses(found.losses, kind),
    ]
    if plan.placeholder_guids:
        lines += [
            "",
            f"note        {plan.placeholder_guids:,} GUIDs are placeholders, assets.csv lacks them",
        ]
    return "\n".join(lines)


def _counts(plan: Plan) -> Iterator[str]:
    layers = ", ".join(f"{count:,} {layer}" for layer, count in plan.switches.items() if count)
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in plan.cables.items() if count)
    yield f"switches    {sum(plan.switches.values()):>8,}   {layers}"
    yield from (_role(name, count) for name, count in plan.roles.items())
    yield f"cables      {sum(plan.cables.values()):>8,}   {kinds}"
    yield f"racks       {plan.racks:>8,}"


def _role(name: str, count: RoleCount) -> str:
    zones = ", ".join(f"{number:,} in zone {zone}" for zone, number in count.per_zone.items())
    gpus = f", {count.gpus:,} GPUs" if count.gpus else ""
    return f"{name:<12}{count.nodes:>8,}   {zones}{gpus}"


def _budgets(plan: Plan) -> Iterator[str]:
    yield (
        f"{'host ports':<12}{'total':>8}{'compute':>9}{'storage':>9}{'mgmt':>7}"
        f"{'interzone':>11}{'used':>7}{'free':>7}"
    )
    for tree, b in plan.budgets.items():
        yield (
            f"  {plan.tree_kind + ' ' + tree:<10}{b.total:>8,}{b.compute:>9,}{b.storage:>9,}"
            f"{b.management:>7,}{b.interzone:>11,}{b.used:>7,}{b.free:>7,}"
        )


def _bandwidth(plan: Plan) -> Iterator[str]:
    same: dict[TreeFigures, list[str]] = {}
    for tree, figures in plan.trees.items():
        same.setdefault(figures, []).append(tree)
    for figures, trees in same.items():
        found = figures.paths
        yield (
            f"bisection   {figures.bisection_tbps:>8g}   Tb/s each way in {plan.tree_kind}"
            f" {', '.join(trees)}: {figures.fullness} (oversubscription"
            f" {figures.oversubscription:.2f})"
        )
        yield (
            f"paths       {found.shortest:>8,}   shortest between far hosts, over"
            f" {found.switches or 'no'} switches; {found.disjoint:,} share no cable"
        )
    if plan.interzone_switches is not None:
        yield (
            f"interzone   {plan.interzone_gbps / 1000:>8g}   Tb/s each way,"
            f" {plan.interzone_switches} switches between far hosts"
        )
    power = plan.power
    yield (
        f"power       {power.total_kw:>8,.0f}   kW: compute {power.compute_kw:,.0f}, storage"
        f" {power.storage_kw:,.0f}, switches {power.switches_kw:,.0f}, management"
        f" {power.management_kw:,.1f}"
    )


def _memory(plan: Plan) -> Iterator[str]:
    for use in plan.memory:
        reserved, total = use.total_bytes - use.shared_bytes, use.total_bytes
        yield (
            f"memory      {use.shared_bytes / 1e6:>8.1f}   MB that the ports of {use.switch} share;"
            f" headroom and other reserves take {reserved / 1e6:.1f} of {total / 1e6:.1f} MB, more"
            f" than on any other {use.layer}"
        )


def _money(plan: Plan, cost: Cost | None) -> Iterator[str]:
    yield (
        f"price       {plan.network_price + plan.server_price:>8,.0f}   units of the paper's"
        f" Table III: network {plan.network_price:,.0f}, servers {plan.server_price:,.0f}"
    )
    if cost is None:
        return
    least = "at least; " if cost.missing else ""
    kinds = ", ".join(f"{kind} {sum_:,.0f}" for kind, sum_ in cost.built_in.items())
    yield f"cost        {cost.total:>8,.0f}   {cost.currency}, {least}{kinds}"
    yield f"  spares    {cost.spares:>8,.0f}   {cost.currency} more"
    yield from (f"  no price for {item}" for item in cost.missing)


def _bill(found: Study) -> Iterator[str]:
    cables = sum(found.bought.values())
    yield f"to buy      {cables:>8,}   cables, {found.length_m:,.0f} m; in all, with spares:"
    for item in found.items:
        spares = f" + {item.spares:,}" if item.spares else ""
        length = f" {item.length_m:g} m" if item.length_m is not None else ""
        count = f"{item.quantity:,}{spares}"
        yield f"  {count:>18}   {item.part}{length}"


def _cabling(cabling: Cabling) -> Iterator[str]:
    yield (
        f"cabling     {cabling.length_m / 1000:>8,.1f}   km bought, {cabling.bundles:,} bundles,"
        f" {cabling.bundles_between_racks:,} of them between racks"
    )
    yield (
        f"  racks a leaf reaches  {cabling.racks_per_leaf:.1f} on average,"
        f" {cabling.racks_per_leaf_max} at most; leaves a node rack reaches"
        f"  {cabling.leaves_per_rack:.1f} on average, {cabling.leaves_per_rack_max} at most"
    )


def _losses(losses: tuple[Loss, ...], kind: str) -> Iterator[str]:
    yield "impact of one failure, the worst of its kind:"
    yield (
        f"{'lost':<18}{'nodes cut off':>14}{'lose a port':>13}{'storage':>9}"
        f"{'bisection':>11}{'oversub.':>10}{'interzone':>11}{'no SM':>7}   which"
    )
    for loss in losses:
        yield (
            f"{loss.kind:<18}{loss.nodes_cut_off:>14,}{loss.nodes_narrowed:>13,}"
            f"{loss.storage_narrowed:>9,}{share(loss.bisection_share):>11}"
            f"{loss.oversubscription:>10.2f}{share(loss.interzone_share):>11}"
            f"{loss.ports_without_sm:>7,}   {loss.name}"
        )
    yield (
        f"nodes cut off: without power or path; storage: storage nodes among those that lose a"
        f" port; bisection: share lost of its {kind}'s; oversub.: oversubscription afterwards;"
        " no SM: host ports that no subnet manager reaches"
    )


def share(lost: float) -> str:
    """Return a share as it is printed: nothing lost is 0."""
    return f"-{lost:.2%}" if lost else "0"
