"""Check which hosts run what."""

from __future__ import annotations

from fireflyer.errors import Problem
from fireflyer.load import Site

KEY = "cluster.services"


def service_problems(site: Site, management: tuple[str, ...]) -> list[Problem]:
    """Return every service host that is no management node, or is named twice."""
    at, problems = site.document.problem, []
    for service in ("slurm_controller", "subnet_manager"):
        hosts: tuple[str, ...] = getattr(site.cluster.services, service)
        for index, host in enumerate(hosts):
            key = f"{KEY}.{service}.{index}"
            if host not in management:
                known = f"{management[0]} to {management[-1]}" if management else "none"
                limit = "is no management node"
                problems.append(at(key, host, limit, f"use one of them: {known}"))
            elif host in hosts[:index]:
                problems.append(at(key, host, "is there twice", "remove it"))
    managers = site.cluster.services.subnet_manager
    if site.cluster.fabric.technology == "infiniband" and not managers:
        limit = "an InfiniBand fabric does nothing without one"
        problems.append(at(f"{KEY}.subnet_manager", None, limit, "name a management node"))
    if site.cluster.fabric.technology == "ethernet" and managers:
        limit = "an Ethernet fabric has none"
        problems.append(at(f"{KEY}.subnet_manager", None, limit, "remove it"))
    return problems
