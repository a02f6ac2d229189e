"""Readers of rendered files: nothing on a fresh rendering, each edit by name and place."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import make_site_in
from tests.sites import ETHERNET, INFINIBAND_PLANES, ONE_ZONE, PLANES, THREE_LAYERS

from fireflyer.design import design
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric
from fireflyer.prove.files.hostlists import expanded
from fireflyer.prove.prove import READERS
from fireflyer.render import batches
from fireflyer.render.tree import write_tree

NUMBERED = {"netbox", "nautobot"}
"""Folders whose files are found by what follows their number."""
STANDBY: dict[str, Any] = {
    "cluster.management.nodes": 2,
    "cluster.services.subnet_manager": ["mg01", "mg02"],
}
SHAPES: dict[str, dict[str, Any]] = {
    "infiniband": STANDBY,
    "infiniband planes": INFINIBAND_PLANES,
    "one zone": ONE_ZONE,
    "three layers": THREE_LAYERS,
    "ethernet": ETHERNET,
    "planes": PLANES,
}


def rendered(fabric: Fabric, folder: Path) -> Path:
    write_tree(folder / "tree", fabric.intent.name, batches(fabric), ())
    return folder / "tree"


@pytest.fixture(scope="module")
def fabric(tmp_path_factory: pytest.TempPathFactory) -> Fabric:
    return design(load_site(make_site_in(tmp_path_factory.mktemp("site"), "lab", STANDBY)))


@pytest.fixture(scope="module")
def tree(fabric: Fabric, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rendered(fabric, tmp_path_factory.mktemp("rendered"))


def findings(fabric: Fabric, tree: Path, group: str) -> list[str]:
    return [f"{f.subject}: {f.message}" for f in READERS[group](fabric, tree)]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_fresh_rendering_is_as_planned(shape: str, tmp_path: Path) -> None:
    fabric = design(load_site(make_site_in(tmp_path, "lab", SHAPES[shape])))
    tree = rendered(fabric, tmp_path)
    read = {path.name for path in tree.iterdir() if path.is_dir()} & READERS.keys()
    assert {group: found for group in read if (found := findings(fabric, tree, group))} == {}


@pytest.mark.parametrize("site", ["fire-flyer-2", "fire-flyer-roce"])
def test_a_large_rendering_is_as_planned(site: str, tmp_path: Path) -> None:
    fabric = design(load_site(Path(__file__).parents[2] / "inventory" / site))
    tree = rendered(fabric, tmp_path)
    read = {path.name for path in tree.iterdir() if path.is_dir()} & READERS.keys()
    assert {group: found for group in read if (found := findings(fabric, tree, group))} == {}


def swap_lines(first: str, second: str) -> Callable[[str], str]:
    def edit(text: str) -> str:
        lines = text.splitlines(keepends=True)
        a, b = (next(n for n, line in enumerate(lines) if part in line) for part in (first, second))
        lines[a], lines[b] = lines[b], lines[a]
        return "".join(lines)

    return edit


def without(part: str) -> Callable[[str], str]:
    return lambda text: "".join(x for x in text.splitlines(keepends=True) if part not in x)


def instead(old: str, new: str) -> Callable[[str], str]:
    def edit(text: str) -> str:
        assert old in text, old
        return text.replace(old, new, 1)

    return edit


def swapped_ends(text: str) -> str:
    """Swap the two ends of a cable in the cable list."""
    lines = text.splitlines(keepends=True)
    head = lines[0].rstrip().split(",")
    cells = lines[1].rstrip().split(",")
    for name in ("rack", "unit", "device", "port"):
        a, z = head.index(f"a_{name}"), head.index(f"z_{name}")
        cells[a], cells[z] = cells[z], cells[a]
    return "".join([lines[0], ",".join(cells) + "\n", *lines[2:]])


@pytest.mark.parametrize(
    ("path", "edit", "expected"),
    [
        ("cabling/cables.csv", without("a-cn0001:1,"), r": a-cn0001:1: is missing$"),
        (
            "cabling/cables.csv",
            swapped_ends,
            r":2: a-cn0001:1: a_device is a-leaf01, planned a-cn0001$",
        ),
        ("cabling/cables.csv", instead(",200,", ",100,"), r":2: .*speed_gbps is 100, planned 200"),
        ("cabling/labels.csv", without("a-cn0001:1,z"), r": a-cn0001:1 z: is missing$"),
        ("cabling/labels.zpl", instead("^FN3^FDa-r01", "^FN3^FDb-r01"), r"is missing$"),
        (
            "cabling/materials.csv",
            instead("MCP1650", "MCP1651"),
            r"MCP1651-H 1.5: is .*not planned$",
        ),
        ("cabling/racks.csv", instead(",0.15,", ",0.25,"), r"power_kw is 0.25, planned 0.15$"),
        ("cabling/racks/a-r01-01.csv", without("a-cn0002:1"), r"a-cn0002:1: is missing$"),
        (
            "cabling/elevations/a-r01.svg",
            instead('y="630"', 'y="616"'),
            r"a-cn0001: drawn at unit is 2, planned 1$",
        ),
        (
            "slurm/topology.conf",
            instead("Nodes=a-cn[0001-0002]", "Nodes=a-cn[0001-0002],a-cn9999"),
            r":2: a-leaf01: Nodes has a-cn9999, not planned$",
        ),
        (
            "slurm/topology-block.conf",
            instead("BlockSizes=2", "BlockSizes=4"),
            "sizes lacks 2 and has 4",
        ),
        (
            "slurm/topology.yaml",
            instead("children: a-leaf01", "children: a-leaf[01,03]"),
            r"switch a-spines: children has a-leaf03, not planned$",
        ),
        (
            "opensm/mg01/opensm.conf",
            instead("guid 0x02", "lmc 2\nguid 0x02"),
            "lmc: .* not planned",
        ),
        (
            "opensm/mg01/opensm.conf",
            instead("0xfe80000000000000", "0xfe80000000000001"),
            r"subnet_prefix: value is",
        ),
        (
            "opensm/mg02/opensm.conf",
            instead("sm_priority 13", "sm_priority 14"),
            r"sm_priority: value is 14, planned 13$",
        ),
        (
            "opensm/mg02/root-guids.conf",
            instead("0x0204", "0x0203"),
            r"\(interzone01\): is missing",
        ),
        (
            "opensm/mg02/guid-routing-order.conf",
            without("a-cn0001 mlx5_0"),
            r"\(a-cn0001 mlx5_0\): is missing$",
        ),
        (
            "opensm/mg01/guid-routing-order.conf",
            swap_lines("a-cn0001 mlx5_0", "b-cn0002 mlx5_0"),
            r"stands where 0x\w+ \(.*\) is planned$",
        ),
        (
            "opensm/mg02/node-name-map.conf",
            instead('"a-leaf01"', '"a-leaf09"'),
            r"name is a-leaf09, planned a-leaf01$",
        ),
        (
            "opensm/mg02/partitions.conf",
            instead("defmember=full", "defmember=limited"),
            r"member ALL is limited, planned full$",
        ),
        ("opensm/mg02/partitions.conf", instead("rate=17", "rate=16"), r"rate is 16, planned 17$"),
        (
            "opensm/mg02/qos-policy.conf",
            swap_lines("destination: storage", "qos-class: 1"),
            r"rule destination storage: level is hfreduce, planned storage$",
        ),
        (
            "inventory/hosts.yml",
            instead('"leaf_port": 1', '"leaf_port": 7'),
            r":\d+: a-cn0001: fabric_ports.0.leaf_port is 7, planned 1$",
        ),
        (
            "inventory/hosts.yml",
            instead('ansible_host: "10.89.0.43"', 'ansible_host: "10.89.0.41"'),
            r"a-cn0002: ansible_host is 10.89.0.41, planned 10.89.0.43$",
        ),
        (
            "inventory/hosts.yml",
            instead("    a-cn0002:\n", "    a-cn0001:\n"),
            r"a-cn0001: is there twice, first in line",
        ),
        (
            "inventory/hosts.yml",
            instead(
                "storage_zone_a:\n      hosts:\n        st001",
                "storage_zone_a:\n      hosts:\n        st002",
            ),
            r"group storage_zone_a: hosts lacks st001 and has st002, not planned$",
        ),
        (
            "inventory/hosts.yml",
            instead('"nodes": "a-cn[0001-0002]"', '"nodes": "a-cn[0002-0003]"'),
            r"slurm topology a-leaf01: nodes lacks a-cn0001 and has a-cn0003",
        ),
        (
            "inventory/hosts.yml",
            instead("        mg01:\n        mg02:\n    compute", "        mg02:\n    compute"),
            r"group management: hosts lacks mg01$",
        ),
        (
            "inventory/hosts.yml",
            instead("sm_priority 14", "sm_priority 13"),
            r":\d+: mg01:/etc/opensm/opensm.conf: sha256 is [0-9a-f]+, planned [0-9a-f]+$",
        ),
        (
            "inventory/hosts.yml",
            instead('"dest": "/etc/opensm/cn-guids.conf"', '"dest": "/etc/opensm/cn-guid.conf"'),
            r"mg01:/etc/opensm/cn-guids.conf: is missing",
        ),
        (
            "ibsim/fabric.net",
            instead("w=3 s=7", "w=2 s=7"),
            r"\]: rate is w=2 s=7 e=7, planned w=3 s=7 e=7$",
        ),
    ],
)
def test_an_edit_is_named_with_its_place(
    path: str, edit: Callable[[str], str], expected: str, fabric: Fabric, tree: Path
) -> None:
    file = tree / path
    before = file.read_text()
    file.write_text(edit(before))
    try:
        assert file.read_text() != before
        found = findings(fabric, tree, path.partition("/")[0])
    finally:
        file.write_text(before)
    assert found
    assert all(line.startswith(path) for line in found), found
    assert any(re.search(expected, line) for line in found), found


@pytest.mark.parametrize("group", sorted(READERS))
def test_a_missing_file_is_named(group: str, fabric: Fabric, tree: Path) -> None:
    for file in sorted(path for path in (tree / group).rglob("*") if path.is_file()):
        held = file.read_bytes()
        file.unlink()
        found = findings(fabric, tree, group)
        file.write_bytes(held)
        path = str(file.relative_to(tree))
        if not NUMBERED.isdisjoint(file.parts):
            path = f"{path.split('/')[0]}/{path.split('/')[1]}/{file.name.partition('-')[2]}"
        assert f"{path}: the file is missing" in found


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a-cn[0009-0011,0020],mg", ("a-cn0009", "a-cn0010", "a-cn0011", "a-cn0020", "mg")),
        ("a,b", ("a", "b")),
        ("", ()),
    ],
)
def test_hostlists(text: str, names: tuple[str, ...]) -> None:
    assert expanded(text) == names


@pytest.mark.parametrize("text", ["a[", "a[1-]", "a[3-1]", "a[x]"])
def test_what_is_no_hostlist_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no"):
        expanded(text)
