"""Cables of one link speed, and what they end in."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from fireflyer.model.base import Connector, Name, Record, Technology
from fireflyer.model.switch_parts import Count

Medium = Literal["dac", "aoc", "dac-splitter", "aoc-splitter", "fibre"]
MEDIA: Final[tuple[Medium, ...]] = ("dac", "aoc", "dac-splitter", "aoc-splitter", "fibre")


class Plug(Record):
    """What goes into a cage: the end of a cable, or a transceiver."""

    connector: Connector
    links: Annotated[int, Field(ge=1, le=8)] = 1
    """Links through it: as many as its cage has ports."""
    power_w: Annotated[float, Field(ge=0)]
    part: str = ""
    """Of a transceiver; the end of a cable is not sold alone."""


class TrunkOffer(Record):
    """Trunks of many fibres, with a connector a link at each end, and the panels they end at."""

    part: str
    fibres: Annotated[tuple[Count, ...], Field(min_length=1)]
    """Of each trunk that is sold, rising."""
    fibres_per_link: Count
    """Of one connector."""
    panel: str
    panel_positions: Count
    """Connectors of one panel."""
    panel_units: Count

    @model_validator(mode="after")
    def _trunks_fit_a_panel(self) -> Self:
        if any(fibres % self.fibres_per_link for fibres in self.fibres):
            raise ValueError("a trunk has a whole number of connectors")
        if self.fibres[-1] // self.fibres_per_link > self.panel_positions:
            raise ValueError("a trunk ends at one panel: it has more connectors than the panel")
        return self

    @property
    def links(self) -> tuple[int, ...]:
        """Links of each trunk that is sold."""
        return tuple(fibres // self.fibres_per_link for fibres in self.fibres)


class CableOffer(Record):
    """Cables of one medium that are sold for one link speed."""

    medium: Medium
    plugs: Annotated[tuple[Plug, ...], Field(min_length=1)]
    """The two ends of a cable, the wide one first; of fibre, the transceivers it may join."""
    reach_m: Annotated[float, Field(gt=0)]
    lengths_m: Annotated[tuple[float, ...], Field(min_length=1)]
    part: str
    """The vendor's number up to the length, which completes it."""
    trunk: TrunkOffer | None = None
    """Of fibre: what joins patch panels in place of single fibres."""

    @model_validator(mode="after")
    def _plugs_fit_medium(self) -> Self:
        links = [plug.links for plug in self.plugs]
        if self.trunk is not None and self.medium != "fibre":
            raise ValueError("only a fibre can run through trunks")
        if self.medium == "fibre":
            if not all(plug.part for plug in self.plugs):
                raise ValueError("every plug of a fibre is a transceiver and needs its part")
        elif len(links) != 2 or (self.medium in ("dac", "aoc")) != (links[0] == links[1]):
            kind = "different" if "splitter" in self.medium else "equal"
            raise ValueError(f"a {self.medium} has two plugs with {kind} numbers of links")
        elif self.medium in ("dac-splitter", "aoc-splitter") and not links[0] > links[1] == 1:
            raise ValueError("a splitter's wide plug comes first, the other carries one link")
        return self


class CableFamily(Record):
    """Cables for one link speed; the first offer that reaches is the one to buy."""

    name: Name
    technology: Technology
    gbps: Count
    offers: Annotated[tuple[CableOffer, ...], Field(min_length=1)]
    source: str
