"""What every switch should route to: shortest paths of the plan, as RFC 7938 lets them be.

A path never goes through a leaf of hosts, and never through two switches that share a number:
spines of one pod, cores of one tree, switches between zones. This is worked out from the cables
alone; the configurations are not looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from fireflyer.model.fabric import CableRole, Fabric, Layer, Switch
from fireflyer.render.frr import port_interface

Prefix: TypeAlias = str
Interface: TypeAlias = str
Routes: TypeAlias = Mapping[str, Mapping[Prefix, frozenset[Interface]]]
"""Next hops of each switch to each network, by the interfaces that lead there."""
_Group: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """The fabric as a graph of routers."""

    fabric: Fabric

    @cached_property
    def cables(self) -> Mapping[str, tuple[tuple[str, Interface], tuple[str, Interface]]]:
        """Cables between switches: lower and upper end, each a switch and its interface."""
        return {
            cable.id: (
                (cable.a.device, port_interface(self.fabric, cable.a)),
                (cable.z.device, port_interface(self.fabric, cable.z)),
            )
            for cable in self.fabric.cables
            if cable.role is not CableRole.HOST
        }

    @cached_property
    def networks(self) -> Mapping[str, tuple[Prefix, ...]]:
        """What each switch announces: its loopback, and the network of its hosts."""
        hosts = {p.leaf.device: str(p.network) for p in self.fabric.node_port.values()}
        return {
            s.name: (str(s.loopback), *((hosts[s.name],) if s.name in hosts else ()))
            for s in self.fabric.switches
        }

    @cached_property
    def passing(self) -> frozenset[str]:
        """Switches that pass routes on: all but leaves of hosts."""
        others = (s.name for s in self.fabric.switches if s.layer is not Layer.LEAF)
        return self.gateways.union(others)

    @cached_property
    def gateways(self) -> frozenset[str]:
        """Leaves that lead to other zones."""
        between = {s.name for s in self.fabric.switches_of(Layer.INTERZONE)}
        return frozenset(low[0] for low, up in self.cables.values() if up[0] in between)

    @cached_property
    def far(self) -> Mapping[tuple[str, Interface], str]:
        """The switch at the other end of each interface."""
        ends = {low: up[0] for low, up in self.cables.values()}
        return ends | {up: low[0] for low, up in self.cables.values()}

    def tree_of(self, switch: str) -> str | None:
        """Return a switch's zone or plane."""
        return self.fabric.switch[switch].tree

    def routes(self, cut: frozenset[str] = frozenset()) -> Routes:
        """Return every switch's routes where some cables, by id, are not up."""
        around: dict[str, list[tuple[Interface, str]]] = {s.name: [] for s in self.fabric.switches}
        for name, ends in self.cables.items():
            if name not in cut:
                for (near, interface), (far, _) in (ends, ends[::-1]):
                    around[near].append((interface, far))
        towards = {
            near: {(far, interface) for interface, far in ends} for near, ends in around.items()
        }
        groups = {s.name: self._group(s) for s in self.fabric.switches}
        found: dict[str, dict[Prefix, frozenset[Interface]]] = {name: {} for name in around}
        for origin, networks in self.networks.items():
            for switch, neighbours in self._hops(origin, around, groups).items():
                out = frozenset(port for far, port in towards[switch] if far in neighbours)
                found[switch] |= dict.fromkeys(networks, out)
        return found

    def _hops(
        self,
        origin: str,
        around: Mapping[str, list[tuple[Interface, str]]],
        groups: Mapping[str, _Group],
    ) -> Mapping[str, set[str]]:
        """Return each switch's next switches on its way to one of them."""
        distance = {origin: 0}
        seen = {origin: frozenset((groups[origin],))}
        hops: dict[str, set[str]] = {}
        front = [origin]
        while front:
            following: list[str] = []
            for near in front:
                if near != origin and near not in self.passing:
                    continue
                for _, far in around[near]:
                    if groups[far] in seen[near]:
                        continue
                    if far not in distance:
                        distance[far] = distance[near] + 1
                        seen[far] = seen[near] | {groups[far]}
                        following.append(far)
                    if distance[far] == distance[near] + 1:
                        hops.setdefault(far, set()).add(near)
            front = following
        return hops

    def _group(self, switch: Switch) -> _Group:
        """Return what a path may go through once."""
        if switch.layer is Layer.LEAF:
            return (switch.name,)
        pods = self.fabric.intent.fabric.pods_per_zone
        per_pod = self.fabric.intent.fabric.spine.count // pods
        pod = switch.index // per_pod if switch.layer is Layer.SPINE else 0
        return (switch.layer, switch.tree or "", str(pod))
