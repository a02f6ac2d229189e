"""Brute force over the cables of a fabric: flows and walks, no closed form."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Hashable, Iterable
from itertools import combinations

from fireflyer.model.fabric import Cable, CableRole, Fabric, Layer

Edges = dict[Hashable, Counter[Hashable]]


def maximum_flow(edges: Edges, source: Hashable, sink: Hashable) -> int:
    """Return the most that flows from source to sink (Edmonds and Karp)."""
    left: Edges = defaultdict(Counter)
    for tail, heads in edges.items():
        for head, capacity in heads.items():
            left[tail][head] += capacity
    total = 0
    while True:
        came: dict[Hashable, Hashable] = {source: source}
        queue = deque([source])
        while queue and sink not in came:
            tail = queue.popleft()
            for head, capacity in left[tail].items():
                if capacity and head not in came:
                    came[head] = tail
                    queue.append(head)
        if sink not in came:
            return total
        way, at = [], sink
        while at != source:
            way.append((came[at], at))
            at = came[at]
        least = min(left[tail][head] for tail, head in way)
        for tail, head in way:
            left[tail][head] -= least
            left[head][tail] += least
        total += least


def tree_cables(fabric: Fabric, tree: str) -> list[Cable]:
    """Return the cables between the switches of a tree."""
    return [
        cable
        for cable in fabric.cables
        if cable.role is CableRole.TREE and fabric.switch[cable.a.device].tree == tree
    ]


def halves_flow(
    fabric: Fabric, tree: str, cables: Iterable[Cable], gone: Collection[str] = ()
) -> float:
    """Return the links' worth of flow from the first half of the leaves to the second.

    A leaf in the middle is taken as two, each with half of its ports; so all is counted twice.
    """
    whole = Counter(cable.a.device for cable in tree_cables(fabric, tree))
    leaves = [leaf for leaf in fabric.switches_of(Layer.LEAF, tree) if leaf.name not in gone]
    parts: dict[str, list[tuple[tuple[str, str], int]]] = {}
    edges: Edges = defaultdict(Counter)
    for index, leaf in enumerate(leaves):
        side = 2 * index + 1 - len(leaves)
        sides = ["a", "b"] if side == 0 else ["a"] if side < 0 else ["b"]
        parts[leaf.name] = [((leaf.name, each), 2 // len(sides)) for each in sides]
        hosts = leaf.model.ports - whole[leaf.name]
        for part, share in parts[leaf.name]:
            if part[1] == "a":
                edges["source"][part] += hosts * share
            else:
                edges[part]["sink"] += hosts * share
    for cable in cables:
        if cable.a.device in gone or cable.z.device in gone:
            continue
        for part, share in parts.get(cable.a.device, []):
            if part[1] == "a":
                edges[part][cable.z.device] += share
            else:
                edges[cable.z.device][part] += share
        if cable.a.device not in parts:
            edges[cable.a.device][cable.z.device] += 2
            edges[cable.z.device][cable.a.device] += 2
    return maximum_flow(edges, "source", "sink") / 2


def walk(cables: Collection[Cable], start: str) -> dict[str, tuple[int, int]]:
    """Return the switches on the shortest way to each switch, and how many such ways."""
    next_to: dict[str, set[str]] = defaultdict(set)
    for cable in cables:
        next_to[cable.a.device].add(cable.z.device)
        next_to[cable.z.device].add(cable.a.device)
    found = {start: (1, 1)}
    queue = deque([start])
    while queue:
        at = queue.popleft()
        for to in sorted(next_to[at]):
            if to not in found:
                found[to] = (found[at][0] + 1, 0)
                queue.append(to)
            if found[to][0] == found[at][0] + 1:
                found[to] = (found[to][0], found[to][1] + found[at][1])
    return found


def disjoint(cables: Collection[Cable], leaves: Collection[str]) -> int:
    """Return the fewest paths without a common cable between two of the leaves."""
    edges: Edges = defaultdict(Counter)
    for cable in cables:
        edges[cable.a.device][cable.z.device] += 1
        edges[cable.z.device][cable.a.device] += 1
    return min(maximum_flow(edges, a, z) for a, z in combinations(leaves, 2))
