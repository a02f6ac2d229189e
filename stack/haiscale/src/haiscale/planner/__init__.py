"""Mapping a job's ranks to nodes and zones, and saying why."""

from haiscale.planner.place import place
from haiscale.planner.plan import Host, PlacedRank, Plan, Rule, Zone, zones_of

__all__ = ["Host", "PlacedRank", "Plan", "Rule", "Zone", "place", "zones_of"]
