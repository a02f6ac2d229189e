"""Parts of a switch model: its packet memory, and its platform in SONiC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import Field, model_validator

from fireflyer.model.base import Record

Count = Annotated[int, Field(ge=1)]
Index = Annotated[int, Field(ge=0)]


class SwitchBuffer(Record):
    """Packet memory of an Ethernet switch, and what is under way inside it."""

    asic: str
    total_bytes: Count
    cell_bytes: Annotated[int, Field(ge=64)]
    """Memory is given out in cells: a packet takes whole ones."""
    pipeline_bytes: Count
    """What one priority group keeps for packets inside the switch; a pause ends below it."""
    mac_phy_bytes: Annotated[float, Field(ge=0)]
    """Under way in a port's MAC and PHY."""
    tile_ns: Index = 0
    """Delay between the ASIC and the tile of its port."""
    gearbox_ns: Index = 0
    small_packet_percent: Annotated[int, Field(ge=1, le=100)] = 100
    """Packets of 64 bytes among those that arrive after a pause was asked for: 100 is the worst."""
    mirror_bytes: Index
    """Reserved by each port for mirrored packets."""
    management_bytes: Index
    """Reserved by the switch for its own packets."""
    lossless_queues: Count
    """Queues a port can keep lossless."""
    source: str


@dataclass(frozen=True, slots=True)
class SonicPort:
    """What SONiC's platform says of a port."""

    lanes: range
    """Of the ASIC."""
    alias: str
    """Its second name, which LLDP sends."""
    index: int
    """Its cage, as the platform counts them."""
    subport: int
    """Its place in a cage of several ports, from 1; 0 where it has the cage alone."""


class SonicPlatform(Record):
    """A switch as SONiC's device tree has it."""

    platform: str
    hwsku: str
    cage_lanes: Count | None = None
    """Lanes of the ASIC from one cage's first to the next one's; the first cage begins at 0."""
    first_lanes: tuple[Index, ...] = ()
    """The first lane of each port, where no step gives it."""
    alias: str
    """A port's second name, from the same placeholders as its first."""
    first_index: Index = 1
    """Of the first cage."""

    @model_validator(mode="after")
    def _lanes_are_given_once(self) -> Self:
        if (self.cage_lanes is None) != bool(self.first_lanes):
            raise ValueError("give either cage_lanes or first_lanes")
        return self

    def first_lane(self, number: int, cage: int) -> int:
        """Return the first lane of a port, or of its cage where `cage_lanes` is given."""
        if self.cage_lanes is not None:
            return (cage - 1) * self.cage_lanes
        return self.first_lanes[number - 1]
