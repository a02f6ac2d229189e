"""What a fabric costs by a price list, and what the list lacks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fireflyer.design.materials import Item
from fireflyer.model.prices import PriceList

KINDS = ("switches", "cables", "transceivers", "nodes", "fittings")
"""Of the bill of materials; all but nodes are the network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Sums in the currency of the list."""

    currency: str
    built_in: Mapping[str, float]
    """By kind, spares apart."""
    spares: float
    missing: tuple[str, ...]
    """What has no price; the sums leave it out."""

    @property
    def network(self) -> float:
        return self.total - self.built_in["nodes"]

    @property
    def total(self) -> float:
        """Of what is built in."""
        return sum(self.built_in.values())


def cost(items: Iterable[Item], prices: PriceList) -> Cost:
    """Price a bill of materials."""
    cables = {(row.part, row.length_m): row for row in prices.cables}
    of_kind: Mapping[str, Mapping[str, float]] = {
        "switches": prices.switches,
        "nodes": prices.nodes,
        "transceivers": prices.transceivers,
        "fittings": prices.fittings,
    }
    built_in = dict.fromkeys(KINDS, 0.0)
    spares, missing = 0.0, list[str]()
    for item in items:
        each: float | None
        if item.length_m is None:
            each = of_kind[item.kind].get(item.part)
        else:
            row = cables.get((item.part, item.length_m)) or cables.get((item.part, None))
            each = row.each + row.per_metre * item.length_m if row else None
        if each is None:
            length = f" {item.length_m:g} m" if item.length_m is not None else ""
            missing.append(f"{item.kind}: {item.part}{length} ({item.total:,})")
            continue
        built_in[item.kind] += each * item.quantity
        spares += each * item.spares
    return Cost(currency=prices.currency, built_in=built_in, spares=spares, missing=tuple(missing))
