"""The port budget: what each zone's host ports are for, and what an intent lacks."""

from __future__ import annotations

from fireflyer.design.names import tree_names
from fireflyer.design.shape import Shape
from fireflyer.design.systems import FABRIC
from fireflyer.errors import Problem
from fireflyer.load import Site
from fireflyer.model.fabric import PortBudget, Role
from fireflyer.model.intent import Cluster


def share(count: int, zones: int, zone: int) -> int:
    """Return how many of `count` things the zone gets when they are dealt in turn.

    >>> [share(5, 2, zone) for zone in range(2)]
    [3, 2]
    """
    return count // zones + (zone < count % zones)


def budgets(cluster: Cluster, shape: Shape) -> dict[str, PortBudget]:
    """Return each tree's budget; `free` is negative where the intent asks too much."""
    zones, rails = cluster.fabric.zones, shape.rails
    interzone = cluster.fabric.interzone
    return {
        tree: PortBudget(
            total=shape.leaves * shape.host_ports,
            compute=share(cluster.compute.nodes, zones, index % zones) * rails[Role.COMPUTE],
            storage=cluster.storage.nodes * rails[Role.STORAGE],
            management=share(cluster.management.nodes, zones, index % zones)
            * rails[Role.MANAGEMENT],
            interzone=interzone.links_per_zone if interzone else 0,
        )
        for index, tree in enumerate(tree_names(zones, cluster.fabric.planes))
    }


def budget_problems(site: Site, shape: Shape) -> list[Problem]:
    """Return what does not fit, with the number of ports missing in each zone."""
    found = budgets(site.cluster, shape)
    problems = _host_problems(site, shape, found)
    if shape.gateway:
        problems += _gateway_problems(site, shape, found)
    return problems


def _host_problems(site: Site, shape: Shape, found: dict[str, PortBudget]) -> list[Problem]:
    room = shape.host_leaves * shape.host_ports
    short: list[str] = []
    kind = "plane" if site.cluster.fabric.planes > 1 else "zone"
    for tree, budget in found.items():
        parts = [f"{budget.compute} compute", f"{budget.storage} storage"]
        wanted = budget.compute + budget.storage
        if not shape.gateway:
            parts.append(f"{budget.management} management")
            wanted += budget.management
        if wanted > room:
            short.append(
                f"{kind} {tree} lacks {wanted - room} ports"
                f" ({' + '.join(parts)} = {wanted}, {shape.host_leaves} host leaves"
                f" x {shape.host_ports} = {room})"
            )
    if not short:
        return []
    cluster = site.cluster
    others = cluster.storage.nodes * shape.rails[Role.STORAGE]
    if not shape.gateway:
        others += max(budget.management for budget in found.values())
    most = (room - others) // shape.rails[Role.COMPUTE] * cluster.fabric.zones
    if most < 0:
        at_most = room // max(1, shape.rails[Role.STORAGE])
        key, remedy = "cluster.storage.nodes", f"lower it to at most {at_most}, or add leaves"
        return [site.document.problem(key, cluster.storage.nodes, "; ".join(short), remedy)]
    remedy = f"lower it to at most {most}, lower storage.nodes, or add leaves"
    key = "cluster.compute.nodes"
    return [site.document.problem(key, cluster.compute.nodes, "; ".join(short), remedy)]


def _gateway_problems(site: Site, shape: Shape, found: dict[str, PortBudget]) -> list[Problem]:
    interzone = site.cluster.fabric.interzone
    assert interzone is not None
    at = site.document.problem
    problems: list[Problem] = []
    key = f"{FABRIC}.interzone.links_per_zone"
    links, switches = interzone.links_per_zone, interzone.switches
    for zone, budget in found.items():
        if (wanted := budget.management + links) > shape.host_ports:
            limit = (
                f"zone {zone} lacks {wanted - shape.host_ports} ports on its gateway leaf"
                f" ({budget.management} management + {links} links = {wanted} of"
                f" {shape.host_ports})"
            )
            remedy = "lower it, or lower management.nodes"
            problems.append(at(key, links, limit, remedy))
    if links % switches:
        limit = f"must divide by the {switches} switches between zones"
        problems.append(at(key, links, limit, f"set it to {links - links % switches or switches}"))
    model = site.catalogue.switches[interzone.model]
    zones = site.cluster.fabric.zones
    wanted = -(-links // switches) * zones
    if wanted > model.ports:
        limit = f"each needs {wanted} ports, {model.name} has {model.ports}"
        enough = [
            n for n in range(1, links + 1) if links % n == 0 and links // n * zones <= model.ports
        ]
        remedy = f"raise it to {enough[0]}" if enough else "choose a model with more ports"
        problems.append(at(f"{FABRIC}.interzone.switches", switches, limit, remedy))
    return problems
