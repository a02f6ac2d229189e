"""The shape of one zone: how many switches, and which ports of each face which way.

A two-layer zone is leaves and spines, every leaf on every spine. A three-layer zone is
pods of such trees under cores. Leaves give hosts their low ports and spines their high
ones. Where zones are joined, the last leaf of each is its gateway: its host ports lead
to the switches between zones, which are then the roots of one tree over all zones, so
that up/down routing connects everything without a loop (docs/decisions/0001).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from fireflyer.design.models import rails_of
from fireflyer.design.systems import FABRIC
from fireflyer.errors import Problem
from fireflyer.load import Site
from fireflyer.model.fabric import Role
from fireflyer.model.hardware import SwitchModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One zone; every zone of a site has the same."""

    leaf: SwitchModel
    spine: SwitchModel
    core: SwitchModel | None
    leaves: int
    spines: int
    cores: int
    pods: int
    trunk: int
    """Cables between each leaf and each spine of its pod."""
    gateway: bool
    """Whether the last leaf leads to other zones."""
    rails: Mapping[Role, int]
    """Adapters that a node of each role has in each tree it reaches."""

    @property
    def leaves_per_pod(self) -> int:
        return self.leaves // self.pods

    @property
    def spines_per_pod(self) -> int:
        return self.spines // self.pods

    @property
    def leaf_uplinks(self) -> int:
        return self.spines_per_pod * self.trunk

    @property
    def host_ports(self) -> int:
        """Ports of one leaf that face hosts."""
        return self.leaf.ports - self.leaf_uplinks

    @property
    def spine_downlinks(self) -> int:
        return self.leaves_per_pod * self.trunk

    @property
    def spine_uplinks(self) -> int:
        """Cables from one spine to cores, as many as both layers have ports for."""
        if self.core is None:
            return 0
        return min(
            self.spine.ports - self.spine_downlinks, self.cores * self.core.ports // self.spines
        )

    @property
    def switch_links(self) -> int:
        """Cables between the switches of one tree."""
        return self.leaves * self.leaf_uplinks + self.spines * self.spine_uplinks

    @property
    def host_leaves(self) -> int:
        return self.leaves - self.gateway

    @property
    def oversubscription(self) -> Fraction:
        """Host bandwidth over the bandwidth above it, at the narrowest layer."""
        leaf = Fraction(
            self.host_ports * self.leaf.port_gbps, self.leaf_uplinks * self.spine.port_gbps
        )
        if self.core is None:
            return leaf
        return max(leaf, leaf * Fraction(self.spine_downlinks, self.spine_uplinks))


def shape_problems(site: Site) -> list[Problem]:
    """Return everything that keeps the intent's switches from forming a zone."""
    fabric, at = site.cluster.fabric, site.document.problem
    problems: list[Problem] = []
    three = fabric.layers == 3
    if three and fabric.core is None:
        limit = "a three-layer tree needs cores"
        problems.append(at(f"{FABRIC}.layers", 3, limit, "add fabric.core, or set layers to 2"))
    if not three and fabric.core is not None:
        limit = "a two-layer tree has no cores"
        problems.append(at(f"{FABRIC}.core", None, limit, "remove it, or set layers to 3"))
    if not three and fabric.pods_per_zone > 1:
        limit = "a two-layer zone is one pod"
        remedy = "remove it, or set layers to 3"
        problems.append(at(f"{FABRIC}.pods_per_zone", fabric.pods_per_zone, limit, remedy))
    if fabric.zones > 1 and fabric.interzone is None:
        limit = f"{fabric.zones} zones need switches between them"
        problems.append(at(f"{FABRIC}.zones", fabric.zones, limit, "add fabric.interzone"))
    if fabric.zones == 1 and fabric.interzone is not None:
        limit = "one zone has nothing to join"
        problems.append(at(f"{FABRIC}.interzone", None, limit, "remove it, or set zones to 2"))
    if fabric.planes > 1 and fabric.zones > 1:
        limit = "planes are not joined, zones are: a site has one or the other"
        problems.append(at(f"{FABRIC}.planes", fabric.planes, limit, "set zones or planes to 1"))
    if fabric.zones > 1 and three:
        limit = "zones of three layers cannot be joined without a routing loop"
        problems.append(at(f"{FABRIC}.layers", 3, limit, "set zones to 1, or layers to 2"))
    if fabric.technology == "ethernet" and fabric.ethernet is None:
        limit = "an Ethernet fabric needs it, if only for its defaults"
        problems.append(at(f"{FABRIC}.ethernet", None, limit, "add fabric.ethernet: {}"))
    if fabric.technology == "infiniband" and fabric.ethernet is not None:
        limit = "an InfiniBand fabric has none"
        problems.append(at(f"{FABRIC}.ethernet", None, limit, "remove it"))
    for name, layer in (("leaf", fabric.leaf), ("spine", fabric.spine)):
        if layer.count % fabric.pods_per_zone:
            limit = f"must divide by the {fabric.pods_per_zone} pods of a zone"
            remedy = f"set it to {-(-layer.count // fabric.pods_per_zone) * fabric.pods_per_zone}"
            problems.append(at(f"{FABRIC}.{name}.count", layer.count, limit, remedy))
    return problems or _wiring_problems(site)


def _wiring_problems(site: Site) -> list[Problem]:
    fabric, at = site.cluster.fabric, site.document.problem
    shape = shape_of(site)
    problems: list[Problem] = []
    upper = {"spine": shape.spine, "core": shape.core}
    if fabric.interzone is not None:
        upper["interzone"] = site.catalogue.switches[fabric.interzone.model]
    for name, model in upper.items():
        if model is not None and model.port_gbps != shape.leaf.port_gbps:
            limit = f"has ports of {model.port_gbps} Gb/s, leaves have {shape.leaf.port_gbps} Gb/s"
            remedy = "choose models of one speed"
            problems.append(at(f"{FABRIC}.{name}.model", model.name, limit, remedy))
    problems += _adapter_problems(site, shape)
    most = min(shape.leaf.ports - 1, shape.spine.ports)
    if shape.trunk > most:
        limit = f"a leaf of {shape.leaf.ports} ports has none left for hosts"
        key = f"{FABRIC}.cables_per_pair"
        return [*problems, at(key, shape.trunk, limit, f"lower it to at most {most}")]
    if shape.leaf_uplinks >= shape.leaf.ports:
        limit = (
            f"{shape.leaf_uplinks} uplinks leave no host port on a leaf of {shape.leaf.ports} ports"
        )
        remedy = f"lower it to at most {(shape.leaf.ports - 1) // shape.trunk * shape.pods}"
        remedy += ", or lower cables_per_pair"
        problems.append(at(f"{FABRIC}.spine.count", shape.spines, limit, remedy))
    if shape.spine_downlinks > shape.spine.ports:
        limit = (
            f"{shape.leaves_per_pod} leaves need {shape.spine_downlinks} ports on each spine"
            f" of {shape.spine.ports}"
        )
        remedy = f"lower it to at most {shape.spine.ports // shape.trunk * shape.pods}"
        remedy += ", or lower cables_per_pair"
        problems.append(at(f"{FABRIC}.leaf.count", shape.leaves, limit, remedy))
    elif shape.core is not None:
        problems += _core_problems(site, shape)
    if fabric.interzone is not None and shape.leaves < 2:
        limit = "a zone with a gateway leaf needs a leaf for hosts too"
        problems.append(at(f"{FABRIC}.leaf.count", shape.leaves, limit, "set it to 2 or more"))
    return problems


def _adapter_problems(site: Site, shape: Shape) -> list[Problem]:
    problems = []
    for role in Role:
        node = site.catalogue.nodes[getattr(site.cluster, role).model]
        slow = [nic for nic in node.nics if nic.gbps != shape.leaf.port_gbps]
        if slow:
            limit = (
                f"its adapter {slow[0].hca} has {slow[0].gbps} Gb/s, leaves have"
                f" {shape.leaf.port_gbps} Gb/s"
            )
            key = f"cluster.{role}.model"
            problems.append(site.document.problem(key, node.name, limit, "choose another model"))
    return problems


def _core_problems(site: Site, shape: Shape) -> list[Problem]:
    at, key = site.document.problem, f"{FABRIC}.core.count"
    assert shape.core is not None
    if shape.spine_downlinks == shape.spine.ports:
        limit = f"{shape.leaves_per_pod} leaves leave no port for cores on a spine"
        remedy = "lower it, or raise pods_per_zone"
        return [at(f"{FABRIC}.leaf.count", shape.leaves, limit, remedy)]
    if shape.spine_uplinks == 0:
        limit = f"{shape.cores * shape.core.ports} core ports for {shape.spines} spines"
        return [at(key, shape.cores, limit, "raise it")]
    links = shape.spines_per_pod * shape.spine_uplinks
    if links < shape.cores:
        limit = f"a pod has {links} uplinks, so some cores would miss some pods"
        return [at(key, shape.cores, limit, f"lower it to at most {links}")]
    return []


def shape_of(site: Site) -> Shape:
    """Return the shape that the intent asks of every zone."""
    fabric, switches = site.cluster.fabric, site.catalogue.switches
    core = fabric.core
    return Shape(
        leaf=switches[fabric.leaf.model],
        spine=switches[fabric.spine.model],
        core=switches[core.model] if core else None,
        leaves=fabric.leaf.count,
        spines=fabric.spine.count,
        cores=core.count if core else 0,
        pods=fabric.pods_per_zone,
        trunk=fabric.cables_per_pair,
        gateway=fabric.interzone is not None,
        rails={role: rails_of(site, role) for role in Role},
    )
