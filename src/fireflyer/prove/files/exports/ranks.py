"""Rank order and trees of HFReduce: every job's nodes, and two trees over all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fireflyer.design.rank_order import tree_order
from fireflyer.model.fabric import Fabric, Node, Role
from fireflyer.prove.files import plain_json
from fireflyer.prove.files.exports.links import Link
from fireflyer.prove.files.marked_yaml import Tree, flattened
from fireflyer.prove.files.source import read
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Row, row_findings


def hfreduce(fabric: Fabric, links: list[Link], tree: Path) -> Iterator[Finding]:
    """Yield where the order of a zone's or of the site's nodes differs from the design's."""
    compute = list(fabric.nodes_of(Role.COMPUTE))
    jobs = {
        f"zone-{zone}": [node for node in compute if node.zone == zone] for zone in fabric.zones
    }
    if len(fabric.zones) > 1:
        jobs["site"] = compute
    for name, nodes in jobs.items():
        path = f"exports/hfreduce/{name}.json"
        if nodes:
            order = planned_order(nodes)
            yield from read(tree, path, lambda text: document_findings(path, text, order))  # noqa: B023 - called at once


def document_findings(path: str, text: str, planned: Tree) -> Iterator[Finding]:
    """Yield where a text of JSON differs from the planned document."""
    findings: list[Finding] = []
    seen = plain_json.load(path, text, findings)
    yield from findings
    if seen is not None:
        yield from json_findings(path, planned, seen)


def planned_order(nodes: list[Node]) -> Tree:
    """Return a job's nodes in rank order, the rank above each in both trees, its crossings."""
    order = tree_order(nodes)
    return {
        "nodes": [node.name for node in order.nodes],
        "trees": [list(above) for above in order.trees],
        "crossings": [list(pair) for pair in order.crossings],
    }


def json_findings(path: str, planned: Tree, seen: Tree) -> Iterator[Finding]:
    """Yield where two documents differ, value by value."""
    plan = {name or "document": {"value": value} for name, value in flattened(planned)}
    rows = [Row(name or "document", {"value": value}) for name, value in flattened(seen)]
    yield from row_findings(path, plan, rows)
