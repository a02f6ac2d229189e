"""What a replica costs an hour, by the catalogue's dated list."""

from __future__ import annotations

from collections import Counter

from fireflyer.errors import Problem
from fireflyer.load.replica import Replica
from fireflyer.model.instance import InstanceType
from fireflyer.model.replica_plan import PlannedHost, PriceLine

KEY = "replica.usd_per_day_ceiling"
DISK_GB = 100
"""The root disk of every host."""
HOURS_PER_MONTH = 730
SESSION_ENDPOINTS = ("ssm", "ssmmessages")
"""What an instance without a way out needs for the session manager."""


def prices(
    replica: Replica, hosts: tuple[PlannedHost, ...], bastion: InstanceType | None
) -> tuple[PriceLine, ...]:
    """Return a line for each kind of thing. A spot instance counts with the price on demand."""
    intent, cloud = replica.intent, replica.instances.clouds[replica.intent.provider]
    counted = Counter((host.instance.type, host.market) for host in hosts)
    lines = []
    for (name, market), count in counted.items():
        price = replica.instances.types[intent.provider, name].price
        what = f"{name}, {market}" if market == "on-demand" else f"{name}, {market}, at most"
        lines.append(_line(what, count, price.usd_per_hour, price.as_of))
    machines = len(hosts)
    if bastion is not None:
        price = bastion.price
        lines.append(_line(f"{bastion.type}, bastion", 1, price.usd_per_hour, price.as_of))
        machines += 1
    addresses = (bastion is not None) + (intent.network.egress == "nat")
    if intent.network.egress == "nat":
        lines.append(_line("address translator", 1, cloud.nat_usd_per_hour, cloud.as_of))
    if addresses:
        lines.append(_line("public address", addresses, cloud.address_usd_per_hour, cloud.as_of))
    if intent.access.kind == "session-manager" and intent.provider == "aws":
        count = len(SESSION_ENDPOINTS)
        lines.append(_line("endpoint", count, cloud.endpoint_usd_per_hour, cloud.as_of))
    disk = cloud.disk_usd_per_gb_month * DISK_GB / HOURS_PER_MONTH
    lines.append(_line(f"disk of {DISK_GB} GB", machines, disk, cloud.as_of))
    return tuple(lines)


def _line(what: str, count: int, each: float, as_of: str) -> PriceLine:
    return PriceLine(what=what, count=count, usd_per_hour=count * each, as_of=as_of)


def price_problems(replica: Replica, lines: tuple[PriceLine, ...]) -> list[Problem]:
    """Return the ceiling, if a day costs more."""
    ceiling = replica.intent.usd_per_day_ceiling
    day = 24 * sum(line.usd_per_hour for line in lines)
    if day <= ceiling:
        return []
    listed = f"the list of {max(line.as_of for line in lines)}"
    return [replica.document.problem(KEY, *over_ceiling(ceiling, day, listed))]


def over_ceiling(ceiling: float, day: float, listed: str) -> tuple[str, str, str]:
    """Return value, limit and remedy of a ceiling in USD that a day exceeds by a list."""
    limit = f"a day costs {day:,.2f} by {listed}"
    return f"{ceiling:,.2f}", limit, f"raise it to {-(-day // 1):.0f}, or lower replica.scale"
