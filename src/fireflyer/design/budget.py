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
    problems = _gateway_problems(site, shape) if shape.gateway else []
    if all(budget.interzone <= shape.host_ports for budget in found.values()):
        problems = _host_problems(site, shape, found) + problems
    return problems


def _host_problems(site: Site, shape: Shape, found: dict[str, PortBudget]) -> list[Problem]:
    short: list[str] = []
    kind = "plane" if site.cluster.fabric.planes > 1 else "zone"
    room = min(budget.total - budget.interzone for budget in found.values())
    for tree, budget in found.items():
        wanted = budget.used - budget.interzone
        if wanted > room:
            short.append(
                f"{kind} {tree} lacks {wanted - room} ports"
                f" ({budget.compute} compute + {budget.storage} storage"
                f" + {budget.management} management = {wanted}, {_room(shape, budget)} = {room})"
            )
    if not short:
        return []
    cluster, at, text = site.cluster, site.document.problem, "; ".join(short)
    zones, rails = cluster.fabric.zones, shape.rails
    managers = max(budget.management for budget in found.values())
    left = room - managers - cluster.storage.nodes * rails[Role.STORAGE]
    if cluster.compute.nodes and left >= 0:
        most = left // rails[Role.COMPUTE] * zones
        remedy = f"lower it to at most {most}, lower storage.nodes, or add leaves"
        return [at("cluster.compute.nodes", cluster.compute.nodes, text, remedy)]
    if cluster.storage.nodes and managers <= room:
        most = (room - managers) // rails[Role.STORAGE]
        remedy = f"lower it to at most {most}, or add leaves"
        return [at("cluster.storage.nodes", cluster.storage.nodes, text, remedy)]
    most = room // rails[Role.MANAGEMENT] * zones
    remedy = f"lower it to at most {most}, or add leaves"
    return [at("cluster.management.nodes", cluster.management.nodes, text, remedy)]


def _room(shape: Shape, budget: PortBudget) -> str:
    """Return how the host ports of a tree add up."""
    leaves = f"{shape.host_leaves} host leaves x {shape.host_ports}"
    left = shape.host_ports - budget.interzone
    return f"{leaves} + {left} on the gateway leaf" if shape.gateway else leaves


def _gateway_problems(site: Site, shape: Shape) -> list[Problem]:
    interzone = site.cluster.fabric.interzone
    assert interzone is not None
    at = site.document.problem
    problems: list[Problem] = []
    key = f"{FABRIC}.interzone.links_per_zone"
    links, switches = interzone.links_per_zone, interzone.switches
    if links > shape.host_ports:
        limit = f"a gateway leaf has {shape.host_ports} ports below its uplinks"
        problems.append(at(key, links, limit, f"lower it to at most {shape.host_ports}"))
    if links % switches:
        limit = f"must be a multiple of the {switches} switches between zones"
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
