"""Which port goes to which port: the trees of the zones and the links between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from fireflyer.design.names import numbered
from fireflyer.design.shape import Shape
from fireflyer.model.fabric import CableRole, Port


class Wire(NamedTuple):
    """A cable before its length is known; `a` is the lower end."""

    a: Port
    z: Port
    role: CableRole


@dataclass(frozen=True, slots=True)
class TreeSwitches:
    """Names of a tree's switches."""

    leaves: tuple[str, ...]
    spines: tuple[str, ...]
    cores: tuple[str, ...]


def tree_switches(tree: str, shape: Shape) -> TreeSwitches:
    """Return the names of a tree's switches in order."""
    return TreeSwitches(
        leaves=numbered(f"{tree}-leaf", shape.leaves, 2),
        spines=numbered(f"{tree}-spine", shape.spines, 2),
        cores=numbered(f"{tree}-core", shape.cores, 2),
    )


def tree(shape: Shape, names: TreeSwitches) -> Iterator[Wire]:
    """Yield every cable between a tree's switches, leaf by leaf, then spine by spine."""
    for pod in range(shape.pods):
        leaves = names.leaves[pod * shape.leaves_per_pod : (pod + 1) * shape.leaves_per_pod]
        spines = names.spines[pod * shape.spines_per_pod : (pod + 1) * shape.spines_per_pod]
        for down, leaf in enumerate(leaves):
            for up, spine in enumerate(spines):
                for strand in range(shape.trunk):
                    yield Wire(
                        Port(leaf, shape.host_ports + up * shape.trunk + strand + 1),
                        Port(spine, down * shape.trunk + strand + 1),
                        CableRole.TREE,
                    )
    yield from _core(shape, names)


def _core(shape: Shape, names: TreeSwitches) -> Iterator[Wire]:
    """Deal the uplinks over the cores in turn.

    Each core has as many as another, within one, and at least one from every pod.
    """
    used = dict.fromkeys(names.cores, 0)
    for number, spine in enumerate(names.spines):
        first = number * shape.spine_uplinks
        for up in range(shape.spine_uplinks):
            core = names.cores[(first + up) % shape.cores]
            used[core] += 1
            lower = Port(spine, shape.spine_downlinks + up + 1)
            yield Wire(lower, Port(core, used[core]), CableRole.TREE)


def between_zones(
    shape: Shape, gateways: tuple[str, ...], switches: tuple[str, ...], links: int
) -> Iterator[Wire]:
    """Yield the cables from each gateway leaf to the switches between zones.

    They take the gateway's highest host ports, so that its low ones are for nodes. Each switch
    takes a block of them: a subnet manager spreads destinations over ports in turn, at the
    gateway and at the switch, and with ports that alternate between two switches every
    destination at one of them would have the same parity there (docs/decisions/0011).
    """
    each = links // len(switches)
    for zone, gateway in enumerate(gateways):
        first = shape.host_ports - links + 1
        for link in range(links):
            number, strand = divmod(link, each)
            yield Wire(
                Port(gateway, first + link),
                Port(switches[number], zone * each + strand + 1),
                CableRole.INTERZONE,
            )
