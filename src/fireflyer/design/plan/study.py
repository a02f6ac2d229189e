"""Everything that `plan` and `compare` say of one site."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from fireflyer.design.materials import Item, materials
from fireflyer.design.plan.cabling import Cabling, cabling
from fireflyer.design.plan.figures import Plan, plan
from fireflyer.design.prices import Cost, cost
from fireflyer.design.resilience import Loss, losses
from fireflyer.design.shape import Shape
from fireflyer.model.fabric import Fabric
from fireflyer.model.prices import PriceList


@dataclass(frozen=True, slots=True)
class Study:
    """A plan, what it buys, what a failure costs, and what all costs."""

    plan: Plan
    items: tuple[Item, ...]
    bought: Mapping[str, int]
    """Cables by medium, without spares; a cable may be of several links."""
    cabling: Cabling
    losses: tuple[Loss, ...]
    cost: Cost | None
    """None without a price list."""

    @property
    def transceivers(self) -> int:
        return sum(item.quantity for item in self.items if item.kind == "transceivers")

    @property
    def length_m(self) -> float:
        """All cables end to end, spares left out."""
        return self.cabling.length_m


def study(fabric: Fabric, shape: Shape, prices: PriceList | None = None) -> Study:
    """Study a fabric."""
    items = materials(fabric)
    return Study(
        plan=plan(fabric, shape),
        items=items,
        bought=_bought(fabric),
        cabling=cabling(fabric, items),
        losses=losses(fabric),
        cost=cost(items, prices) if prices is not None else None,
    )


def _bought(fabric: Fabric) -> Counter[str]:
    """Return the cables of each medium; a link through a trunk takes two leads."""
    bought = Counter(cable.medium for cable in fabric.cables if cable.assembly == cable.id)
    if fabric.trunks:
        routed = sum(cable.route is not None for cable in fabric.cables)
        bought["fibre"] += routed + len(fabric.trunks)
    return bought
