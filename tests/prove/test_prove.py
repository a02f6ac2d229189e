"""Real OpenSM on ibsim: what it takes, and every fault that prove must see."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import MakeSite
from tests.prove.netfile import remove_link, swap_at_hosts, swap_at_leaves, swap_hosts
from tests.sites import EIGHT_PLANES, INFINIBAND_PLANES, ONE_ZONE, THREE_LAYERS

from fireflyer.design import design
from fireflyer.errors import OperatingError
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric
from fireflyer.prove import prove
from fireflyer.prove.infiniband.prove import InfinibandProof, prove_infiniband
from fireflyer.render import GROUPS, batches
from fireflyer.render.tree import write_tree


def quiet(step: str) -> None:
    """Show no progress."""


def rendered(fabric: Fabric, folder: Path) -> Path:
    write_tree(folder / "tree", fabric.intent.name, batches(fabric), GROUPS)
    return folder / "tree"


def proof_of(fabric: Fabric, folder: Path) -> InfinibandProof:
    return prove_infiniband(fabric, rendered(fabric, folder), quiet)


def test_fire_flyer_2_is_proved(fire_flyer_2: Fabric, tmp_path: Path) -> None:
    proof = proof_of(fire_flyer_2, tmp_path)
    assert proof.findings == ()
    assert proof.links == 3200
    (subnet,) = proof.subnets
    assert subnet.walk.pairs == subnet.verdict.pairs == 1568 * 1567
    assert subnet.ports_with_tables == 2 * 3200 - 1568
    loads = {(load.pattern, load.layer): load for load in subnet.loads}
    assert loads["to storage", "leaf to spine"].maximum <= 18
    assert loads["to compute", "leaf to spine"].maximum == 60
    assert loads["all to all", "spine to leaf"].ratio < 1.02
    between = loads["all to all", "gateway to interzone"]
    assert (between.idle, between.links) == (0, 32)
    assert between.usable_gbps == pytest.approx(between.planned_gbps)
    assert {rate.mean for rate in subnet.shifts} == {1.0}  # as test_routing_order counts them


@pytest.mark.parametrize(
    "change",
    [{}, ONE_ZONE, THREE_LAYERS, INFINIBAND_PLANES],
    ids=["lab", "one", "three", "planes"],
)
def test_other_shapes_are_proved(
    change: dict[str, Any], make_site: MakeSite, tmp_path: Path
) -> None:
    proof = proof_of(design(load_site(make_site("lab", change))), tmp_path)
    assert proof.findings == ()


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def roots_are_spines(tree: Path, fabric: Fabric) -> None:
    spines = [str(s.guid) for s in fabric.switches if s.layer == "spine"]
    (tree / "opensm/mg01/root-guids.conf").write_text("\n".join(spines) + "\n")


def misspelt_option(tree: Path, fabric: Fabric) -> None:
    edit(tree / "opensm/mg01/opensm.conf", "routing_engine updn", "routing_enginee updn")


def bad_partition(tree: Path, fabric: Fabric) -> None:
    edit(tree / "opensm/mg01/partitions.conf", "Default=0x7fff,", "Default=;")


def slow_group(tree: Path, fabric: Fabric) -> None:
    edit(tree / "opensm/mg01/partitions.conf", "rate=17", "rate=16")


def small_group(tree: Path, fabric: Fabric) -> None:
    edit(tree / "opensm/mg01/partitions.conf", "mtu=5, ", "")


def no_group(tree: Path, fabric: Fabric) -> None:
    edit(tree / "opensm/mg01/partitions.conf", "ipoib, ", "")


def other_weights(tree: Path, fabric: Fabric) -> None:
    edit(tree / "opensm/mg01/opensm.conf", "qos_vlarb_high 1:128", "qos_vlarb_high 1:127")


def other_lanes(tree: Path, fabric: Fabric) -> None:
    edit(tree / "opensm/mg01/opensm.conf", "qos_sl2vl 0,1,2,3", "qos_sl2vl 0,1,3,2")


def broken_policy(tree: Path, fabric: Fabric) -> None:
    edit(tree / "opensm/mg01/qos-policy.conf", "qos-level-name: storage", "qos-level-name: nope")


def missing_roots(tree: Path, fabric: Fabric) -> None:
    (tree / "opensm/mg01/root-guids.conf").write_text("0x0000000000000bad\n")


def fewer_lanes(tree: Path, fabric: Fabric) -> None:
    edit(tree / "opensm/mg01/opensm.conf", "max_op_vls 3", "max_op_vls 2")


def storage_without_its_class(tree: Path, fabric: Fabric) -> None:
    guid = fabric.node["st002"].ports[1].guid
    edit(tree / "opensm/mg01/qos-policy.conf", f"port-guid: {guid}", "port-guid: 0x1")


def renamed_switch(tree: Path, fabric: Fabric) -> None:
    edit(tree / "ibsim/fabric.net", '"a-leaf02"', '"a-leaf20"')


def one_end_of_a_link_less(tree: Path, fabric: Fabric) -> None:
    remove_link(tree / "ibsim/fabric.net", "a-leaf01", 5, ends=1)


def hosts_crossed_at_the_leaves_only(tree: Path, fabric: Fabric) -> None:
    swap_at_leaves(tree / "ibsim/fabric.net", "a-cn0001 mlx5_0", "b-cn0002 mlx5_0")


def hosts_crossed_at_the_hosts_only(tree: Path, fabric: Fabric) -> None:
    swap_at_hosts(tree / "ibsim/fabric.net", "a-cn0001 mlx5_0", "b-cn0002 mlx5_0")


def one_link_less(tree: Path, fabric: Fabric) -> None:
    remove_link(tree / "ibsim/fabric.net", "a-leaf01", 5)


def crossed_hosts(tree: Path, fabric: Fabric) -> None:
    swap_hosts(tree / "ibsim/fabric.net", "a-cn0001 mlx5_0", "b-cn0002 mlx5_0")


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (roots_are_spines, r"^connectivity: forwarding tables: \d+ of 72 pairs of end ports"),
        (misspelt_option, r'^log: Unrecognized token: "routing_enginee"'),
        (bad_partition, r"^log: PARSE ERROR"),
        (
            slow_group,
            r"^partition: IPoIB's .*: is MTU 4096, 100 Gb/s, .*planned MTU 4096, 200 Gb/s",
        ),
        (small_group, r"^partition: IPoIB's broadcast group: is MTU 2048, 200 Gb/s"),
        (no_group, r"^partition: IPoIB's broadcast group: the subnet administrator has no such"),
        (other_weights, r"^qos: VL arbitration high at .* and 64 more: is \(\(1, 127\)"),
        (other_lanes, r"^qos: SL2VL at .*: is 0,1,3,2"),
        (broken_policy, r"^log: .*ERR AC11: .*'nope' not found"),
        (missing_roots, r"^log: .*no root nodes were found"),
        (fewer_lanes, r"^qos: OperationalVLs at .* and 64 more: is 2, planned 3"),
        (storage_without_its_class, r"^qos: b-cn0001 mlx5_0 to st002 mlx5_1: gets SL 0, planned 3"),
        (renamed_switch, r"^cabling: a-leaf02: .* calls itself 'a-leaf20'"),
        (one_end_of_a_link_less, r"^cabling: a-leaf01:5: no link between a-leaf01 IB1/5 and"),
        (
            hosts_crossed_at_the_leaves_only,
            r"^cabling: a-cn0001:1 and b-cn0002:1: the cables are crossed",
        ),
        (
            hosts_crossed_at_the_hosts_only,
            r"^cabling: a-cn0001:1 and b-cn0002:1: the cables are crossed",
        ),
        (
            one_link_less,
            r"^cabling: a-leaf01:5: no link between a-leaf01 IB1/5 and a-spine01 IB1/1",
        ),
        (crossed_hosts, r"^cabling: a-cn0001:1 and b-cn0002:1: the cables are crossed"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_damage_is_found(
    damage: Callable[[Path, Fabric], None], expected: str, lab: Fabric, tmp_path: Path
) -> None:
    tree = rendered(lab, tmp_path)
    damage(tree, lab)
    findings = [str(finding) for finding in prove(lab, tree, quiet).findings]
    assert any(re.search(expected, finding) for finding in findings), findings
    assert not any(finding.startswith("judges") for finding in findings), findings
    assert any(finding.startswith("file: ") for finding in findings)


def test_a_tree_of_another_intent_is_out_of_date(
    lab: Fabric, make_site: MakeSite, tmp_path: Path
) -> None:
    tree = rendered(lab, tmp_path)
    other = design(load_site(make_site("lab", {"cluster.storage.nodes": 3})))
    findings = prove(other, tree, quiet).findings
    subjects = {f.subject.partition(":")[0] for f in findings if f.check == "file"}
    assert subjects >= {"ibsim/fabric.net", "cabling/cables.csv", "opensm/mg01/io-guids.conf"}


def test_a_subnet_manager_without_a_link_is_an_error(lab: Fabric, tmp_path: Path) -> None:
    tree = rendered(lab, tmp_path)
    remove_link(tree / "ibsim/fabric.net", "mg01 mlx5_0", 1)
    with pytest.raises(OperatingError, match=r"mg01 mlx5_0 has no link in .*; cable it, or name"):
        prove_infiniband(lab, tree, quiet)


def test_a_part_that_fails_keeps_what_the_others_found(lab: Fabric, tmp_path: Path) -> None:
    tree = rendered(lab, tmp_path)
    remove_link(tree / "ibsim/fabric.net", "mg01 mlx5_0", 1)
    proof = prove(lab, tree, quiet)
    assert [part.name for part in proof.parts if part.failed] == ["infiniband"]
    assert "mg01 mlx5_0 has no link" in proof.failures[0]
    assert {f.subject.partition(":")[0] for f in proof.findings} == {"ibsim/fabric.net"}
    assert proof.part("netbox").failed == ""


def copied_node(text: str) -> str:
    return text + text[text.index("vendid") : text.index("vendid", text.index("vendid") + 1)]


def unknown_node(text: str) -> str:
    return text.replace('[1] "H-0205001000000000"', '[1] "H-00000000deadbeef"')


def renamed_manager(text: str) -> str:
    return text.replace('"mg01 mlx5_0"', '"mg09 mlx5_0"')


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (copied_node, r"fabric.net:\d+: S-0202000000000000 is there twice; remove one of them"),
        (unknown_node, r"fabric.net:\d+: names H-00000000deadbeef, which is no node of the file"),
        (renamed_manager, r'fabric.net has no adapter "mg01 mlx5_0", and OpenSM runs there'),
    ],
)
def test_a_netfile_that_ibsim_would_not_take_is_explained(
    damage: Callable[[str], str], message: str, lab: Fabric, tmp_path: Path
) -> None:
    tree = rendered(lab, tmp_path)
    file = tree / "ibsim/fabric.net"
    file.write_text(damage(file.read_text()))
    with pytest.raises(OperatingError, match=message):
        prove_infiniband(lab, tree, quiet)


def test_an_opensm_that_would_stay_is_refused(lab: Fabric, tmp_path: Path) -> None:
    tree = rendered(lab, tmp_path)
    edit(tree / "opensm/mg01/opensm.conf", "qos TRUE", "qos TRUE\ndaemon TRUE")
    with pytest.raises(OperatingError, match="daemon TRUE would leave OpenSM running"):
        prove_infiniband(lab, tree, quiet)


def test_files_that_are_not_ours_are_left_alone(lab: Fabric, tmp_path: Path) -> None:
    tree = rendered(lab, tmp_path)
    (tree / "opensm/mg01/.opensm.conf.swp").write_bytes(b"\xff\x00")
    (tree / "opensm/mg01/notes").mkdir()
    assert prove(lab, tree, quiet).findings == ()


def test_every_plane_is_proved_by_its_own_manager(make_site: MakeSite, tmp_path: Path) -> None:
    proof = proof_of(design(load_site(make_site("lab", EIGHT_PLANES))), tmp_path)
    assert proof.findings == ()
    assert [subnet.name for subnet in proof.subnets] == [f"p{n}" for n in range(1, 9)]
    assert sum(subnet.links for subnet in proof.subnets) == proof.links
    assert all(subnet.walk.pairs == subnet.verdict.pairs == 5 * 4 for subnet in proof.subnets)


def crossed_planes(tree: Path, fabric: Fabric) -> None:
    swap_hosts(tree / "ibsim/fabric.net", "a-cn0001 mlx5_0", "a-cn0001 mlx5_1")


def manager_of_another_plane(tree: Path, fabric: Fabric) -> None:
    first, second = (port.guid for port in fabric.node["mg01"].ports)
    edit(tree / "opensm/mg01/p2/opensm.conf", f"guid {second}", f"guid {first}")


def roots_of_another_plane(tree: Path, fabric: Fabric) -> None:
    roots = (tree / "opensm/mg01/p1/root-guids.conf").read_text()
    (tree / "opensm/mg01/p2/root-guids.conf").write_text(roots)


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (crossed_planes, r"^cabling: a-cn0001:1 and a-cn0001:2: the cables are crossed"),
        (manager_of_another_plane, r"^error: opensm ended .* Unable to find requested CA guid"),
        (roots_of_another_plane, r"^log: p2: .*no root nodes were found"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_damage_to_a_plane_is_found(
    damage: Callable[[Path, Fabric], None], expected: str, make_site: MakeSite, tmp_path: Path
) -> None:
    fabric = design(load_site(make_site("lab", INFINIBAND_PLANES)))
    tree = rendered(fabric, tmp_path)
    damage(tree, fabric)
    proof = prove(fabric, tree, quiet)
    found = [*map(str, proof.findings), *(f"error: {failure}" for failure in proof.failures)]
    assert any(re.search(expected, finding) for finding in found), found


ONE_CLASS = {
    "classes": [{"name": "all", "sl": 0, "vl": 0, "priority": "low", "weight": 1}],
    "default": "all",
    "storage": "all",
    "high_limit": 0,
}
EIGHT_CLASSES = {
    "classes": [
        {"name": f"c{n}", "sl": 14 - n, "vl": n, "priority": "low", "weight": 1 + 30 * n}
        for n in range(8)
    ],
    "default": "c3",
    "storage": "c5",
    "high_limit": 255,
}


@pytest.mark.parametrize("traffic", [ONE_CLASS, EIGHT_CLASSES], ids=["one", "eight"])
def test_other_tables_of_classes_reach_the_switches(
    traffic: dict[str, Any], make_site: MakeSite, tmp_path: Path
) -> None:
    fabric = design(load_site(make_site("lab", {"cluster.traffic": traffic})))
    proof = proof_of(fabric, tmp_path)
    assert proof.findings == ()
    assert proof.subnets[0].ports_with_tables == 65
