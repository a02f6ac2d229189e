"""How many nodes a replica has: the site's, scaled, and at least one of each kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from fireflyer.design.budget import share
from fireflyer.design.names import numbered, zone_names
from fireflyer.errors import Problem
from fireflyer.load.replica import Replica
from fireflyer.model.intent import Cluster

KEY = "replica.scale"


@dataclass(frozen=True, slots=True)
class Counts:
    """Names of the replica's nodes, as the site would have them were it as small."""

    zones: tuple[str, ...]
    compute: Mapping[str, tuple[str, ...]]
    """By zone."""
    storage: tuple[str, ...]
    management: tuple[str, ...]


def scaled(count: int, scale: Fraction) -> int:
    """Return so many of `count` nodes, rounded up; none of none.

    >>> scaled(600, Fraction(1, 300)), scaled(180, Fraction(1, 300)), scaled(0, Fraction(1))
    (2, 1, 0)
    """
    return -(-count * scale.numerator // scale.denominator)


def count_problems(replica: Replica) -> list[Problem]:
    """Return what is wrong with the scale and with the number of zones."""
    at, intent = replica.document.problem, replica.intent
    cluster = replica.site.cluster
    if intent.scale.partition("/")[2].strip("0") == "" and "/" in intent.scale:
        return [at(KEY, intent.scale, "divides by zero", "write it as 1/300")]
    scale = Fraction(intent.scale)
    if scale == 0:
        return [at(KEY, intent.scale, "leaves no node", "write it as 1/300")]
    problems = []
    if scale > 1:
        limit = "a replica is no larger than its site"
        problems.append(at(KEY, intent.scale, limit, "write 1 or less"))
    zones = cluster.fabric.zones
    if intent.zones is not None and intent.zones > zones:
        limit = f"{cluster.name} has {zones}"
        problems.append(at("replica.zones", intent.zones, limit, f"lower it to at most {zones}"))
    return problems


def counts(replica: Replica) -> Counts:
    """Return the names; `count_problems` found nothing."""
    cluster, scale = replica.site.cluster, Fraction(replica.intent.scale)
    of_site = cluster.fabric.zones
    zones = zone_names(replica.intent.zones or of_site)
    width = max(4, len(str(-(-cluster.compute.nodes // of_site))))
    compute = {
        name: numbered(f"{name}-cn", scaled(share(cluster.compute.nodes, of_site, n), scale), width)
        for n, name in enumerate(zones)
    }
    part = scale * Fraction(len(zones), of_site)
    managers = max(scaled(cluster.management.nodes, part), _last_service_host(cluster))
    return Counts(
        zones=zones,
        compute=compute,
        storage=numbered("st", scaled(cluster.storage.nodes, part), _width(cluster, "storage", 3)),
        management=numbered("mg", managers, _width(cluster, "management", 2)),
    )


def _width(cluster: Cluster, role: str, least: int) -> int:
    """Return the width of a role's numbers at the site, so that names are the same."""
    return max(least, len(str(getattr(cluster, role).nodes)))


def _last_service_host(cluster: Cluster) -> int:
    """Return how many management nodes it takes for every scheduler to be one of them."""
    names = numbered("mg", cluster.management.nodes, 2)
    return max(names.index(host) + 1 for host in cluster.services.slurm_controller)
