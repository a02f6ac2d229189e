"""The walk finds what it must on small fabrics routed by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fireflyer.model.fabric import CableRole, Fabric, Role
from fireflyer.verify.hops import paths
from fireflyer.verify.link_load import link_loads, load_findings
from fireflyer.verify.routing import (
    RoutedSubnet,
    Walk,
    _cycle,
    routing_findings,
    walk,
)
from fireflyer.verify.shifts import shift_findings, shift_rates

CLEAN = Walk(
    pairs=2,
    unreachable=0,
    first_unreachable="",
    out_of_zone=0,
    first_out_of_zone="",
    loop=(),
    longest_hops=1,
    without_lid=(),
)


def routed(fabric: Fabric) -> RoutedSubnet:
    """Route a fabric up to its roots and down, by breadth-first search from each leaf."""
    switches = [switch.name for switch in fabric.switches]
    index = {name: number for number, name in enumerate(switches)}
    lids = {port.guid.value: n + 1 for n, port in enumerate(fabric.node_port.values())}
    ports = 1 + max(switch.model.ports for switch in fabric.switches)
    neighbour = np.full((len(switches), ports), -1, dtype=np.int32)
    end_port = np.zeros((len(switches), ports), dtype=np.int32)
    for near, far in fabric.far_end.items():
        if near.device in index and far.device in index:
            neighbour[index[near.device], near.number] = index[far.device]
        elif near.device in index:
            end_port[index[near.device], near.number] = lids[fabric.node_port[far].guid.value]
    forward = np.full((len(switches), len(lids) + 1), 255, dtype=np.int32)
    for port in fabric.node_port.values():
        lid = lids[port.guid.value]
        start = index[port.leaf.device]
        forward[start, lid] = port.leaf.number
        queue = [start]
        while queue:
            here = queue.pop(0)
            for out in np.roll(np.flatnonzero(neighbour[here] >= 0), lid).tolist():
                there = int(neighbour[here, out])
                if forward[there, lid] == 255:
                    back = np.flatnonzero(neighbour[there] == here)
                    forward[there, lid] = back[lid % len(back)]
                    queue.append(there)
    return RoutedSubnet(
        switches=tuple(switches), forward=forward, neighbour=neighbour, end_port=end_port, lids=lids
    )


def test_a_routed_fabric_is_connected(lab: Fabric) -> None:
    result = walk(lab, routed(lab))
    ends = len(lab.node_port)
    assert (result.pairs, result.unreachable) == (ends * (ends - 1), 0)
    assert (result.out_of_zone, result.loop, result.without_lid) == (0, (), ())


def test_a_hole_in_one_table_is_counted_by_hosts(lab: Fabric) -> None:
    subnet = routed(lab)
    guid = lab.node["b-cn0001"].ports[0].guid.value
    forward = subnet.forward.copy()
    forward[subnet.switches.index("a-leaf01"), subnet.lids[guid]] = 255
    result = walk(lab, replace(subnet, forward=forward))
    on_leaf = sum(port.leaf.device == "a-leaf01" for port in lab.node_port.values())
    assert result.unreachable == on_leaf
    assert result.first_unreachable == "a-leaf01 to b-cn0001 mlx5_0"
    (found,) = routing_findings(result)
    assert "pairs of end ports have no path" in found.message


def test_a_path_that_turns_in_circles_is_not_connected(lab: Fabric) -> None:
    subnet = routed(lab)
    guid = lab.node["a-cn0002"].ports[0].guid.value
    lid = subnet.lids[guid]
    leaf, spine = (subnet.switches.index(name) for name in ("a-leaf01", "a-spine01"))
    forward = subnet.forward.copy()
    forward[leaf, lid] = np.flatnonzero(subnet.neighbour[leaf] == spine)[0]
    forward[spine, lid] = np.flatnonzero(subnet.neighbour[spine] == leaf)[0]
    result = walk(lab, replace(subnet, forward=forward))
    assert result.unreachable > 0
    assert result.loop


def test_valleys_make_a_credit_loop(lab: Fabric) -> None:
    """Paths spine1 - leaf - spine2 - other leaf - spine1 wait for each other in a ring."""
    subnet = routed(lab)
    forward = subnet.forward.copy()
    index = subnet.switches.index
    first, second = index("a-spine01"), index("a-spine02")
    left, right, hub = index("a-leaf01"), index("a-leaf02"), index("a-leaf03")

    def out(here: int, there: int) -> int:
        return int(np.flatnonzero(subnet.neighbour[here] == there)[0])

    def lid(host: str) -> int:
        return subnet.lids[lab.node[host].ports[0].guid.value]

    # To the host on the right: left up spine 1, down to the hub, up spine 2, down right;
    # to the host on the left the mirror image, turning at the same hub.
    for target, source, up, down, end in (
        (lid("a-cn0002"), left, first, second, right),
        (lid("a-cn0001"), right, second, first, left),
    ):
        forward[source, target] = out(source, up)
        forward[up, target] = out(up, hub)
        forward[hub, target] = out(hub, down)
        forward[down, target] = out(down, end)
    # Storage closes the ring at the two leaves.
    for target, source, via, up in (
        (lid("mg01"), first, left, second),
        (lid("mg01"), second, right, first),
    ):
        forward[source, target] = out(source, via)
        forward[via, target] = out(via, up)
    result = walk(lab, replace(subnet, forward=forward))
    assert {name.partition("/")[0] for name in result.loop} <= {
        "a-spine01", "a-spine02", "a-leaf01", "a-leaf02", "a-leaf03",
    }  # fmt: skip
    found = routing_findings(result)
    assert any(finding.check == "credit loop" for finding in found)


@pytest.mark.parametrize(
    ("waits", "ring"),
    [
        ([(3, 4), (4, 5), (5, 3)], [3, 4, 5]),
        ([(5, 1), (3, 4), (4, 5), (1, 2), (5, 3)], [3, 4, 5]),  # 1 and 2 are behind it
        ([(9, 3), (8, 9), (3, 4), (4, 5), (5, 3)], [3, 4, 5]),  # 8 and 9 are before it
        ([(3, 4), (4, 3), (4, 1), (1, 6), (6, 7), (7, 6)], [3, 4]),  # 1 is between two rings
        ([(2, 2), (2, 1)], [2]),
        ([(1, 2), (2, 3), (1, 3)], []),
        ([], []),
    ],
)
def test_a_credit_loop_names_the_channels_of_one_ring(
    waits: list[tuple[int, int]], ring: list[int]
) -> None:
    ports = 16
    empty = np.zeros((1, ports), dtype=np.int32)
    subnet = RoutedSubnet(switches=("s",), forward=empty, neighbour=empty, end_port=empty, lids={})
    edges = [np.array([before * ports + then], dtype=np.int64) for before, then in waits]
    assert _cycle(edges, subnet, ports) == tuple(f"s/{channel}" for channel in ring)


def test_a_path_that_leaves_its_zone_is_found(lab: Fabric) -> None:
    """A host of zone a whose cable was pulled to zone b is reached from its zone through b."""
    subnet = routed(lab)
    forward = subnet.forward.copy()
    index = subnet.switches.index
    target = subnet.lids[lab.node["a-cn0001"].ports[0].guid.value]
    subnet.end_port[index("b-leaf01"), 3] = target  # the host is cabled to zone b
    subnet.end_port[index("a-leaf01")][subnet.end_port[index("a-leaf01")] == target] = 0
    for name in subnet.switches:
        forward[index(name), target] = subnet.forward[
            index(name), subnet.lids[lab.node["b-cn0001"].ports[0].guid.value]
        ]
    forward[index("b-leaf01"), target] = 3
    result = walk(lab, replace(subnet, forward=forward))
    assert result.unreachable == 0
    assert result.out_of_zone > 0
    assert any(f.check == "zone" for f in routing_findings(result))


def test_a_port_without_a_lid_is_named(lab: Fabric) -> None:
    subnet = routed(lab)
    lids = dict(subnet.lids)
    del lids[lab.node["st001"].ports[1].guid.value]
    result = walk(lab, replace(subnet, lids=lids))
    assert result.without_lid == ("st001 mlx5_1",)


def test_a_skewed_leaf_is_a_finding(fire_flyer_2: Fabric) -> None:
    subnet = routed(fire_flyer_2)
    forward = subnet.forward.copy()
    leaf = subnet.switches.index("a-leaf01")
    up = forward[leaf] > 20
    forward[leaf, up] = 21  # everything by one uplink
    hops = paths(fire_flyer_2, replace(subnet, forward=forward))
    loads = link_loads(fire_flyer_2, hops)
    (storage,) = (x for x in loads if (x.pattern, x.layer) == ("to storage", "leaf to spine"))
    local = sum(
        port.leaf.device == "a-leaf01"
        for node in fire_flyer_2.nodes_of(Role.STORAGE)
        for port in node.ports
    )
    assert (storage.group, storage.maximum) == ("a-leaf01", 360 - local)
    assert storage.limit == 19  # 1.02 times 355 or 356 over 20, rounded up
    found = {finding.subject for finding in load_findings(loads)}
    assert "to storage, leaf to spine at a-leaf01" in found
    for number in range(40):  # every leaf by two uplinks
        leaf = subnet.switches.index(f"a-leaf{number + 1:02d}")
        up = forward[leaf] > 20
        forward[leaf, up] = 21 + forward[leaf, up] % 2
    hops = paths(fire_flyer_2, replace(subnet, forward=forward))
    assert [f.subject for f in shift_findings(tuple(shift_rates(fire_flyer_2, hops)))] == [
        "a, nodes in order of name",
        "a, nodes in order of leaf",
    ]


def test_idle_links_are_a_finding(fire_flyer_2: Fabric) -> None:
    """What went through interzone ports 9 to 16 of a gateway goes through 1 to 8."""
    subnet = routed(fire_flyer_2)
    forward = subnet.forward.copy()
    gateway = subnet.switches.index("a-leaf40")
    links = [cable.a.number for cable in fire_flyer_2.cables if cable.role is CableRole.INTERZONE]
    ports = sorted(set(links))
    for kept, lost in zip(ports[:8], ports[8:], strict=True):
        forward[gateway, forward[gateway] == lost] = kept
    loads = link_loads(fire_flyer_2, paths(fire_flyer_2, replace(subnet, forward=forward)))
    (up,) = (x for x in loads if (x.pattern, x.layer) == ("all to all", "gateway to interzone"))
    assert up.idle == 8
    assert up.usable_gbps < up.planned_gbps
    assert any(f.subject.startswith("all to all, gateway") for f in load_findings(loads))
