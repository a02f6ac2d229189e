"""The lists, sheets and labels, read by someone who knows nothing of the generator."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import pytest
from openpyxl import load_workbook
from tests.conftest import REPO, MakeSite

from fireflyer.design import design
from fireflyer.design.materials import racks
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric, Role
from fireflyer.render.cabling import files

Files = dict[str, str | bytes]


@pytest.fixture(scope="module")
def found(fire_flyer_2: Fabric) -> Files:
    return dict(files(fire_flyer_2))


@pytest.fixture(scope="module")
def rows(found: Files) -> list[dict[str, str]]:
    return table(found, "cables.csv")


def table(found: Files, name: str) -> list[dict[str, str]]:
    """Read a CSV file among the rendered ones."""
    text = found[name]
    assert isinstance(text, str)
    return list(csv.DictReader(io.StringIO(text)))


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


def test_no_two_labels_are_alike(rows: list[dict[str, str]], found: Files) -> None:
    labels = [row[f"{end}_label"] for row in rows for end in "az"]
    assert len(set(labels)) == 2 * len(rows)
    listed = [f"{row['near']} / {row['far']}" for row in table(found, "labels.csv")]
    assert sorted(listed) == sorted(labels)


def test_the_printer_file_holds_every_label_after_its_form(
    rows: list[dict[str, str]], found: Files
) -> None:
    text = found["labels.zpl"]
    assert isinstance(text, str)
    form, *labels = text.split("^XA")[1:]
    assert "^DFR:CABLE.ZPL" in form
    assert set(re.findall(r"\^FN(\d)", form)) == set("1234")
    said = Counter(
        (match[1], f"{match[2]} / {match[3]}")
        for label in labels
        if (
            match := re.fullmatch(
                r"\^XFR:CABLE\.ZPL\^FN1\^FDQA,([^^]+)\^FS\^FN2\^FD\1\^FS"
                r"\^FN3\^FD([^^]+)\^FS\^FN4\^FD([^^]+)\^FS\^XZ\n",
                label,
            )
        )
    )
    assert said == Counter((row["cable_id"], row[f"{end}_label"]) for row in rows for end in "az")


def test_the_list_is_the_fabric(rows: list[dict[str, str]], fire_flyer_2: Fabric) -> None:
    for row, cable in zip(rows, fire_flyer_2.cables, strict=True):
        assert row["cable_id"] == cable.id
        for end, port in (("a", cable.a), ("z", cable.z)):
            place = fire_flyer_2.device_place(port.device)
            assert (row[f"{end}_rack"], int(row[f"{end}_unit"])) == (place.rack, place.unit)
            assert row[f"{end}_port"] == fire_flyer_2.port_name(port)
            assert row[f"{end}_guid"] == str(fire_flyer_2.guid(port))
        assert (row["medium"], float(row["length_m"])) == (cable.medium, cable.length_m)
        assert (row["part"], int(row["pull"])) == (cable.part, cable.pull)


@pytest.mark.parametrize("site", ["fire-flyer-2", "fire-flyer-roce"])
def test_the_workbook_says_what_the_list_says(site: str) -> None:
    made = dict(files(design(load_site(REPO / "inventory" / site))))
    data = made["cables.xlsx"]
    assert isinstance(data, bytes)
    book = load_workbook(io.BytesIO(data), read_only=True)
    assert book.sheetnames == ["cables", "materials", "racks"]
    for sheet, name in (("cables", "cables.csv"), ("materials", "materials.csv")):
        head, *read = ([as_text(cell) for cell in row] for row in book[sheet].values)
        assert len(set(head)) == len(head)
        expected = [[row[column] for column in head] for row in table(made, name)]
        assert sorted(read) == sorted(expected)
    turns = [int(as_text(row[0])) for row in list(book["cables"].values)[1:]]
    assert turns == sorted(turns)


def as_text(cell: object) -> str:
    """Return a cell as CSV has it."""
    if cell is None:
        return ""
    return f"{cell:g}" if isinstance(cell, float) else str(cell)


def test_the_sheets_of_all_racks_are_the_list(
    rows: list[dict[str, str]], found: Files, fire_flyer_2: Fabric
) -> None:
    seen: Counter[str] = Counter()
    for name in found:
        if name.startswith("racks/"):
            sheet, rack = table(found, name), Path(name).stem
            assert [int(row["pull"]) for row in sheet] == sorted(int(r["pull"]) for r in sheet)
            assert all(row["near_label"].startswith(f"{rack}-U") for row in sheet)
            seen.update(row["cable_id"] for row in sheet)
    expected = {row["cable_id"]: 1 if row["a_rack"] == row["z_rack"] else 2 for row in rows}
    assert seen == expected


def test_materials_count_what_is_in_the_list(rows: list[dict[str, str]], found: Files) -> None:
    items = table(found, "materials.csv")
    cables = {(i["part"], i["length_m"]): int(i["quantity"]) for i in items if i["length_m"]}
    assert cables == Counter((row["part"], row["length_m"]) for row in rows)
    others = {i["part"]: int(i["quantity"]) for i in items if not i["length_m"]}
    assert others["qm8700"] == 122
    assert others["fire-flyer-2-compute"] == 1200
    for item in items:
        percent = 0 if item["kind"] in ("nodes", "fittings") else 2
        assert int(item["spares"]) == -(-int(item["quantity"]) * percent // 100)
        assert int(item["total"]) == int(item["quantity"]) + int(item["spares"])


def test_racks_add_up_to_the_site(found: Files, fire_flyer_2: Fabric) -> None:
    racks = table(found, "racks.csv")
    watts = sum(n.model.power_w for n in fire_flyer_2.nodes)
    watts += sum(s.model.power_w for s in fire_flyer_2.switches)
    assert sum(float(rack["power_kw"]) for rack in racks) == pytest.approx(watts / 1000)
    devices = len(fire_flyer_2.nodes) + len(fire_flyer_2.switches)
    assert sum(int(rack["devices"]) for rack in racks) == devices
    for rack in racks:
        assert float(rack["heat_btu_per_h"]) == pytest.approx(
            3412.142 * float(rack["power_kw"]), abs=1
        )


def text_of(page: str) -> str:
    """Return a page of the documentation with its lines joined."""
    return " ".join((REPO / "docs" / page).read_text().split())


def test_the_page_says_what_the_place_of_network_racks_costs(
    fire_flyer_2: Fabric, make_site: MakeSite
) -> None:
    first = design(load_site(make_site("fire-flyer-2", {"cluster.racks.network.first_row": 1})))
    km, longest = [], []
    for fabric in (fire_flyer_2, first):
        lengths = [cable.length_m for cable in fabric.cables if cable.medium == "aoc"]
        assert len(lengths) == 2728
        km.append(f"{sum(lengths) / 1000:.1f} km")
        longest.append(f"{max(lengths):g} m")
    assert (
        f"its 2,728 optical cables are {km[0]} long, and the longest one sold is {longest[0]}."
        f" With `racks.network.first_row: 1` they are {km[1]}, and the longest is {longest[1]}."
    ) in text_of("cabling.md")


@pytest.mark.parametrize(
    "site", ["fire-flyer-2", "fire-flyer-roce", "three-layer-10000", "next-gen"]
)
def test_the_page_names_what_the_fullest_rack_may_draw(site: str) -> None:
    fabric = design(load_site(REPO / "inventory" / site))
    fullest = max(racks(fabric), key=lambda rack: rack.power_w)
    limit = f"{fabric.intent.racks.power_kw:g} kW"
    kind = "switches" if fullest.boxes[0].name in fabric.switch else "nodes"
    switches = sum(box.kind == "switch" for box in fullest.boxes)
    holds = f"{fullest.power_w / 1000:.3g} kW, {switches or len(fullest.devices)} {kind}"
    said = rf"\| `{site}` \| {holds}.*? \| {limit} \|"
    assert re.search(said, text_of("cabling.md")), fullest


def test_a_rack_is_held_against_the_most_a_node_may_draw() -> None:
    fabric = design(load_site(REPO / "inventory" / "three-layer-10000"))
    node = next(fabric.nodes_of(Role.COMPUTE))
    rack = next(rack for rack in racks(fabric) if rack.name == node.place.rack)
    assert (node.model.power_w, node.model.power_max_w) == (4200, 6500)
    assert rack.power_w == 6500 * len(rack.boxes)
    rows = table(dict(files(fabric)), "racks.csv")
    assert {float(row["power_kw"]) for row in rows if row["rack"] == rack.name} == {26.0}


def test_every_device_is_drawn_once_where_it_stands(found: Files, fire_flyer_2: Fabric) -> None:
    drawn: list[str] = []
    for name, text in found.items():
        if name.startswith("elevations/"):
            assert isinstance(text, str)
            texts = [node.text or "" for node in ElementTree.fromstring(text).iter()]
            drawn += [found.split(",")[0] for found in texts if found.endswith(" W")]
    fittings = [fitting.name for fitting in fire_flyer_2.fittings]
    assert sorted(drawn) == sorted([*fire_flyer_2.node, *fire_flyer_2.switch, *fittings])


def test_no_two_devices_stand_in_one_place(fire_flyer_2: Fabric) -> None:
    taken: Counter[tuple[str, int]] = Counter()
    for node in fire_flyer_2.nodes:
        for unit in range(node.model.rack_units):
            taken[node.place.rack, node.place.unit + unit] += 1
    for switch in fire_flyer_2.switches:
        taken[switch.place.rack, switch.place.unit] += 1
    assert set(taken.values()) == {1}
    assert max(unit for _, unit in taken) <= fire_flyer_2.intent.racks.units


@pytest.mark.parametrize("name", ["materials.csv", "labels.zpl", "racks/a-r01-02.csv"])
def test_lab(name: str, lab: Fabric, golden: Callable[[str, str], None]) -> None:
    text = dict(files(lab))[name]
    assert isinstance(text, str)
    golden(f"lab/cabling/{name}", text)


def test_the_same_fabric_gives_the_same_bytes(lab: Fabric) -> None:
    assert dict(files(lab)) == dict(files(lab))
