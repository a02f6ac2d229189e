"""Cable managers, trunks and patch panels: what stands where, what is bought, what is listed."""

from __future__ import annotations

import csv
import io
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import MakeSite, make_site_in
from tests.sites import PLANES

from fireflyer.design import design
from fireflyer.design.materials import materials, racks
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric
from fireflyer.render.cabling import files

FIBRE = {"host": ["fibre"], "tree": ["fibre"]}


def fabric_of(base: str, change: dict[str, Any]) -> Fabric:
    with tempfile.TemporaryDirectory() as folder:
        return design(load_site(make_site_in(Path(folder), base, change)))


def trunked(min_links: int = 2, **change: Any) -> Fabric:
    """Two planes whose hosts stand in racks of their own, all on fibre."""
    return fabric_of(
        "lab",
        PLANES
        | {
            "cluster.compute.nodes": 10,
            "cluster.racks.nodes": {"compute": 4, "storage": 1},
            "cluster.racks.network": {"per_row": 2, "devices": 10},
            "cluster.cabling": {
                "media": FIBRE,
                "trunks": {"from_m": 0.5, "min_links": min_links},
            },
        }
        | change,
    )


def check_units(fabric: Fabric) -> None:
    """No two things of a rack share a unit, and none stands above it."""
    for rack in racks(fabric):
        units = Counter(
            unit for box in rack.boxes for unit in range(box.unit, box.unit + box.rack_units)
        )
        assert set(units.values()) == {1}, rack.name
        assert max(units) <= fabric.intent.racks.units, rack.name


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2), st.integers(1, 5), st.integers(1, 3))
def test_cable_managers_stand_between_the_switches_that_share_them(
    units: int, switches: int, per_row: int
) -> None:
    managers = {"units": units, "switches": switches}
    network = {"per_row": per_row, "devices": 20, "cable_managers": managers}
    fabric = fabric_of("lab", {"cluster.racks.network": network})
    check_units(fabric)
    for rack in racks(fabric):
        kinds = [box.kind for box in rack.boxes]
        count = kinds.count("switch")
        assert kinds.count("fitting") == (-(-count // switches) if units else 0)
        if units and switches == 2 and count > 1:
            assert kinds[:3] == ["switch", "fitting", "switch"]
    bought = {item.part: item.quantity for item in materials(fabric)}
    drawn = sum(box.kind == "fitting" for rack in racks(fabric) for box in rack.boxes)
    assert bought.get(f"cable-manager-{units}u", 0) == drawn
    assert bought["cable-manager-vertical"] == 2 * 2 * min(per_row, 5)


def test_a_rack_without_room_for_its_cable_managers_is_refused(make_site: MakeSite) -> None:
    from fireflyer.errors import IntentError

    site = make_site("fire-flyer-2", {"cluster.racks.units": 32})
    with pytest.raises(IntentError, match="takes 33 units, a rack has 32"):
        design(load_site(site))


def test_links_of_a_trunk_share_its_racks_and_take_positions_of_their_own() -> None:
    fabric = trunked()
    check_units(fabric)
    assert fabric.trunks
    trunks = {trunk.id: trunk for trunk in fabric.trunks}
    taken: Counter[tuple[str, int]] = Counter()
    members = defaultdict(list)
    for cable in fabric.cables:
        if cable.route is None:
            continue
        members[cable.route.trunk].append(cable)
        for port, end in ((cable.route.a, cable.a), (cable.route.z, cable.z)):
            taken[port.panel, port.position] += 1
            assert port.panel.startswith(fabric.device_place(end.device).rack + "-pp")
    assert set(taken.values()) == {1}
    assert set(members) == set(trunks)
    panels = {fitting.name for fitting in fabric.fittings if "-pp" in fitting.name}
    assert {panel for panel, _ in taken} == panels
    for name, cables in members.items():
        trunk = trunks[name]
        assert 2 <= len(cables) <= trunk.positions == trunk.fibres // 12
        assert len({cable.bundle for cable in cables}) == 1
        assert len({cable.pull for cable in cables}) == 1
        for cable in cables:
            assert cable.route is not None
            leads = cable.route.a_lead_m + cable.route.z_lead_m
            assert cable.length_m == pytest.approx(trunk.length_m + leads)
            assert cable.need_m <= cable.length_m
            ends = {cable.route.a.panel: cable.route.a, cable.route.z.panel: cable.route.z}
            for first in (trunk.a, trunk.z):
                offset = ends[first.panel].position - first.position
                assert 0 <= offset < trunk.positions
    offsets = Counter(
        (c.route.trunk, c.route.a.panel, c.route.a.position) for c in fabric.cables if c.route
    )
    assert set(offsets.values()) == {1}


def test_both_ends_of_a_link_are_the_same_connector_of_its_trunk() -> None:
    fabric = trunked()
    trunks = {trunk.id: trunk for trunk in fabric.trunks}
    for cable in fabric.cables:
        if cable.route is not None:
            trunk = trunks[cable.route.trunk]
            first = {trunk.a.panel: trunk.a.position, trunk.z.panel: trunk.z.position}
            a, z = cable.route.a, cable.route.z
            assert a.position - first[a.panel] == z.position - first[z.panel]


def test_few_links_between_two_racks_stay_single_fibres() -> None:
    fabric = trunked(min_links=100)
    assert not fabric.trunks
    assert all(cable.route is None for cable in fabric.cables)
    assert not any("-pp" in fitting.name for fitting in fabric.fittings)


def test_what_is_bought_is_leads_trunks_and_panels() -> None:
    fabric = trunked()
    routed = [cable for cable in fabric.cables if cable.route is not None]
    items = materials(fabric)
    fibres = sum(i.quantity for i in items if i.kind == "cables" and "TRUNK" not in i.part)
    assert fibres == len(fabric.cables) + len(routed)
    assert sum(i.quantity for i in items if "TRUNK" in i.part) == len(fabric.trunks)
    panels = {fitting.name for fitting in fabric.fittings if "-pp" in fitting.name}
    assert sum(i.quantity for i in items if "PANEL" in i.part) == len(panels)


def test_lists_name_trunks_and_positions() -> None:
    fabric = trunked()
    found = dict(files(fabric))
    cables, trunks = found["cables.csv"], found["trunks.csv"]
    assert isinstance(cables, str)
    assert isinstance(trunks, str)
    rows = {row["cable_id"]: row for row in csv.DictReader(io.StringIO(cables))}
    for cable in fabric.cables:
        row, route = rows[cable.id], cable.route
        listed = (row["trunk"], row["a_panel"], row["a_position"], row["z_panel"])
        wanted = (
            (route.trunk, route.a.panel, str(route.a.position), route.z.panel)
            if route
            else ("", "", "", "")
        )
        assert listed == wanted
    links = Counter(cable.route.trunk for cable in fabric.cables if cable.route)
    table = list(csv.DictReader(io.StringIO(trunks)))
    assert {row["trunk"]: int(row["links"]) for row in table} == dict(links)
    assert [int(row["pull"]) for row in table] == sorted(int(row["pull"]) for row in table)


def test_every_device_is_listed_with_its_feeds(fire_flyer_2: Fabric) -> None:
    text = dict(files(fire_flyer_2))["power.csv"]
    assert isinstance(text, str)
    rows = {row["device"]: row for row in csv.DictReader(io.StringIO(text))}
    assert set(rows) == {*fire_flyer_2.switch, *fire_flyer_2.node}
    assert {row["feeds"] for name, row in rows.items() if "cn" in name} == {"A", "B"}
    assert {row["feeds"] for name, row in rows.items() if "spine" in name} == {"A+B", "B+A"}
    layer = Counter(rows[s.name]["feeds"] for s in fire_flyer_2.switches if s.layer == "spine")
    assert set(layer.values()) == {20}
