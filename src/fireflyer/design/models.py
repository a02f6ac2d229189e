"""Hardware models of an intent: do they exist, and do they fit each other?"""

from __future__ import annotations

from collections.abc import Iterable

from fireflyer.design.systems import FABRIC, system_problems
from fireflyer.errors import Problem
from fireflyer.load import Site
from fireflyer.model.fabric import Role
from fireflyer.model.hardware import NodeModel
from fireflyer.model.intent import SwitchLayer


def model_problems(site: Site) -> list[Problem]:
    """Return every hardware model of the intent that does not exist or does not fit."""
    cluster, at = site.cluster, site.document.problem
    problems: list[Problem] = []
    layers: dict[str, SwitchLayer | None] = {
        "leaf": cluster.fabric.leaf,
        "spine": cluster.fabric.spine,
        "core": cluster.fabric.core,
    }
    names = {name: layer.model for name, layer in layers.items() if layer is not None}
    if cluster.fabric.interzone is not None:
        names["interzone"] = cluster.fabric.interzone.model
    for name, model in names.items():
        key = f"{FABRIC}.{name}.model"
        if (problem := _unknown_switch(site, key, model)) is not None:
            problems.append(problem)
            continue
        switch = site.catalogue.switches[model]
        if switch.technology != cluster.fabric.technology:
            limit = (
                f"is a switch for {switch.technology}, the fabric is {cluster.fabric.technology}"
            )
            problems.append(at(key, model, limit, "choose another model"))
        if (switch.technology, switch.port_gbps) not in site.catalogue.cables:
            limit = (
                f"no cables for {switch.port_gbps} Gb/s of {switch.technology} under"
                " hardware/cables/"
            )
            problems.append(at(key, model, limit, "add a cable family"))
    for role in Role:
        key, model = f"cluster.{role}.model", getattr(cluster, role).model
        if (problem := _unknown_node(site, role, model)) is not None:
            problems.append(problem)
            continue
        node = site.catalogue.nodes[model]
        if node.role != role:
            limit = f"is a model for {node.role} nodes"
            problems.append(at(key, model, limit, f"choose a model for {role} nodes"))
        else:
            found = _port_type_problem(site, role, node) or _rail_problem(site, role, node)
            problems += [found] if found is not None else []
    return problems + (system_problems(site, names) if not problems else [])


def _unknown_switch(site: Site, key: str, name: str) -> Problem | None:
    if name in site.catalogue.switches:
        return None
    technology = site.cluster.fabric.technology
    known = [s.name for s in site.catalogue.switches.values() if s.technology == technology]
    return _unknown(site, key, name, known, "switches")


def _unknown_node(site: Site, role: Role, name: str) -> Problem | None:
    if name in site.catalogue.nodes:
        return None
    known = [node.name for node in site.catalogue.nodes.values() if node.role == role]
    return _unknown(site, f"cluster.{role}.model", name, known, "nodes")


def _unknown(site: Site, key: str, name: str, known: Iterable[str], folder: str) -> Problem:
    remedy = f"use one of {', '.join(sorted(known))}, or add {name}.yml there"
    return site.document.problem(key, name, f"no such model in hardware/{folder}/", remedy)


def rails_of(site: Site, role: Role) -> int:
    """Return the adapters a node of a role has in each tree it reaches.

    A node reaches every plane of its zone; a storage node reaches every zone too.
    """
    fabric = site.cluster.fabric
    trees = fabric.planes * (fabric.zones if role is Role.STORAGE else 1)
    return len(site.catalogue.nodes[getattr(site.cluster, role).model].nics) // trees


def _port_type_problem(site: Site, role: Role, node: NodeModel) -> Problem | None:
    """Return which adapter of a role's model cannot be cabled to the fabric."""
    technology = site.cluster.fabric.technology
    if not getattr(site.cluster, role).nodes:
        return None
    for nic in node.nics:
        if nic.port_type == technology:
            continue
        limit = f"its adapter {nic.hca} has a port for {nic.port_type}, the fabric is {technology}"
        file = f"hardware/nodes/{node.name}.yml"
        remedy = (
            f"choose another model, or give the adapter a vpi_name in {file} if its port can have"
            " either type"
        )
        return site.document.problem(f"cluster.{role}.model", node.name, limit, remedy)
    return None


def _rail_problem(site: Site, role: Role, node: NodeModel) -> Problem | None:
    """Return what is wrong with the number of adapters of a role's model."""
    fabric, count = site.cluster.fabric, len(node.nics)
    key, at = f"cluster.{role}.model", site.document.problem
    both = fabric.planes > 1 and fabric.zones > 1  # refused for itself
    if both or not getattr(site.cluster, role).nodes:
        return None
    if not count:
        if role is Role.MANAGEMENT:
            return None
        return at(key, node.name, "has no adapter for the fabric", "choose another model")
    trees = fabric.planes * (fabric.zones if role is Role.STORAGE else 1)
    if not count % trees:
        return None
    kind = "planes" if fabric.planes > 1 else "zones"
    adapters = "adapter does" if count == 1 else "adapters do"
    limit = f"its {count} {adapters} not divide over {trees} {kind}"
    remedy = f"choose a model with {trees} adapters or a multiple of them"
    if kind == "planes":
        remedy += f", or set planes to {'1' if count == 1 else f'a divisor of {count}'}"
    return at(key, node.name, limit, remedy)
