"""Racks: who stands where, and how far it is from one to another."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fireflyer.design.network_racks import Group
from fireflyer.design.room import Room, Trays
from fireflyer.model.fabric import Place
from fireflyer.model.intent import NetworkRacks, PerRack, Racks

RACKS = Racks(
    power_kw=10.0,
    per_row=10,
    nodes=PerRack(compute=4, storage=1),
    network=NetworkRacks(per_row=2, devices=10),
)


@st.composite
def rooms(draw: st.DrawFn) -> Room:
    per_row = draw(st.integers(1, 12))
    network = NetworkRacks(
        first_row=draw(st.integers(1, 5)),
        rows=draw(st.integers(1, 4)),
        per_row=draw(st.integers(1, per_row)),
        devices=draw(st.integers(1, 20)),
    )
    racks = RACKS.model_copy(update={"per_row": per_row, "network": network})
    return Room(racks, tuple("ab"[: draw(st.integers(1, 2))]))


@settings(max_examples=200, deadline=None)
@given(rooms(), st.integers(1, 200))
def test_node_racks_fill_every_column_that_is_not_a_network_rack(room: Room, count: int) -> None:
    racks = [room.node(0, number, 1) for number in range(count)]
    assert len({rack.rack for rack in racks}) == count
    assert not any(room.holds_network(rack) for rack in racks)
    assert racks == sorted(racks, key=lambda rack: (rack.row, rack.column))
    last_row = racks[-1].row // len(room.zones)
    free = sum(
        not room.holds_network(room.place(0, row, column, 1))
        for row in range(last_row)
        for column in range(room.racks.per_row)
    )
    assert free <= count  # no hole is left in the rows before the last


@settings(max_examples=200, deadline=None)
@given(rooms(), st.data())
def test_network_racks_stand_in_the_middle_of_their_rows(room: Room, data: st.DataObject) -> None:
    groups = [
        Group(
            layer, tuple(f"{layer}{number}" for number in range(data.draw(st.integers(0, 30)))), 1
        )
        for layer in ("spine", "leaf", "management")
    ]
    found, fittings = room.network(0, groups)
    places = [*found.values(), *(fitting.place for fitting in fittings)]
    assert all(room.holds_network(place) for place in places)
    assert len({(place.rack, place.unit) for place in places}) == len(places)
    highest = Counter(place.rack for place in places)
    assert all(place.unit <= highest[place.rack] for place in places)
    left, right = room.middle, room.racks.per_row - room.racks.network.per_row - room.middle
    assert right - left in (0, 1)


def test_length_goes_up_along_and_down() -> None:
    trays = Trays(RACKS)
    low, high = Place("r1", 1, 0, 0), Place("r1", 31, 0, 0)
    assert trays.run_m(low, high) == 0
    assert trays.need_m(low, high, 0) == pytest.approx(30 * 0.04445 + 2 * 0.5)
    far = Place("r2", 42, 2, 5)
    run = trays.run_m(low, far)
    assert run == pytest.approx(5 * 0.6 + 2 * 3.0)
    assert trays.need_m(low, far, run) == pytest.approx(41 * 0.04445 + 2 * 0.3 + run + 2 * 0.5)


def test_cross_trays_make_the_way_longer_where_they_are_few() -> None:
    near, far = Place("r1", 1, 0, 2), Place("r2", 1, 1, 3)
    assert Trays(RACKS).run_m(near, far) == pytest.approx(0.6 + 3.0)
    few = Trays(RACKS.model_copy(update={"cross_columns": (1, 10)}))
    assert few.run_m(near, far) == pytest.approx((2 + 3) * 0.6 + 3.0)  # over column 1
    assert few.run_m(near, Place("r3", 1, 0, 3)) == pytest.approx(0.6)  # along its own row
