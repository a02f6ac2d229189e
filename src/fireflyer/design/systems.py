"""The operating system of the switches: which one, and what it cannot do."""

from __future__ import annotations

from collections.abc import Mapping

from fireflyer.errors import Problem
from fireflyer.load import Site
from fireflyer.model.hardware import SYSTEMS, System

FABRIC = "cluster.fabric"
EOS_MTU = 9214
"""The largest that a port of EOS takes; other systems take 9216."""
_NO_ADAPTIVE: Mapping[System | None, str] = {
    "sonic": "its released models have no table of it",
    "frr": "it sets routes, not switch silicon",
}


def system_of(site: Site) -> System | None:
    """Return what the switches run: what the intent says, else the leaf model's first."""
    fabric = site.cluster.fabric
    systems = site.catalogue.switches[fabric.leaf.model].interfaces
    return fabric.system or next(iter(systems), None)


def system_problems(site: Site, models: Mapping[str, str]) -> list[Problem]:
    """Return the switch models on which the chosen system does not run, and what it lacks.

    Args:
        site: Its models are known.
        models: By layer.
    """
    system, at = system_of(site), site.document.problem
    problems = []
    for layer, model in models.items():
        known = site.catalogue.switches[model].interfaces
        if system in known:
            continue
        if system is None and known:
            continue  # the leaf's model, which names no system, is refused
        file = f"hardware/switches/{model}.yml"
        if known:
            limit = f"does not run {system}: {file} has interfaces for {', '.join(known)} alone"
            remedy = "set fabric.system to one that every switch runs, or choose another model"
        else:
            needed = system or " or ".join(SYSTEMS[site.cluster.fabric.technology])
            limit = f"{file} has no interfaces, so its switches would get no configuration"
            remedy = f"add its ports' names in {needed} there, or choose another model"
        problems.append(at(f"{FABRIC}.{layer}.model", model, limit, remedy))
    ethernet = site.cluster.fabric.ethernet
    if ethernet is not None and ethernet.load_balancing == "adaptive" and system in _NO_ADAPTIVE:
        key = f"{FABRIC}.ethernet.load_balancing"
        limit = f"{system} has no configuration for it: {_NO_ADAPTIVE[system]}"
        problems.append(at(key, "adaptive", limit, "set it to static, or fabric.system to nvue"))
    if ethernet is not None and system == "eos" and ethernet.mtu > EOS_MTU:
        limit = f"EOS takes at most {EOS_MTU}"
        problems.append(at(f"{FABRIC}.ethernet.mtu", ethernet.mtu, limit, f"set it to {EOS_MTU}"))
    if system == "sonic" and site.cluster.addresses.gateway is None:
        limit = "SONiC's models refuse a management address without a router"
        problems.append(at("cluster.addresses.gateway", None, limit, "add it"))
    return problems
