"""Random invalid intents: a valid one with one thing wrong, of every kind that people write.

Each fault is invalid by what `docs/intent.md` says, whatever the rest of the intent is.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from hypothesis import strategies as st
from tests.any_intent import CATALOGUE, as_text, intents

Cluster: TypeAlias = dict[str, Any]
Fault: TypeAlias = Callable[[st.DrawFn, Cluster], None]
"""Spoils an intent in its place."""
REQUIRED = (
    "name",
    "domain",
    "fabric",
    "fabric.technology",
    "fabric.layers",
    "fabric.leaf",
    "fabric.leaf.model",
    "fabric.leaf.count",
    "fabric.spine",
    "fabric.spine.model",
    "fabric.spine.count",
    "compute",
    "compute.model",
    "compute.nodes",
    "storage",
    "storage.model",
    "storage.nodes",
    "management",
    "management.model",
    "management.nodes",
    "services",
    "services.slurm_controller",
    "traffic",
    "traffic.classes",
    "traffic.default",
    "traffic.storage",
    "traffic.high_limit",
    "traffic.classes.0.name",
    "traffic.classes.0.sl",
    "traffic.classes.0.vl",
    "traffic.classes.0.priority",
    "traffic.classes.0.weight",
    "addresses",
    "addresses.management",
    "addresses.loopback",
    "addresses.blocks",
    "addresses.blocks.switch",
    "addresses.blocks.switch.first",
    "addresses.blocks.compute.size",
    "racks",
    "racks.power_kw",
    "racks.per_row",
    "racks.nodes",
    "racks.nodes.compute",
    "racks.nodes.storage",
    "racks.network",
    "racks.network.per_row",
    "racks.network.devices",
)


def _paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if at:
        yield at
    if isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _paths(inner, (*at, key))


def _holder(cluster: Cluster, path: tuple[Any, ...]) -> Any:
    found: Any = cluster
    for key in path[:-1]:
        found = found[key]
    return found


def _value(cluster: Cluster, path: tuple[Any, ...]) -> Any:
    return _holder(cluster, path)[path[-1]]


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def another_type(draw: st.DrawFn, cluster: Cluster) -> None:
    path = draw(st.sampled_from(list(_paths(cluster))))
    value = _value(cluster, path)
    if isinstance(value, (bool, int, float)):
        other: Any = draw(st.sampled_from(["many", [1], {"of": 1}]))
    elif isinstance(value, str):
        other = draw(st.sampled_from([["x"], {"of": "x"}, True, 2.5]))
    else:
        other = draw(st.sampled_from([7, "x", False]))
    _holder(cluster, path)[path[-1]] = other


def out_of_range(draw: st.DrawFn, cluster: Cluster) -> None:
    paths = [path for path in _paths(cluster) if _number(_value(cluster, path))]
    path = draw(st.sampled_from(paths))
    beyond = draw(st.sampled_from([-1, -(10**30), 10**12, math.nan, math.inf, -math.inf]))
    _holder(cluster, path)[path[-1]] = beyond


def missing_key(draw: st.DrawFn, cluster: Cluster) -> None:
    path = tuple(int(p) if p.isdigit() else p for p in draw(st.sampled_from(REQUIRED)).split("."))
    del _holder(cluster, path)[path[-1]]


def unknown_key(draw: st.DrawFn, cluster: Cluster) -> None:
    maps = [path for path in _paths(cluster) if isinstance(_value(cluster, path), dict)]
    path = draw(st.sampled_from(maps))
    _value(cluster, path)[draw(st.sampled_from(["colour", "Model", "counts", "-", " "]))] = 1


def wrong_model(draw: st.DrawFn, cluster: Cluster) -> None:
    role = draw(st.sampled_from(["compute", "storage", "management"]))
    layer = draw(st.sampled_from(["leaf", "spine"]))
    fabric = cluster["fabric"]
    others = [m.name for m in CATALOGUE.nodes.values() if m.role != role]
    switches = [m.name for m in CATALOGUE.switches.values() if m.technology != fabric["technology"]]
    which = draw(st.integers(0, 4))
    if which == 0:
        cluster[role]["model"] = "toaster"
    elif which == 1:
        cluster[role]["model"] = draw(st.sampled_from(sorted(others)))
    elif which == 2:
        fabric[layer]["model"] = draw(st.sampled_from(sorted(switches)))
    elif which == 3:
        fabric[layer]["model"] = "Toaster 9000"
    else:
        fabric["technology"] = "ethernet" if fabric["technology"] == "infiniband" else "infiniband"


def contradictory_trees(draw: st.DrawFn, cluster: Cluster) -> None:
    fabric = cluster["fabric"]
    zones, planes = fabric.get("zones", 1), fabric.get("planes", 1)
    which = draw(st.integers(0, 5))
    if which == 0:  # zones that nothing joins, or one zone with something to join
        if zones > 1:
            del fabric["interzone"]
        else:
            fabric["interzone"] = {
                "model": fabric["spine"]["model"], "switches": 1, "links_per_zone": 1,
            }  # fmt: skip
    elif which == 1:
        fabric["zones" if planes > 1 else "planes"] = 2
        fabric["planes" if planes > 1 else "zones"] = max(2, zones, planes)
    elif which == 2:
        if fabric["layers"] == 3:
            del fabric["core"]
        else:
            fabric["core"] = {"model": fabric["spine"]["model"], "count": 1}
    elif which == 3:
        fabric["layers"] = 2 if fabric["layers"] == 3 else 3
    elif which == 4:
        fabric["layers"] = draw(st.sampled_from([1, 4, "two"]))
    else:
        fabric["pods_per_zone"] = fabric["leaf"]["count"] + 1


def too_much(draw: st.DrawFn, cluster: Cluster) -> None:
    fabric = cluster["fabric"]
    key = draw(st.sampled_from(["leaf", "spine", "trunk", "storage", "management"]))
    if key in ("leaf", "spine"):
        fabric[key]["count"] = 99_999
    elif key == "trunk":
        fabric["cables_per_pair"] = 1025
    else:
        cluster[key]["nodes"] = 100_000
        if draw(st.booleans()):
            cluster["compute"]["nodes"] = 0


def wrong_service(draw: st.DrawFn, cluster: Cluster) -> None:
    service = draw(st.sampled_from(["slurm_controller", "subnet_manager"]))
    if service == "subnet_manager" and cluster["fabric"]["technology"] == "ethernet":
        cluster["services"][service] = ["mg01"]
        return
    hosts = cluster["services"][service]
    hosts[:] = draw(st.sampled_from([[], ["mg00"], ["st001"], [hosts[0]] * 2, ["MG01"]]))


def no_way_to_the_fabric(draw: st.DrawFn, cluster: Cluster) -> None:
    """A subnet manager without an adapter; on Ethernet, none of the fabric's options."""
    if cluster["fabric"]["technology"] == "infiniband":
        cluster["management"]["model"] = "management-1u-offside"
    else:
        del cluster["fabric"]["ethernet"]


def wrong_traffic(draw: st.DrawFn, cluster: Cluster) -> None:
    traffic = cluster["traffic"]
    rows = traffic["classes"]
    which = draw(st.integers(0, 5))
    if which == 0:
        rows.append(dict(rows[0]))
    elif which == 1:
        rows[0]["vl"] = 7 if len(rows) < 7 else 0
        rows[-1]["vl"] = rows[0]["vl"] if len(rows) > 1 else 7
    elif which == 2:
        traffic[draw(st.sampled_from(["default", "storage"]))] = "nobody"
    elif which == 3:
        for row in rows:
            row["priority"] = "high"
    elif which == 4:
        traffic["classes"] = []
    else:
        rows[0]["sl"] = 15


def wrong_address(draw: st.DrawFn, cluster: Cluster) -> None:
    addresses = cluster["addresses"]
    used = "roce" if "roce" in addresses else "ipoib"
    bad = ["10.0.0.1/16", "300.1.1.1/8", "fe80::/64", "10.1.0.0", "", "224.0.0.0/8", "10.0.0.0/33"]
    which = draw(st.integers(0, 5))
    if which == 0:
        addresses[draw(st.sampled_from(["management", "loopback"]))] = draw(st.sampled_from(bad))
    elif which == 1:
        addresses[used][0] = draw(st.sampled_from(bad))
    elif which == 2:
        addresses[used].append("10.200.0.0/16")
    elif which == 3:
        addresses["loopback"] = "10.0.128.0/17"
    elif which == 4:
        addresses["blocks"]["compute"]["first"] = addresses["blocks"]["switch"]["first"]
    else:
        addresses["gateway"] = draw(st.sampled_from(["10.9.9.9", "10.0.0.0", "10.0.0.1", "router"]))


def wrong_floor(draw: st.DrawFn, cluster: Cluster) -> None:
    racks = cluster["racks"]
    which = draw(st.integers(0, 4))
    if which == 0:
        racks["power_kw"] = 0.001
    elif which == 1:
        racks["network"]["per_row"] = racks["per_row"] + 1
    elif which == 2:
        racks["network"]["devices"] = 61
        cluster["fabric"]["leaf"]["count"] = 2000
    elif which == 3:
        racks["cross_columns"] = [racks["per_row"] + 1]
    else:
        racks["units"] = draw(st.sampled_from([3, 61]))


def wrong_system(draw: st.DrawFn, cluster: Cluster) -> None:
    fabric = cluster["fabric"]
    ethernet = fabric["technology"] == "ethernet"
    fabric["system"] = draw(st.sampled_from(["mlnxos" if ethernet else "sonic", "ios", ""]))


FAULTS: tuple[Fault, ...] = (
    another_type, out_of_range, missing_key, unknown_key, wrong_model, contradictory_trees,
    too_much, wrong_service, no_way_to_the_fabric, wrong_traffic, wrong_address, wrong_floor,
    wrong_system,
)  # fmt: skip

TEXTS: tuple[bytes, ...] = (
    b"",
    b"\n# nothing\n",
    b"cluster:\n",
    b"cluster: 5\n",
    b"[]\n",
    b"- cluster\n",
    b"cluster: {}\ncluster: {}\n",
    b"cluster:\n\tname: tab\n",
    b"cluster: {name: [unclosed\n",
    b"cluster: &a [*a]\n",
    b"cluster: *nowhere\n",
    b"cluster: !!python/object/apply:os.system [id]\n",
    b"cluster: !!int many\n",
    b"cluster: \xff\xfe\n",
    b"\x00\x01\x02",
    b"cluster: " + b"[" * 5000 + b"\n",
    b"? [a, b]\n: c\n",
    b"a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\n"
    b"d: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\ncluster: [*e,*e,*e,*e]\n",
)
"""Files that hold no intent at all."""


@st.composite
def invalid_texts(draw: st.DrawFn) -> tuple[str, bytes]:
    """Return the name of a fault, and the bytes of an intent's file that has it."""
    number = draw(st.integers(0, len(FAULTS) + 1))
    if number == len(FAULTS) + 1:
        return "text", draw(st.sampled_from(TEXTS))
    cluster = copy.deepcopy(draw(intents()))
    if number == len(FAULTS):  # a file that was cut off, or has a stray line
        text = as_text(cluster).decode()
        stray = draw(st.sampled_from(["}\n", "cluster: {}\n", "site: 5\n", "- x\n", "\tx: 1\n"]))
        cut = draw(st.booleans())
        return "text", (text[: text.index("racks:")] if cut else text + stray).encode()
    fault = FAULTS[number]
    fault(draw, cluster)
    return fault.__name__, as_text(cluster)
