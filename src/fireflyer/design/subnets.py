"""InfiniBand subnets: which switches one subnet manager routes, and which ports it runs on.

Zones are joined, so they are one subnet. No cable joins planes, so each plane is a subnet
with its own managers, LIDs and prefix. A subnet manager sees one subnet, through one port:
a host that manages several planes runs one process for each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from fireflyer.errors import Problem
from fireflyer.load import Site
from fireflyer.model.fabric import Fabric, Manager, Node, Role, Subnet, Switch, topmost
from fireflyer.model.intent import Cluster

FIRST_PRIORITY = 14
"""Of the master; 15 is left for an operator's emergency."""
MULTICAST = 0xFF
"""First byte of a multicast GID (IBTA vol. 1, 4.1.1); no subnet may have it as prefix."""


RATE_CODES: Mapping[int, int] = {
    **{10: 3, 20: 6, 40: 7, 50: 20, 56: 12, 100: 16},
    **{200: 17, 400: 21, 800: 23},
}
"""Code of a link's speed in Gb/s (PathRecord's Rate, IBTA vol. 1, 15.2.5.16)."""


def subnet_problems(site: Site) -> list[Problem]:
    """Return managers without an adapter, and prefixes and speeds that no subnet may have."""
    cluster, at = site.cluster, site.document.problem
    if cluster.fabric.technology != "infiniband":
        return []
    problems = []
    model = site.catalogue.nodes.get(cluster.management.model)
    if cluster.services.subnet_manager and model is not None and not model.nics:
        each = " on each plane" if cluster.fabric.planes > 1 else ""
        hosts = ", ".join(cluster.services.subnet_manager)
        limit = f"has no adapter, the subnet managers ({hosts}) need one{each}"
        remedy = f"choose a management model with an adapter{each}"
        problems.append(at("cluster.management.model", model.name, limit, remedy))
    leaf = site.catalogue.switches.get(cluster.fabric.leaf.model)
    if leaf is not None and leaf.technology == "infiniband" and leaf.port_gbps not in RATE_CODES:
        known = ", ".join(map(str, RATE_CODES))
        limit = f"InfiniBand has no rate of {leaf.port_gbps} Gb/s"
        remedy = f"choose a model whose ports have one of {known}"
        problems.append(at("cluster.fabric.leaf.model", leaf.name, limit, remedy))
    first, key = cluster.fabric.subnet_prefix, "cluster.fabric.subnet_prefix"
    prefixes = [_prefix(cluster, index) for index in range(max(1, cluster.fabric.planes))]
    if prefixes[-1] >> 64 or any(prefix >> 56 == MULTICAST for prefix in prefixes):
        limit = "prefixes from 0xff00000000000000 on are multicast"
        if cluster.fabric.planes > 1:
            limit += f", and the planes take the next {cluster.fabric.planes} numbers"
        problems.append(at(key, first, limit, "use 0xfe80000000000000, or a site's own prefix"))
    return problems


def _prefix(cluster: Cluster, index: int) -> int:
    """Return the prefix of subnet number `index`, from 0.

    Programs take ports of one prefix for ports of one subnet, and warn of the default one
    where there are several (Open MPI); so plane N has the intent's prefix plus N.
    """
    return int(cluster.fabric.subnet_prefix, 16) + (index + 1 if cluster.fabric.planes > 1 else 0)


def subnets(
    cluster: Cluster, trees: tuple[str, ...], switches: Iterable[Switch], nodes: Iterable[Node]
) -> tuple[Subnet, ...]:
    """Return the subnets in order: one, or one a plane; none on Ethernet."""
    if cluster.fabric.technology != "infiniband":
        return ()
    switches, nodes = tuple(switches), tuple(nodes)
    managers = {node.name: node for node in nodes if node.role is Role.MANAGEMENT}
    several = cluster.fabric.planes > 1
    found = []
    for index, part in enumerate([(tree,) for tree in trees] if several else [trees]):
        of_part = [s for s in switches if s.tree is None or s.tree in part]
        models = {s.model.name: s.model for s in of_part}.values()
        adapters = [
            nic
            for node in nodes
            for nic, port in zip(node.model.nics, node.ports, strict=False)
            if port.tree in part
        ]
        mtus = [m.infiniband_mtu_bytes for m in models] + [a.infiniband_mtu_bytes for a in adapters]
        found.append(
            Subnet(
                name=part[0] if several else cluster.name,
                trees=part,
                folder=part[0] if several else "",
                prefix=f"0x{_prefix(cluster, index):016x}",
                mtu_bytes=min(mtus),
                gbps=min([m.port_gbps for m in models] + [a.gbps for a in adapters]),
                roots=topmost(of_part),
                managers=tuple(
                    Manager(
                        host=host,
                        port=next(p for p in managers[host].ports if p.tree in part),
                        priority=FIRST_PRIORITY - rank,
                    )
                    for rank, host in enumerate(cluster.services.subnet_manager)
                ),
            )
        )
    return tuple(found)


def subnet_fabric(fabric: Fabric, subnet: Subnet) -> Fabric:
    """Return what one subnet sees of a fabric: its switches, its cables, the nodes' ports on it."""
    if len(fabric.subnets) == 1:
        return fabric
    switches = tuple(s for s in fabric.switches if s.tree in subnet.trees)
    names = {switch.name for switch in switches}
    nodes = tuple(
        replace(node, ports=tuple(port for port in node.ports if port.tree in subnet.trees))
        for node in fabric.nodes
    )
    return replace(
        fabric,
        trees=subnet.trees,
        switches=switches,
        nodes=nodes,
        cables=tuple(cable for cable in fabric.cables if cable.z.device in names),
        budgets={tree: fabric.budgets[tree] for tree in subnet.trees},
        subnets=(subnet,),
    )
