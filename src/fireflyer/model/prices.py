"""What a site's buyer pays: a file of the user's own, in a currency of the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from fireflyer.model.base import Record

Money = Annotated[float, Field(ge=0, le=1e12)]


class CablePrice(Record):
    """The price of a cable part of one length, or of every length that has no row of its own."""

    part: str
    """The vendor's number up to the length, as in `hardware/cables/`."""
    length_m: Annotated[float, Field(gt=0, le=100_000)] | None = None
    each: Money
    per_metre: Money = 0.0
    """Added to `each` for every metre."""


class PriceList(Record):
    """Prices for one piece."""

    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
    """ISO 4217."""
    switches: Mapping[str, Money] = {}
    """By model, as in `hardware/switches/`."""
    nodes: Mapping[str, Money] = {}
    """By model, as in `hardware/nodes/`."""
    fittings: Mapping[str, Money] = {}
    """Cable managers and patch panels, as `materials.csv` names them."""
    cables: tuple[CablePrice, ...] = ()
    transceivers: Mapping[str, Money] = {}
    """By the vendor's number, as in `hardware/cables/`."""
