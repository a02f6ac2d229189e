"""Check which hosts run what."""

from __future__ import annotations

import re
from collections.abc import Iterable

from netaddr import valid_ipv4

from fireflyer.design.systems import system_of
from fireflyer.errors import Problem
from fireflyer.load import Site
from fireflyer.model.fabric import Switch

KEY = "cluster.services"
ZERO_TOUCH = ("sonic", "nvue", "eos")
"""Systems that `render/ztp.py` prints for."""
_DIGITS = re.compile(r"[0-9.]+")


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
    return problems + _server_problems(site) + _zero_touch_problems(site)


def _server_problems(site: Site) -> list[Problem]:
    """Return what is written like an address and is none, and a domain that is an address."""
    cluster, at, problems = site.cluster, site.document.problem, []
    for key in ("ntp_servers", "syslog_servers"):
        for index, text in enumerate(getattr(cluster, key)):
            if _DIGITS.fullmatch(text) and not valid_ipv4(text):
                where = f"cluster.{key}.{index}"
                problems.append(at(where, text, "is no IPv4 address", "correct it"))
    if _DIGITS.fullmatch(cluster.domain):
        limit = "is written like an address"
        problems.append(at("cluster.domain", cluster.domain, limit, "use a DNS domain"))
    return problems


def _zero_touch_problems(site: Site) -> list[Problem]:
    """Return addresses of zero-touch files that nothing would be made of."""
    management, at = site.cluster.switch_management, site.document.problem
    key = "cluster.switch_management"
    if management.onie_image_url and not management.ztp_url:
        limit = "is of no use without ztp_url"
        return [at(f"{key}.onie_image_url", management.onie_image_url, limit, "add ztp_url")]
    if site.cluster.fabric.leaf.model not in site.catalogue.switches:
        return []
    system = system_of(site)
    if management.ztp_url and system not in ZERO_TOUCH:
        limit = f"{system} has no zero-touch files here, {', '.join(ZERO_TOUCH)} have"
        return [at(f"{key}.ztp_url", management.ztp_url, limit, "remove it")]
    return []


def serial_problems(site: Site, switches: Iterable[Switch]) -> list[Problem]:
    """Return zero-touch provisioning of Cumulus Linux without every switch's serial number.

    It does not take its name from DHCP, so that nothing else tells which switch it is.
    """
    url = site.cluster.switch_management.ztp_url
    if not url or system_of(site) != "nvue":
        return []
    unknown = [switch.name for switch in switches if not switch.serial]
    if not unknown:
        return []
    limit = (
        f"{len(unknown)} switches, such as {unknown[0]}, have no serial number, by which alone"
        " zero-touch provisioning knows a switch of Cumulus Linux"
    )
    remedy = "add them to assets.csv, or leave it out until they are known"
    return [site.document.problem("cluster.switch_management.ztp_url", url, limit, remedy)]
