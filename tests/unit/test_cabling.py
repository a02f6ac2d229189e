"""The cable list read by someone who knows nothing of the generator."""

from __future__ import annotations

import csv
import io
from collections import Counter
from itertools import product

import pytest

from fireflyer.model.fabric import Fabric
from fireflyer.render.cabling import files


@pytest.fixture(scope="module")
def rows(fire_flyer_2: Fabric) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(files(fire_flyer_2)["cables.csv"])))


def test_every_port_is_used_once(rows: list[dict[str, str]]) -> None:
    ends = Counter((row[f"{end}_device"], row[f"{end}_port"]) for row in rows for end in "az")
    assert len(rows) == 3200
    assert set(ends.values()) == {1}
    assert len({row["cable_id"] for row in rows}) == 3200


def test_every_leaf_spine_pair_is_cabled(rows: list[dict[str, str]]) -> None:
    pairs = {(row["a_device"], row["z_device"]) for row in rows if "spine" in row["z_device"]}
    assert pairs == {
        (f"{zone}-leaf{leaf:02d}", f"{zone}-spine{spine:02d}")
        for zone, leaf, spine in product("ab", range(1, 41), range(1, 21))
    }


def test_every_storage_node_is_in_both_zones(rows: list[dict[str, str]]) -> None:
    zones: dict[str, set[str]] = {}
    for row in rows:
        if row["a_device"].startswith("st"):
            zones.setdefault(row["a_device"], set()).add(row["z_device"][0])
    assert zones == {f"st{number:03d}": {"a", "b"} for number in range(1, 181)}


def test_both_labels_name_both_ends_near_end_first(rows: list[dict[str, str]]) -> None:
    for row in rows:
        a = f"{row['a_rack']}-U{int(row['a_unit']):02d}:{row['a_port']}"
        z = f"{row['z_rack']}-U{int(row['z_unit']):02d}:{row['z_port']}"
        assert row["a_label"] == f"{a} / {z}"
        assert row["z_label"] == f"{z} / {a}"


def test_no_two_devices_stand_in_one_place(fire_flyer_2: Fabric) -> None:
    taken: Counter[tuple[str, int]] = Counter()
    for node in fire_flyer_2.nodes:
        for unit in range(node.model.rack_units):
            taken[node.place.rack, node.place.unit + unit] += 1
    for switch in fire_flyer_2.switches:
        taken[switch.place.rack, switch.place.unit] += 1
    assert set(taken.values()) == {1}
    assert max(unit for _, unit in taken) <= fire_flyer_2.intent.racks.units
